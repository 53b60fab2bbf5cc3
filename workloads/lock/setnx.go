package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// setThenExpire is the lock as it was written before SET took NX and PX
// together, made atomic by a script.
var setThenExpire = newScript(`
if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return 1
end
return 0`)

// Form is how SetNX writes its key.
type Form string

// The forms.
const (
	FormCommand Form = "command" // SET key owner NX PX ttl
	FormScript  Form = "script"  // SETNX and PEXPIRE in one script
)

// SetNX is the common lock: one key, written if it is not there, with a TTL.
// The primary alone answers for it: a lock that it granted and had not yet
// replicated when it died is not known to the replica promoted in its place,
// and is granted again there.
type SetNX struct {
	client *Client
	form   Form
}

var _ Locker = (*SetNX)(nil)

// NewSetNX returns a locker over client's connections. An empty form is
// FormCommand.
func NewSetNX(client *Client, form Form) (*SetNX, error) {
	switch form {
	case "":
		form = FormCommand
	case FormCommand, FormScript:
	default:
		return nil, fmt.Errorf("setnx has no form %q, only %s and %s", form, FormCommand, FormScript)
	}
	return &SetNX{client: client, form: form}, nil
}

// TryLock makes one round trip. A ttl below 1 ms is refused, a fraction of a
// millisecond rounds up. Where the reply is lost, it finds out within the
// client's ResolveTimeout whether the lock is ours; attempt.settle says how.
func (l *SetNX) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
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
	if err != nil {
		_, err = attempt{
			client: c, key: key, owner: owner,
			partial: l.form == FormScript,
			confirm: func(ctx context.Context) (int64, error) {
				return c.run(ctx, confirm, 1, key, owner, ttlMS)
			},
		}.settle(ctx, err)
		granted = err == nil
	}
	if err != nil {
		return nil, failed(c, key, err)
	}
	if !granted {
		return nil, ErrHeld
	}
	return &lease{client: c, key: key, owner: owner}, nil
}

func (l *SetNX) write(ctx context.Context, key, owner string, ttlMS int64) (bool, error) {
	if l.form == FormScript {
		written, err := l.client.run(ctx, setThenExpire, 1, key, owner, ttlMS)
		return written == 1, err
	}
	cmd := newSet(ctx, key, owner, ttlMS)
	err := l.client.redis.Process(ctx, cmd)
	return cmd.Val(), err
}

// newSet is the SET that takes a lock. It always has PX: the library's SetNX
// sends EX where the TTL is whole seconds, which is another command to
// measure.
func newSet(ctx context.Context, key, owner string, ttlMS int64) *redis.BoolCmd {
	return redis.NewBoolCmd(ctx, setArgs(key, owner, ttlMS)...)
}

func setArgs(key, owner string, ttlMS int64) []any {
	return []any{"set", key, owner, "nx", "px", ttlMS}
}

// failed adds to a failed attempt's error what was locked, and where. What
// callers decide on stays as it is.
func failed(c *Client, key string, err error) error {
	if err == ErrHeld {
		return err
	}
	return fmt.Errorf("locking %s on %s: %w", key, c.name, err)
}
