package lock

import (
	"context"
	"fmt"
	"time"
)

// release deletes a lock's key if it is still its owner's. A bare DEL would
// delete another's lock where ours has expired.
var release = newScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`)

// lease is a granted lock of any of the lockers in Redis.
type lease struct {
	client     *Client
	key, owner string
	token      uint64
}

var _ Lease = (*lease)(nil)

// Token is the fencing token, 0 where the locker mints none.
func (l *lease) Token() uint64 { return l.token }

// Alive is nil: the key is looked at when it is released, and not before.
func (l *lease) Alive() context.Context { return nil }

// Unlock deletes the lock's key if it is still ours: one round trip.
//
// Where the reply is lost it looks again, within the client's
// ResolveTimeout. A key that is then gone, or another's, may have been
// deleted by our own first attempt, so that is no ErrLost: the lock is
// released either way. Where ctx is over before anything was sent, the lock
// is released all the same, within the same bound. A lock that could not be
// released stays until its TTL.
func (l *lease) Unlock(ctx context.Context) error {
	c := l.client
	if over(ctx) {
		var cancel context.CancelFunc
		ctx, cancel = c.later(ctx)
		defer cancel()
	}
	if err := c.gate.Enter(ctx); err != nil {
		return fmt.Errorf("unlocking %s: %w", l.key, err)
	}
	defer c.leave()
	deleted, err := c.deleteIfOwner(ctx, l.key, l.owner)
	if err == nil && deleted == 0 {
		return ErrLost
	}
	if err != nil && lost(err) {
		err = lookAgain(err, c.deleteInTime(ctx, l.key, l.owner))
	}
	if err != nil {
		return fmt.Errorf("unlocking %s on %s: %w", l.key, c.name, err)
	}
	return nil
}

// lookAgain is what is left of a lost reply after the second look.
func lookAgain(cause, again error) error {
	if again == nil {
		return nil
	}
	return after(cause, fmt.Errorf("looking again: %w", again))
}

// deleteIfOwner returns how many keys it deleted, 0 or 1.
func (c *Client) deleteIfOwner(ctx context.Context, key, owner string) (int64, error) {
	return c.run(ctx, release, 1, key, owner)
}

// milliseconds is a TTL as PX takes it, rounded up: a lock must not end
// before its holder believes.
func milliseconds(ttl time.Duration) (int64, error) {
	if ttl < time.Millisecond {
		return 0, fmt.Errorf("a lock's TTL of %v is below Redis's resolution of 1ms", ttl)
	}
	return int64((ttl + time.Millisecond - 1) / time.Millisecond), nil
}
