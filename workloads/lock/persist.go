package lock

import (
	"context"
	"errors"
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
// held by another, for at most timeout. Pauses between attempts double from
// 1 to 64 ms and are drawn at random up to that ("full jitter"), so that
// waiters do not march in step. Each attempt costs locker's round trips.
func Persist(locker Locker, timeout time.Duration) Locker {
	return persistent{locker: locker, timeout: timeout}
}

// TryLock returns ErrHeld once the timeout has passed.
func (p persistent) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	until := time.Now().Add(p.timeout)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		lease, err := p.locker.TryLock(ctx, key, ttl)
		wait := rand.N(pause)
		if !errors.Is(err, ErrHeld) || time.Now().Add(wait).After(until) {
			return lease, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}
