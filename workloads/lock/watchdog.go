package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// extend gives a lock its full TTL again if it is still its owner's. A lock
// that is lost it leaves alone: it does not take it anew.
var extend = newScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`)

// renewalsPerLease is how often a lease is renewed while it lasts, and
// retriesPerRenewal how often one that failed is tried again until the next
// would have been due.
const (
	renewalsPerLease  = 3
	retriesPerRenewal = 10
)

// WatchdogOptions says what becomes of a lock that a Watchdog has lost.
type WatchdogOptions struct {
	// Notify ends Lease.Alive when a renewal finds the lock gone, or when
	// none has succeeded for so long that the lease has run out by the
	// client's own clock. Without it renewal stops, and nobody is told: that
	// is what Redisson does.
	Notify bool
}

// Watchdog is SetNX whose locks do not end while their holder lives: the
// lease, the ttl of TryLock, is renewed every third of it until the lock is
// released. Redisson's setting is lockWatchdogTimeout, 30 s, of which it
// renews each third
// (https://redisson.pro/docs/configuration/).
//
// It keeps a lock from running out under a slow holder, and does nothing
// about one that a failover has lost, or that ran out while the holder's
// process stood still: that is found by the next renewal, up to a third of
// the lease later.
//
// Renewals go over the client's connections and stand in line for them as
// its callers do.
type Watchdog struct {
	locker *SetNX
	client *Client
	notify bool

	mu     sync.Mutex
	held   map[*watched]struct{}
	closed bool
	under  sync.WaitGroup // renewals under way

	count, lost, failed atomic.Int64
	took                atomic.Int64 // nanoseconds
}

var _ Locker = (*Watchdog)(nil)

// ErrClosed: the locker has been closed.
var ErrClosed = errors.New("the locker is closed")

// Renewals are what a Watchdog has done since it was made.
type Renewals struct {
	Count  int64         // renewed
	Lost   int64         // found the lock gone, or another's
	Failed int64         // had no answer, or were refused
	Time   time.Duration // round trips of all of them, added up
}

// NewWatchdog returns a locker over client's connections, to be closed before
// they are.
func NewWatchdog(client *Client, options WatchdogOptions) *Watchdog {
	return &Watchdog{
		locker: &SetNX{client: client, form: FormCommand},
		client: client,
		notify: options.Notify,
		held:   make(map[*watched]struct{}),
	}
}

// TryLock makes one round trip, as SetNX does. Each renewal is one more.
func (w *Watchdog) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	began := time.Now() // the server begins to count later
	granted, err := w.locker.TryLock(ctx, key, ttl)
	if err != nil {
		return nil, err
	}
	l := &watched{lease: granted.(*lease), dog: w, ttl: ttl}
	if w.notify {
		l.alive, l.end = context.WithCancelCause(context.Background())
	}
	if !w.watch(l, began) {
		return nil, failed(w.client, key, giveBack(ctx, l.lease, ErrClosed))
	}
	return l, nil
}

// Renewals returns what has been renewed so far.
func (w *Watchdog) Renewals() Renewals {
	return Renewals{
		Count: w.count.Load(), Lost: w.lost.Load(), Failed: w.failed.Load(),
		Time: time.Duration(w.took.Load()),
	}
}

// Close ends all renewals, and returns when none is under way. Locks that are
// still held run out, and their Alive ends, since nobody looks after them.
func (w *Watchdog) Close() error {
	w.mu.Lock()
	w.closed = true
	held := w.held
	w.held = nil
	w.mu.Unlock()
	for l := range held {
		l.stop()
		l.tell(fmt.Errorf("%w: its watchdog was closed", ErrLost))
	}
	w.under.Wait()
	return nil
}

// watch begins to renew a lock whose lease began then, unless w is closed.
func (w *Watchdog) watch(l *watched, began time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.held[l] = struct{}{}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed(began)
	return true
}

func (w *Watchdog) forget(l *watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, l) // of nil too
}

// enter counts a renewal as under way, unless w is closed.
func (w *Watchdog) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.under.Add(1)
	return true
}

// renew makes one round trip and counts it: whether the lock is still ours.
func (w *Watchdog) renew(ctx context.Context, l *watched) (bool, error) {
	ttlMS, err := milliseconds(l.ttl)
	if err != nil {
		return false, err
	}
	if err := w.client.enter(ctx); err != nil {
		w.failed.Add(1)
		return false, err
	}
	defer w.client.leave()
	began := time.Now()
	found, err := w.client.run(ctx, extend, 1, l.key, l.owner, ttlMS)
	w.took.Add(int64(time.Since(began)))
	switch {
	case err != nil:
		w.failed.Add(1)
	case found == 0:
		w.lost.Add(1)
	default:
		w.count.Add(1)
	}
	return found == 1, err
}
