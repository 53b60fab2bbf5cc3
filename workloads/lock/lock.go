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
	// Unlock releases the lock if it is still ours, else it returns ErrLost
	// and leaves alone whatever is there now.
	Unlock(ctx context.Context) error
}

// What callers decide on.
var (
	// ErrHeld: another holder has the lock.
	ErrHeld = errors.New("lock is held by another")
	// ErrUnreplicated: the lock was written, but too few replicas
	// acknowledged it in time, so it was undone and not granted.
	ErrUnreplicated = errors.New("lock was not acknowledged by enough replicas")
	// ErrLost: the lock was no longer ours when it was to be released.
	ErrLost = errors.New("lock was no longer ours")
)
