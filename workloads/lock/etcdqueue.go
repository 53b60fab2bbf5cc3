package lock

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// requeuePause is between two questions to a cluster that does not answer.
const requeuePause = 100 * time.Millisecond

// errEtcdThrownOut: the lease has expired, which we have not learned yet, or
// somebody deleted our key.
var errEtcdThrownOut = errors.New("our key went while we were waiting in the queue, so the lease has expired")

// Lock puts our key behind those that are there and waits until they are
// gone: one round trip to queue, which also tells whether we are the first;
// else one to look who is before us, a watch on that one, and one to look
// again when it is gone. Where the cluster does
// not answer meanwhile, our place in the queue is kept as long as the session
// is.
func (l *Etcd) Lock(ctx context.Context, key string, _ time.Duration) (Lease, error) {
	a, err := l.client.attempt(ctx, key)
	if err != nil {
		return nil, err
	}
	reply, err := a.commit(ctx, nil, clientv3.OpGet(a.dir, clientv3.WithFirstCreate()...))
	if err != nil {
		return nil, a.abandon(ctx, err)
	}
	revision, ok := a.written(reply)
	if !ok {
		return nil, a.client.failed(key, a.ended())
	}
	if reply.Succeeded && string(reply.Responses[1].GetResponseRange().Kvs[0].Key) == a.name {
		return a.granted(ctx, revision)
	}
	if err := a.wait(ctx, revision); err != nil {
		return nil, err
	}
	return a.granted(ctx, revision)
}

// wait returns when our key is the first, or with the error of the attempt,
// which has then left the queue.
func (a etcdAttempt) wait(ctx context.Context, revision int64) error {
	for {
		before, at, err := a.before(ctx, revision)
		switch {
		case a.over():
			return a.client.failed(a.key, a.ended())
		case ctx.Err() != nil:
			return a.client.failed(a.key, a.undo(ctx, heldUntil(context.Cause(ctx))))
		case err == nil && before == "":
			return nil
		case errors.Is(err, errEtcdThrownOut):
			return a.client.failed(a.key, &serviceError{kindSessionLost, err})
		case err == nil:
			a.watch(ctx, before, at+1)
		case !etcdMayHaveWritten(err): // refused, as it would be again
			return a.client.failed(a.key, a.undo(ctx, etcdFailure(err)))
		default:
			pause(ctx, requeuePause)
		}
	}
}

// before returns the key that was created just before ours, "" where ours is
// the first, as of the cluster's revision at. Where our own is gone, so is
// the session, or whoever deleted it has thrown us out.
func (a etcdAttempt) before(ctx context.Context, revision int64) (name string, at int64, err error) {
	ctx, cancel := a.client.bounded(ctx)
	defer cancel()
	earlier := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(revision-1))
	reply, err := a.client.etcd.Txn(ctx).Then(clientv3.OpGet(a.name), clientv3.OpGet(a.dir, earlier...)).Commit()
	if err != nil {
		return "", 0, err
	}
	own, others := reply.Responses[0].GetResponseRange().Kvs, reply.Responses[1].GetResponseRange().Kvs
	if len(own) == 0 || own[0].CreateRevision != revision {
		return "", 0, errEtcdThrownOut
	}
	if len(others) == 0 {
		return "", reply.Header.Revision, nil
	}
	return string(others[0].Key), reply.Header.Revision, nil
}

// watch waits until name is deleted, or there is another reason to look
// again: ctx or the session are over, the watch broke, or it has been silent
// for long, as it is where its member was stopped.
func (a etcdAttempt) watch(ctx context.Context, name string, from int64) {
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), a.client.dialTimeout)
	defer cancel()
	defer context.AfterFunc(a.Alive(), cancel)()
	for reply := range a.client.etcd.Watch(ctx, name, clientv3.WithRev(from), clientv3.WithFilterPut()) {
		if len(reply.Events) > 0 || reply.Err() != nil {
			return
		}
	}
}
