package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"lockcost/workloads/pool"
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
		return nil, cmpCause(ctx)
	}
	ttl = time.Duration(ttlMS) * time.Millisecond
	owner := l.clients[0].newOwner()
	mutex := l.mutex(key, owner, ttl)
	if err := mutex.TryLockContext(ctx); err != nil {
		return nil, l.failed(ctx, key, l.refusal(ctx, mutex, l.count(err)))
	}
	return &redlockLease{redlock: l, mutex: mutex, key: key, patience: l.patience(ttl)}, nil
}

func cmpCause(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return context.DeadlineExceeded
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

// refusal is why an attempt failed. redsync has released what it was given,
// unless ctx was over by then, which would have been no time for it.
func (l *Redlock) refusal(ctx context.Context, mutex *redsync.Mutex, got tally) error {
	if over(ctx) {
		after := l.release(ctx, mutex)
		if after.answered() >= l.quorum() { // it was ctx that was too short
			return fmt.Errorf("%w before a majority had granted it", cmpCause(ctx))
		}
		return l.noQuorum(after)
	}
	switch {
	case got.answered() < l.quorum():
		return l.noQuorum(got)
	case got.done >= l.quorum():
		return errTooLate
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

func (l *Redlock) failed(ctx context.Context, key string, err error) error {
	if err == ErrHeld {
		return err
	}
	return fmt.Errorf("locking %s at %d nodes: %w", key, len(l.clients), err)
}

// tally is what the nodes said to one question.
type tally struct {
	done    int           // did what was asked
	others  int           // have another's lock
	absent  int           // have no lock
	silent  map[int]error // by node: those who did not answer, or failed
	unheard int           // redsync did not say, as of those it did not wait for
}

// answered is how many did.
func (t tally) answered() int { return t.done + t.others + t.absent }

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
	return fmt.Errorf("%w: %d of %d did, %d must; no answer of %s: %w",
		ErrNoQuorum, t.answered(), len(l.clients), l.quorum(), strings.Join(names, ", "), first)
}

// redlockLease is a lock at a majority of nodes.
type redlockLease struct {
	redlock  *Redlock
	mutex    *redsync.Mutex
	key      string
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
	return fmt.Errorf("unlocking %s at %d nodes: %w", l.key, len(r.clients), r.noQuorum(t))
}

// redlockNode is a client as redsync takes connections from it.
type redlockNode struct {
	client *Client
	pool   redsyncredis.Pool
}

// Get takes a place among the client's connections.
//
// The nodes are asked at the same time, and a trace is for one goroutine: they
// do not get the caller's, and waits for connections are in Client.PoolWait
// alone. Nor do they end with ctx, but at its deadline: redsync, when it fails
// fast, cancels ctx once it knows enough, and would leave locks behind that
// it was about to release.
func (n redlockNode) Get(ctx context.Context) (redsyncredis.Conn, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(n.client.readTimeout)
	}
	own, cancel := context.WithDeadline(pool.WithTrace(context.WithoutCancel(ctx), new(pool.Trace)), deadline)
	if err := n.client.enter(own); err != nil {
		cancel()
		return nil, err
	}
	conn, err := n.pool.Get(own)
	if err != nil {
		cancel()
		n.client.leave()
		return nil, err
	}
	return redlockConn{Conn: conn, client: n.client, cancel: cancel}, nil
}

// redlockConn gives its place back when it is closed.
type redlockConn struct {
	redsyncredis.Conn
	client *Client
	cancel context.CancelFunc
}

func (c redlockConn) Close() error {
	err := c.Conn.Close()
	c.client.leave()
	c.cancel()
	return err
}
