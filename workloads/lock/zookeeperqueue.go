package lock

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// Lock creates our node and waits until those before it are gone: two round
// trips; if another is before us, one for a watch on that one, and one to look
// again when it is gone. Where the ensemble does not answer meanwhile, our
// place in the queue is kept as long as the session is. Where ctx ends, Lock
// returns at once, and our node is deleted behind the caller's back.
func (l *ZooKeeper) Lock(ctx context.Context, key string, _ time.Duration) (Lease, error) {
	a, err := l.client.attempt(ctx, key)
	if err != nil {
		return nil, err
	}
	bounded, cancel := l.client.bounded(ctx)
	a.node, err = a.create(bounded)
	cancel()
	if err != nil {
		return nil, a.abandon(err)
	}
	token, err := a.wait(ctx)
	if err != nil {
		return nil, err
	}
	return a.granted(ctx, token)
}

// wait returns our token when there is no node before ours, or the error of
// the attempt, which has then left the queue.
func (a *zooKeeperAttempt) wait(ctx context.Context) (uint64, error) {
	before, token, err := a.place(ctx)
	for {
		switch {
		case a.over():
			return 0, a.client.failed(a.key, a.ended())
		case ctx.Err() != nil:
			return 0, a.abandon(heldUntil(context.Cause(ctx)))
		case err == nil && before == "":
			return token, nil
		case err == nil:
			a.watch(ctx, before)
		case zooKeeperRefused(err), errors.Is(err, errZooKeeperThrownOut):
			return 0, a.abandon(err)
		default: // no connection
			pause(ctx, requeuePause)
		}
		if token == 0 {
			before, token, err = a.place(ctx)
		} else {
			before, err = a.before(ctx)
		}
	}
}

// watch waits until name is deleted, or there is another reason to look again:
// ctx or the session are over, or the watch could not be set. The library sets
// it again after a reconnection. As Curator does it reads the node, since a
// watch of whether it exists would stay if it does not.
func (a *zooKeeperAttempt) watch(ctx context.Context, name string) {
	events, err := await(ctx, a.zooKeeperSession, func() (<-chan zk.Event, error) {
		_, _, events, err := a.conn.GetW(a.dir + "/" + name)
		return events, err
	}, nil)
	if err != nil {
		return
	}
	select {
	case <-events:
	case <-ctx.Done():
	case <-a.Alive().Done():
	}
}
