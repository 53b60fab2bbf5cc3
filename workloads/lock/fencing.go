package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// CounterKey is the key of the counter of a Fencing with that prefix.
func CounterKey(prefix string) string { return prefix + "fencing-counter" }

// setAndMint takes the lock and mints its token: nil if it is held.
var setAndMint = newScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	return redis.call('INCR', KEYS[2])
end
return false`)

// confirmAndMint is confirm with a new token: that of the lost reply is not
// known, and a gap in the numbers harms nobody.
var confirmAndMint = newScript(`
local owner = redis.call('GET', KEYS[1])
if not owner then return 0 end
if owner ~= ARGV[1] then return -1 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('INCR', KEYS[2])`)

// Fencing is SetNX whose grants are numbered, by a counter in the same Redis:
// whoever is asked to act for a holder can refuse one that is not the latest.
//
// The counter is replicated no better than the lock. A failover can take it
// back, and then a number is given twice; WithMinter takes tokens from
// elsewhere.
type Fencing struct {
	client  *Client
	counter string
}

var _ Locker = (*Fencing)(nil)

// NewFencing returns a locker over client's connections. Its counter is one
// key, CounterKey(prefix), and has no TTL: it stays until Remove.
func NewFencing(client *Client, prefix string) *Fencing {
	return &Fencing{client: client, counter: CounterKey(prefix)}
}

// TryLock makes one round trip, for the lock and its token. Where the reply
// is lost and the lock proves to be ours, it is given a new token; where the
// script fails after it has written the lock, that is undone: see
// attempt.settle.
func (l *Fencing) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
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
	token, err := c.run(ctx, setAndMint, 2, key, l.counter, owner, ttlMS)
	if err == redis.Nil {
		return nil, ErrHeld
	}
	if err != nil {
		token, err = attempt{
			client: c, key: key, owner: owner,
			partial: true,
			confirm: func(ctx context.Context) (int64, error) {
				return c.run(ctx, confirmAndMint, 2, key, l.counter, owner, ttlMS)
			},
		}.settle(ctx, err)
	}
	if err == nil && token < 1 {
		err = c.undo(ctx, key, owner, fmt.Errorf("counter %s is at %d, and tokens start at 1; delete it", l.counter, token))
	}
	if err != nil {
		return nil, failed(c, key, err)
	}
	return &lease{client: c, key: key, owner: owner, token: uint64(token)}, nil
}

// Minter numbers grants: each token is greater than every earlier one, and
// greater than 0.
type Minter interface {
	Mint(ctx context.Context) (uint64, error)
}

// ErrMint: the lock was taken, but no token could be had for it, so it was
// released again.
var ErrMint = errors.New("no fencing token for the lock")

// minted takes a lock from one service and its token from another.
type minted struct {
	locker Locker
	minter Minter
}

// WithMinter returns locker with tokens of minter, minted once the lock is
// ours, so that they are in the order of the grants. Its round trips are
// locker's and then minter's. A failure to mint is an ErrMint, and the lock
// is released.
func WithMinter(locker Locker, minter Minter) Locker {
	return minted{locker: locker, minter: minter}
}

// TryLock takes the lock, then mints.
func (m minted) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	lease, err := m.locker.TryLock(ctx, key, ttl)
	if err != nil {
		return nil, err
	}
	token, err := m.minter.Mint(ctx)
	if err == nil && token == 0 {
		err = errors.New("the minter gave 0, which is no token")
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrMint, err)
		if undone := lease.Unlock(ctx); undone != nil { // which bounds itself where ctx is over
			err = after(err, undone)
		}
		return nil, err
	}
	return tokenLease{Lease: lease, token: token}, nil
}

// tokenLease is a lease with a token from elsewhere.
type tokenLease struct {
	Lease
	token uint64
}

// Token is the minter's token.
func (l tokenLease) Token() uint64 { return l.token }
