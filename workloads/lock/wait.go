package lock

import (
	"context"
	"fmt"
	"time"
)

// replyMargin is how much longer than WAIT's own timeout a reply must be
// allowed to take, or the client gives up on what the server is about to
// answer.
const replyMargin = 100 * time.Millisecond

// WaitOptions says how SetNXWait waits. The zero value is refused.
type WaitOptions struct {
	Replicas int           // how many must acknowledge, at least 1
	Timeout  time.Duration // how long they may take; WAIT counts whole milliseconds, and 0 as forever
	// RoundTrips is 1 (also 0) to send the write and WAIT together, 2 to send
	// WAIT once the write has been granted.
	RoundTrips int
	// Shared has all callers' writes and WAITs go over one connection, in the
	// order of their calls, instead of one connection each: see line. It goes
	// with one round trip only.
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
	acknowledged
}

var _ Locker = (*SetNXWait)(nil)

// NewSetNXWait returns a locker over client's connections, whose ReadTimeout
// must exceed WAIT's.
func NewSetNXWait(client *Client, options WaitOptions) (*SetNXWait, error) {
	a, err := newWaiting("setnx-wait", client, setNX, options)
	if err != nil {
		return nil, err
	}
	return &SetNXWait{a}, nil
}

// TryLock makes one round trip, or two as the options say. Too few
// acknowledgements: one more, to delete the key again, and ErrUnreplicated.
// Where a reply is lost, the lock being ours is not enough: it is written
// anew and waited for anew, see attempt.settle.
func (l *SetNXWait) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	owner, _, err := l.try(ctx, key, ttl)
	if err != nil {
		return nil, err
	}
	return &lease{client: l.client, key: key, owner: owner}, nil
}

// newWaiting returns what takes locks by a write and WAIT.
func newWaiting(path string, client *Client, write writing, options WaitOptions) (acknowledged, error) {
	if options.RoundTrips == 0 {
		options.RoundTrips = 1
	}
	switch {
	case options.Replicas < 1:
		return acknowledged{}, fmt.Errorf("%s for %d replicas: at least 1 must acknowledge", path, options.Replicas)
	case options.RoundTrips != 1 && options.RoundTrips != 2:
		return acknowledged{}, fmt.Errorf("%s in %d round trips: only 1 and 2 are known", path, options.RoundTrips)
	case options.Shared && client.PoolSize() < 2:
		return acknowledged{}, fmt.Errorf("%s over one shared connection needs 2: locks are released over others; raise the pool's size", path)
	case options.Shared && options.RoundTrips != 1:
		return acknowledged{}, fmt.Errorf("%s over one shared connection in %d round trips: it sends both together, so only 1 is known", path, options.RoundTrips)
	}
	if err := checkTimeout(path, "WAIT", client, options.Timeout); err != nil {
		return acknowledged{}, err
	}
	a := acknowledged{client: client, writing: write, ack: newWait(options), roundTrips: options.RoundTrips}
	if options.Shared {
		a.line = newLine(client, options.Timeout)
	}
	return a, nil
}

// checkTimeout refuses a timeout that the server would take as forever, or
// that the client would not sit out.
func checkTimeout(path, command string, client *Client, timeout time.Duration) error {
	if timeout < time.Millisecond {
		return fmt.Errorf("%s: a %s timeout of %v would be sent as 0, which is forever; at least 1ms", path, command, timeout)
	}
	if client.readTimeout < timeout+replyMargin {
		return fmt.Errorf("%s: the client's read timeout of %v must exceed %s's of %v by %v",
			path, client.readTimeout, command, timeout, replyMargin)
	}
	return nil
}

// newWait is WAIT, whose reply is the number of replicas.
func newWait(options WaitOptions) acknowledgement {
	return acknowledgement{
		args:    []any{"wait", options.Replicas, options.Timeout.Milliseconds()},
		timeout: options.Timeout,
		judge: func(reply any) error {
			n, ok := reply.(int64)
			switch {
			case !ok:
				return unexpected("WAIT", reply)
			case n < int64(options.Replicas):
				return fmt.Errorf("%w: %d of %d within %v", ErrUnreplicated, n, options.Replicas, options.Timeout)
			}
			return nil
		},
	}
}
