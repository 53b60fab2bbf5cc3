package lock

import (
	"context"
	"fmt"
	"time"
)

// WaitAOFOptions says what WaitAOF waits for. The zero value is refused.
type WaitAOFOptions struct {
	Local    int           // 1 to wait for the primary's own disk, 0 not to
	Replicas int           // how many replicas must have it on their disks
	Timeout  time.Duration // how long that may take; WAITAOF counts whole milliseconds, and 0 as forever
}

// WaitAOF is SetNX whose grant waits for disks: SET, and WAITAOF on the same
// connection, in one round trip. WAITAOF counts the servers that have synced
// to their append-only files what its own connection wrote last: Redis 7.2
// and later (https://redis.io/docs/latest/commands/waitaof/). A replica
// without such a file never counts.
//
// It does not make a server sync, but waits until it does, by appendfsync:
//
//   - always: the primary has synced before it answers SET, so its own disk
//     costs one fdatasync. A replica's costs a second where nobody else asks:
//     it answers WAITAOF's question before it has synced what came with the
//     question, and says more only when it is asked again, by the next
//     caller's, or by itself once a second. A lone caller took 1.0 s a lock on
//     Redis 8 and Valkey 8, while eight callers took 1.02 s for ten locks each.
//   - everysec, the default: the next sync. Up to two seconds; one caller that
//     locks again and again took 1.0 to 1.2 s each time, as it always comes
//     just after a sync.
//     Valkey 8.1.1 was seen, by strace, to count its own disk at once and to
//     call fdatasync only up to a second later; Redis 8.0.2 was not. There the
//     lock is granted too early, whatever the client does.
//   - no: never, within any timeout that was tried.
//
// As with WAIT, a failover to a replica that had not acknowledged loses the
// lock.
type WaitAOF struct {
	acknowledged
}

var _ Locker = (*WaitAOF)(nil)

// NewWaitAOF returns a locker over client's connections, whose ReadTimeout
// must exceed WAITAOF's. Check tells whether the server has the command, and
// the file.
func NewWaitAOF(client *Client, options WaitAOFOptions) (*WaitAOF, error) {
	switch {
	case options.Local != 0 && options.Local != 1:
		return nil, fmt.Errorf("waitaof for %d local files: a server has one, so 0 or 1", options.Local)
	case options.Replicas < 0:
		return nil, fmt.Errorf("waitaof for %d replicas: at least 0", options.Replicas)
	case options.Local == 0 && options.Replicas == 0:
		return nil, fmt.Errorf("waitaof for nobody's disk: wait for the local one, or for replicas'")
	}
	if err := checkTimeout("waitaof", "WAITAOF", client, options.Timeout); err != nil {
		return nil, err
	}
	return &WaitAOF{acknowledged{client: client, writing: setNX, ack: newWaitAOF(options), roundTrips: 1}}, nil
}

// TryLock makes one round trip, in which a lock held by another is waited for
// too. Too few disks in time: one more, to delete the key again, and
// ErrUnreplicated.
func (l *WaitAOF) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	owner, _, err := l.try(ctx, key, ttl)
	if err != nil {
		return nil, err
	}
	return &lease{client: l.client, key: key, owner: owner}, nil
}

// newWaitAOF is WAITAOF, whose reply is two numbers.
func newWaitAOF(options WaitAOFOptions) acknowledgement {
	return acknowledgement{
		args:    []any{"waitaof", options.Local, options.Replicas, options.Timeout.Milliseconds()},
		timeout: options.Timeout,
		judge: func(reply any) error {
			local, replicas, ok := twoNumbers(reply)
			switch {
			case !ok:
				return unexpected("WAITAOF", reply)
			case local < int64(options.Local) || replicas < int64(options.Replicas):
				return fmt.Errorf("%w: on disk at %d of %d primaries and %d of %d replicas within %v",
					ErrUnreplicated, local, options.Local, replicas, options.Replicas, options.Timeout)
			}
			return nil
		},
	}
}

func twoNumbers(reply any) (first, second int64, ok bool) {
	list, _ := reply.([]any)
	if len(list) != 2 {
		return 0, 0, false
	}
	first, ok1 := list[0].(int64)
	second, ok2 := list[1].(int64)
	return first, second, ok1 && ok2
}
