// Package lock holds the lockers: ways to take and release a lock, one file
// each. Each knows one lock service and nothing of the ledger, or of how it
// is being measured. All are try-locks: one attempt, no queue.
package lock

import (
	"context"
	"errors"
	"time"
)

// Locker takes locks.
type Locker interface {
	// TryLock makes one attempt at key, which is to expire after ttl unless
	// it is released before. Errors: ErrHeld, ErrUnreplicated, or a failure
	// after which the lock is not ours, as far as the service lets us know.
	TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error)
}

// Lease is a lock that was granted.
type Lease interface {
	// Token is the fencing token, greater than that of every earlier grant
	// as long as its source remembers; 0 where the locker mints none.
	Token() uint64
	// Alive ends when the locker has learned that the lock is no longer ours,
	// with a cause that is ErrLost: which may be long after it was lost. Nil
	// where nobody looks, and the holder learns it from Unlock, if at all.
	Alive() context.Context
	// Unlock releases the lock if it is still ours, else it returns ErrLost
	// and leaves alone whatever is there now.
	Unlock(ctx context.Context) error
}

// Queuer is a Locker whose service has a queue of its own for those who wait.
type Queuer interface {
	Locker
	// Lock waits until the lock is granted or ctx ends; then it leaves the
	// queue, and the error is ErrHeld and the context's. Other errors as of
	// TryLock. A waiter whose own session ends is not granted the lock.
	Lock(ctx context.Context, key string, ttl time.Duration) (Lease, error)
}

// Hold returns a context for what is done under a lease: it ends with parent,
// or with a cause that is ErrLost once the locker has learned that the lock is
// lost. done frees what it takes.
func Hold(parent context.Context, lease Lease) (ctx context.Context, done func()) {
	alive := lease.Alive()
	if alive == nil {
		return parent, func() {}
	}
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(alive, func() { cancel(context.Cause(alive)) })
	return ctx, func() { stop(); cancel(nil) }
}

// What callers decide on.
var (
	// ErrHeld: another holder has the lock.
	ErrHeld = errors.New("lock is held by another")
	// ErrUnreplicated: the lock was written, but too few replicas
	// acknowledged it in time, so it was undone and not granted.
	ErrUnreplicated = errors.New("lock was not acknowledged by enough replicas")
	// ErrUnsupported: the server is too old for the locker, or is not set for it.
	ErrUnsupported = errors.New("not supported by the server")
	// ErrLost: the lock was no longer ours when it was to be released.
	ErrLost = errors.New("lock was no longer ours")
)
