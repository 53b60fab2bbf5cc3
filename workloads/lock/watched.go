package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// watched is a lease that is renewed.
type watched struct {
	*lease
	dog   *Watchdog
	ttl   time.Duration
	alive context.Context // nil where nobody is told
	end   context.CancelCauseFunc

	mu      sync.Mutex
	stopped bool          // nothing is to be sent any more
	expires time.Time     // by our own clock, which counts from the sending
	next    *time.Timer   // the next renewal
	last    *time.Timer   // the end of the lease; nil where nobody is told
	flight  chan struct{} // closed when the renewal under way is over; nil without one
}

// Alive ends with a cause that is ErrLost; nil without Notify.
func (l *watched) Alive() context.Context { return l.alive }

// Unlock ends the renewals, waits for one that is under way, for as long as
// ctx lasts, and then releases as leases of SetNX do. A renewal that reaches
// the server after the lock was deleted finds it gone, or another's, and
// refreshes nothing.
func (l *watched) Unlock(ctx context.Context) error {
	l.dog.forget(l)
	if flight := l.stop(); flight != nil {
		select {
		case <-flight:
		case <-ctx.Done():
		}
	}
	err := l.lease.Unlock(ctx)
	if errors.Is(err, ErrLost) {
		l.tell(ErrLost)
	}
	return err
}

// stop has nothing sent from now on. It returns what tells of the end of a
// renewal that was under way, or nil.
func (l *watched) stop() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	l.next.Stop()
	if l.last != nil {
		l.last.Stop()
	}
	return l.flight
}

// tell ends Alive, where there is one.
func (l *watched) tell(cause error) {
	if l.end != nil {
		l.end(cause)
	}
}

// renewed sets the clocks of a lease that began then. l.mu is held.
func (l *watched) renewed(began time.Time) {
	l.expires = began.Add(l.ttl)
	l.again(time.Until(began.Add(l.ttl / renewalsPerLease)))
	if l.end == nil {
		return
	}
	if left := time.Until(l.expires); l.last == nil {
		l.last = time.AfterFunc(left, l.ranOut)
	} else {
		l.last.Reset(left)
	}
}

// again has the next renewal made after a pause, in a goroutine of its own:
// none waits for another's reply, and a lock that is merely held takes none.
func (l *watched) again(pause time.Duration) {
	if l.next == nil {
		l.next = time.AfterFunc(pause, l.renew)
	} else {
		l.next.Reset(pause)
	}
}

// renew makes one renewal, and sees to the next.
func (l *watched) renew() {
	if !l.dog.enter() {
		return
	}
	defer l.dog.under.Done()
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		return
	}
	flight := make(chan struct{})
	l.flight = flight
	deadline := l.expires
	l.mu.Unlock()

	began := time.Now()
	if least := began.Add(l.ttl / renewalsPerLease); l.end == nil && deadline.Before(least) {
		deadline = least // the server may have it still; nobody was promised to be told
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	ours, err := l.dog.renew(ctx, l)
	cancel()

	if l.after(flight, began, ours, err) {
		l.dog.forget(l)
	}
}

// after is what follows from a renewal that is over: the next one, or that
// the lock is given up.
func (l *watched) after(flight chan struct{}, began time.Time, ours bool, err error) (gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flight = nil
	close(flight)
	switch {
	case l.stopped:
	case err == nil && ours:
		l.renewed(began)
	case err == nil:
		return l.give(ErrLost)
	case errors.Is(err, redis.ErrClosed) || !time.Now().Before(l.expires):
		return l.give(fmt.Errorf("%w: its lease ran out, and renewing failed: %w", ErrLost, err))
	default:
		l.again(max(l.ttl/renewalsPerLease/retriesPerRenewal, time.Millisecond))
	}
	return false
}

// ranOut is the end of a lease that has not been renewed in time.
func (l *watched) ranOut() {
	l.mu.Lock()
	gone := !l.stopped && !time.Now().Before(l.expires) &&
		l.give(fmt.Errorf("%w: its lease ran out before it was renewed", ErrLost))
	l.mu.Unlock()
	if gone {
		l.dog.forget(l)
	}
}

// give gives the lock up: it is lost, and not taken anew. l.mu is held.
func (l *watched) give(cause error) bool {
	l.stopped = true
	l.next.Stop()
	if l.last != nil {
		l.last.Stop()
	}
	l.tell(cause)
	return true
}
