package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// redlockPatience is the part of the TTL that a node may take to answer,
// which is redsync's: 1.5 s of 30 s.
const redlockPatience = 0.05

// RedlockOptions says how Redlock asks its nodes.
type RedlockOptions struct {
	// FailFast grants as soon as a majority has, and refuses as soon as a
	// majority is another's, instead of hearing every node out. A node that is
	// slower than the majority may then write the lock after it has been
	// released, and has it until its TTL.
	FailFast bool
}

// Redlock takes a lock at a majority of Redis servers that know nothing of
// each other (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/),
// by redsync: SET NX PX at all of them at the same time, one try.
//
// The lock is valid until redsync's Until, the TTL less what taking it took
// and 1 % for drift between clocks. Nobody looks at it again when the effect
// takes place: a holder that pauses beyond it acts without a lock, as one
// does whose node lost its memory and granted the lock again. Extending is
// not used.
type Redlock struct {
	clients []*Client
	nodes   *redsync.Redsync
	options RedlockOptions
}

var _ Locker = (*Redlock)(nil)

// ErrNoQuorum: too few of Redlock's nodes answered for a majority.
var ErrNoQuorum = errors.New("no majority of nodes answered")

// errTooLate: the lock was granted, but its TTL had run out by then.
var errTooLate = errors.New("the lock was granted after its validity had ended")

// NewRedlock returns a locker over the connections of clients, one for each
// node: an odd number of 3 or more, since an even one stands no more losses
// than one less, and one is setnx.
func NewRedlock(clients []*Client, options RedlockOptions) (*Redlock, error) {
	switch n := len(clients); {
	case n == 1:
		return nil, errors.New("redlock on 1 node is setnx: give 3 nodes or more, or use setnx")
	case n < 3:
		return nil, fmt.Errorf("redlock on %d nodes: it needs 3 or more, of which a majority must answer", n)
	case n%2 == 0:
		return nil, fmt.Errorf("redlock on %d nodes: an even number stands no more losses than %d, and may be split in halves; give an odd number", n, n-1)
	}
	pools := make([]redsyncredis.Pool, len(clients))
	seen := make(map[string]bool)
	for i, c := range clients {
		if seen[c.name] {
			return nil, fmt.Errorf("redlock: node %s is given twice, and would count twice", c.name)
		}
		seen[c.name] = true
		pools[i] = redlockNode{client: c, pool: goredis.NewPool(c.redis)}
	}
	return &Redlock{clients: clients, nodes: redsync.New(pools...), options: options}, nil
}

// TryLock makes one round trip to every node, and one more where it fails,
// to release what it was given by a minority. A node has 5 % of the TTL to
// answer in, 1.5 s of 30 s, and no longer than ctx lasts.
//
// ErrHeld: a majority answered, and it was not free at a majority, so two
// that try at the same time may both be told so. ErrNoQuorum names the nodes
// that did not answer. Where a reply is lost, the node is counted as one that
// did not, and what it may have written is released.
func (l *Redlock) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	ttlMS, err := milliseconds(ttl)
	if err != nil {
		return nil, err
	}
	if over(ctx) {
		return nil, ended(ctx)
	}
	ttl = time.Duration(ttlMS) * time.Millisecond
	owner := l.clients[0].newOwner()
	mutex := l.mutex(key, owner, ttl)
	if err := mutex.TryLockContext(ctx); err != nil {
		return nil, l.refusal(ctx, mutex, l.count(err))
	}
	return &redlockLease{redlock: l, mutex: mutex, patience: l.patience(ttl)}, nil
}

// ended is why ctx, which is over by the clock, has ended or is about to.
func ended(ctx context.Context) error {
	return cmp.Or(context.Cause(ctx), context.DeadlineExceeded)
}

// mutex is redsync's of one attempt.
func (l *Redlock) mutex(key, owner string, ttl time.Duration) *redsync.Mutex {
	return l.nodes.NewMutex(key,
		redsync.WithExpiry(ttl),
		redsync.WithTimeoutFactor(redlockPatience),
		redsync.WithFailFast(l.options.FailFast),
		redsync.WithValue(owner),
		redsync.WithGenValueFunc(func() (string, error) { return owner, nil }),
	)
}

// refusal is why an attempt failed. redsync has released what a minority
// granted, unless ctx was over by then, which left it no time for it.
func (l *Redlock) refusal(ctx context.Context, mutex *redsync.Mutex, got tally) error {
	late := over(ctx)
	if late {
		got = l.release(ctx, mutex).or(got, l.quorum())
	}
	key, n := mutex.Name(), len(l.clients)
	switch {
	case got.others >= l.quorum():
		return ErrHeld
	case got.answered() < l.quorum():
		return fmt.Errorf("locking %s: %w", key, l.noQuorum(got))
	case late: // a majority does answer: it was ctx that was too short
		return fmt.Errorf("locking %s at %d nodes: %w", key, n, ended(ctx))
	case got.done >= l.quorum():
		return fmt.Errorf("locking %s at %d nodes: %w", key, n, errTooLate)
	}
	return ErrHeld
}

// release deletes the lock from every node that has it, within the
// ResolveTimeout.
func (l *Redlock) release(ctx context.Context, mutex *redsync.Mutex) tally {
	ctx, cancel := l.clients[0].later(ctx)
	defer cancel()
	return l.unlock(ctx, mutex)
}

func (l *Redlock) unlock(ctx context.Context, mutex *redsync.Mutex) tally {
	released, err := mutex.UnlockContext(ctx)
	if released {
		return tally{done: l.quorum()} // of the rest it says nothing
	}
	return l.count(err)
}

func (l *Redlock) quorum() int { return len(l.clients)/2 + 1 }

// patience is how long a node may take to release a lock: as long as to take
// it, and not less than a lost reply of other lockers is given.
func (l *Redlock) patience(ttl time.Duration) time.Duration {
	return max(time.Duration(redlockPatience*float64(ttl)), l.clients[0].resolveTimeout)
}

// tally is what the nodes said to one question.
type tally struct {
	done   int           // did what was asked, or were not waited for
	others int           // have another's lock
	absent int           // have no lock
	silent map[int]error // by node: those who did not answer, or failed
}

// answered is how many did.
func (t tally) answered() int { return t.done + t.others + t.absent }

// or is t, unless a majority was another's before.
func (t tally) or(before tally, quorum int) tally {
	if before.others >= quorum {
		return before
	}
	return t
}

// count takes redsync's error apart, which is a tree.
func (l *Redlock) count(err error) tally {
	t := tally{silent: make(map[int]error)}
	t.add(err)
	t.done = len(l.clients) - t.others - t.absent - len(t.silent)
	return t
}

func (t *tally) add(err error) {
	switch e := err.(type) {
	case nil:
	case *redsync.ErrTaken:
		t.others += len(e.Nodes)
	case *redsync.ErrNodeTaken:
		t.others++
	case *redsync.RedisError:
		t.silent[e.Node] = e.Err
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			t.add(inner)
		}
	default:
		if err == redsync.ErrLockAlreadyExpired {
			t.absent++
		}
	}
}

// noQuorum is the error of a majority that did not answer. It names who did
// not, and wraps what they failed with.
func (l *Redlock) noQuorum(t tally) error {
	var names []string
	var first error
	for i, c := range l.clients {
		if err, ok := t.silent[i]; ok {
			names = append(names, c.name)
			if first == nil {
				first = err
			}
		}
	}
	return fmt.Errorf("%w: %d of %d did, %d must; none came from %s: %w",
		ErrNoQuorum, t.answered(), len(l.clients), l.quorum(), strings.Join(names, ", "), first)
}

// redlockLease is a lock at a majority of nodes.
type redlockLease struct {
	redlock  *Redlock
	mutex    *redsync.Mutex
	patience time.Duration
}

var _ Lease = (*redlockLease)(nil)

// Token is 0: no node could number the grants of all.
func (l *redlockLease) Token() uint64 { return 0 }

// Alive is nil: nobody looks.
func (l *redlockLease) Alive() context.Context { return nil }

// Unlock makes one round trip to every node. It is done if a majority had
// the lock and has deleted it, whatever the others say. ErrLost: a majority
// no longer had it. Where neither can be known, since too many did not
// answer, the error is ErrNoQuorum and names them. Where ctx is over before,
// it is released all the same, within the ResolveTimeout.
func (l *redlockLease) Unlock(ctx context.Context) error {
	r := l.redlock
	var cancel context.CancelFunc
	if over(ctx) {
		ctx, cancel = r.clients[0].later(ctx)
	} else {
		ctx, cancel = context.WithTimeout(ctx, l.patience)
	}
	defer cancel()
	t := r.unlock(ctx, l.mutex)
	switch {
	case t.done >= r.quorum():
		return nil
	case t.others+t.absent >= r.quorum():
		return ErrLost
	}
	return fmt.Errorf("unlocking %s: %w", l.mutex.Name(), r.noQuorum(t))
}
