package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// replyMargin is how much longer than WAIT's own timeout a reply must be
// allowed to take, or the client gives up on what the server is about to
// answer.
const replyMargin = 100 * time.Millisecond

// WaitOptions says how SetNXWait waits. The zero value is refused.
type WaitOptions struct {
	Replicas int           // how many must acknowledge, at least 1
	Timeout  time.Duration // how long they may take; WAIT counts whole milliseconds, and 0 as forever
	// RoundTrips is 1 (also 0) to send SET and WAIT together, 2 to send WAIT
	// once SET has been granted.
	RoundTrips int
	// Shared has all callers' commands go over one connection, in the order
	// of their calls.
	Shared bool
}

// SetNXWait is SetNX whose grant waits for replicas: SET, and WAIT on the
// same connection. With one round trip a lock held by another is waited for
// too, since the server sees WAIT before we see that SET was refused; two
// round trips spare that.
//
// WAIT counts the acknowledgements of what its own connection wrote last
// (waitCommand in Redis's replication.c). On another connection it counts
// those of something older and reports too many; in a transaction it does
// not wait; in a script it is an error on Redis 7.0. It does not make the
// write safe, only likely: a failover to a replica that had not acknowledged
// loses it.
type SetNXWait struct {
	client  *Client
	options WaitOptions
}

var _ Locker = (*SetNXWait)(nil)

// NewSetNXWait returns a locker over client's connections, whose ReadTimeout
// must exceed WAIT's.
func NewSetNXWait(client *Client, options WaitOptions) (*SetNXWait, error) {
	if options.RoundTrips == 0 {
		options.RoundTrips = 1
	}
	switch {
	case options.Replicas < 1:
		return nil, fmt.Errorf("setnx-wait for %d replicas: at least 1 must acknowledge", options.Replicas)
	case options.Timeout < time.Millisecond:
		return nil, fmt.Errorf("setnx-wait: a WAIT timeout of %v would be sent as 0, which is forever; at least 1ms", options.Timeout)
	case options.RoundTrips != 1 && options.RoundTrips != 2:
		return nil, fmt.Errorf("setnx-wait in %d round trips: only 1 and 2 are known", options.RoundTrips)
	case client.readTimeout < options.Timeout+replyMargin:
		return nil, fmt.Errorf("setnx-wait: the client's read timeout of %v must exceed WAIT's of %v by %v",
			client.readTimeout, options.Timeout, replyMargin)
	}
	return &SetNXWait{client: client, options: options}, nil
}

// TryLock makes one round trip, or two as the options say. Too few
// acknowledgements: one more, to delete the key again, and ErrUnreplicated.
// Where a reply is lost, the lock being ours is not enough: it is written
// anew and waited for anew, see attempt.settle.
func (l *SetNXWait) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	ttlMS, err := milliseconds(ttl)
	if err != nil {
		return nil, err
	}
	c := l.client
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	owner := c.newOwner()
	granted, err := l.write(ctx, key, owner, ttlMS)
	switch {
	case err == nil && !granted:
		return nil, ErrHeld
	case errors.Is(err, ErrUnreplicated):
		err = c.undo(ctx, key, owner, err)
	case err != nil:
		_, err = attempt{
			client: c, key: key, owner: owner,
			partial: granted,
			confirm: func(ctx context.Context) (int64, error) { return l.confirm(ctx, key, owner, ttlMS) },
			takes:   l.options.Timeout,
		}.settle(ctx, err)
	}
	if err != nil {
		return nil, failed(c, key, err)
	}
	return &lease{client: c, key: key, owner: owner}, nil
}

// write sends SET and WAIT. It tells whether SET was granted also where WAIT
// failed.
func (l *SetNXWait) write(ctx context.Context, key, owner string, ttlMS int64) (granted bool, err error) {
	set, wait := newSet(ctx, key, owner, ttlMS), l.newWait(ctx)
	if l.options.RoundTrips == 2 {
		conn := l.client.redis.Conn() // one connection, until it is closed
		defer conn.Close()
		if err := conn.Process(ctx, set); err != nil || !set.Val() {
			return false, err
		}
		err = timed(ctx, func() error { return conn.Process(ctx, wait) })
		return true, l.judge(wait, err)
	}
	if err := l.together(ctx, set, wait); err != nil || !set.Val() {
		return false, err
	}
	return true, l.judge(wait, wait.Err())
}

// together sends a write and a WAIT on one connection, in one round trip. A
// plain pipeline does that; the library's TxPipeline would be a transaction.
// It returns the write's error.
func (l *SetNXWait) together(ctx context.Context, write, wait redis.Cmder) error {
	pipe := l.client.redis.Pipeline()
	if err := pipe.BatchProcess(ctx, write, wait); err != nil {
		return err
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	return write.Err()
}

func (l *SetNXWait) newWait(ctx context.Context) *redis.IntCmd {
	return redis.NewIntCmd(ctx, "wait", l.options.Replicas, l.options.Timeout.Milliseconds())
}

// judge is the error of a WAIT that was answered with too small a number, or
// that failed.
func (l *SetNXWait) judge(wait *redis.IntCmd, err error) error {
	if err == nil && wait.Val() < int64(l.options.Replicas) {
		return fmt.Errorf("%w: %d of %d within %v", ErrUnreplicated, wait.Val(), l.options.Replicas, l.options.Timeout)
	}
	return err
}

// confirm writes the lock anew if it is ours, and waits for that write, in
// one round trip. The script goes in full, which spares a second one.
func (l *SetNXWait) confirm(ctx context.Context, key, owner string, ttlMS int64) (int64, error) {
	renew := redis.NewIntCmd(ctx, "eval", confirm.source, 1, key, owner, ttlMS)
	wait := l.newWait(ctx)
	if err := l.together(ctx, renew, wait); err != nil || renew.Val() != 1 {
		return renew.Val(), err
	}
	return 1, l.judge(wait, wait.Err())
}
