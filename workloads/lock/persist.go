package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Pauses of Persist between two attempts.
const (
	firstPause   = time.Millisecond
	longestPause = 64 * time.Millisecond
)

// persistent goes on trying.
type persistent struct {
	locker  Locker
	timeout time.Duration
}

// Persist returns locker with attempts repeated for as long as the lock is
// held by another, for at most timeout and no longer than the context. A
// Queuer waits in its service's queue instead.
// Pauses between attempts double from 1 to 64 ms and are drawn at random up
// to that ("full jitter"), so that waiters do not march in step. Each attempt
// costs locker's round trips.
func Persist(locker Locker, timeout time.Duration) Locker {
	if queuer, ok := locker.(Queuer); ok {
		return queued{queuer: queuer, timeout: timeout}
	}
	return persistent{locker: locker, timeout: timeout}
}

// queued waits in a service's own queue.
type queued struct {
	queuer  Queuer
	timeout time.Duration
}

// TryLock waits for at most the timeout.
func (q queued) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	return q.queuer.Lock(ctx, key, ttl)
}

// TryLock returns ErrHeld once the timeout has passed, and an error that is
// ErrHeld and the context's where the context ends first and the lock was
// held until then. Any other failure of an attempt it returns at once.
func (p persistent) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	until := time.Now().Add(p.timeout)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	held := false
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		lease, err := p.locker.TryLock(ctx, key, ttl)
		if held && cutShort(ctx, err) {
			return nil, heldUntil(err)
		}
		held = errors.Is(err, ErrHeld)
		wait := rand.N(pause)
		if !held || time.Now().Add(wait).After(until) {
			return lease, err
		}
		select {
		case <-ctx.Done():
			return nil, heldUntil(context.Cause(ctx))
		case <-time.After(wait):
		}
	}
}

// cutShort tells whether an attempt failed for no other reason than that ctx
// ended meanwhile. One that could not be undone did not: the server does not
// answer.
func cutShort(ctx context.Context, err error) bool {
	var unresolved *aftermath
	if err == nil || !over(ctx) || errors.As(err, &unresolved) {
		return false
	}
	kind := Kind(err)
	return kind == "redis-timeout" || kind == "canceled" || err == context.Cause(ctx)
}

// heldUntil is the error of a lock that was held whenever there was an
// answer, until the context ended.
func heldUntil(end error) error { return fmt.Errorf("%w: %w", ErrHeld, end) }
