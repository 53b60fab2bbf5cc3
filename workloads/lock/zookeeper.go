package lock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"
)

// ZooKeeper is the recipe of Curator's InterProcessMutex: an ephemeral
// sequential node below the lock's, and of those that are there the one with
// the lowest number holds the lock. Its name has a GUID, by which it is found
// again where the reply to its creation was lost. Its czxid is the token.
//
// The library's own Lock takes no context, and leaves its node behind where
// what follows the creation fails.
type ZooKeeper struct {
	client *ZooKeeperClient
}

var _ Queuer = (*ZooKeeper)(nil)

// NewZooKeeper returns a locker over client's session.
func NewZooKeeper(client *ZooKeeperClient) *ZooKeeper { return &ZooKeeper{client: client} }

// zooKeeperAttempt is a try at a lock, and the lock if it is granted. The
// session's end is the end of its node.
type zooKeeperAttempt struct {
	*zooKeeperSession
	client *ZooKeeperClient
	key    string // what was to be locked, for messages
	dir    string // the lock's node, which those of holders and waiters are below
	prefix string // of our node's name; the rest is its number
	node   string // our node's name, "" while it is not known
}

// attempt names an attempt's node, on the session of now. A lock's key is
// escaped, so that none lies below another's.
func (c *ZooKeeperClient) attempt(ctx context.Context, key string) (zooKeeperAttempt, error) {
	if err := ctx.Err(); err != nil {
		return zooKeeperAttempt{}, context.Cause(ctx)
	}
	name := url.PathEscape(key)
	switch name {
	case "":
		return zooKeeperAttempt{}, errors.New("ZooKeeper locks no empty key")
	case ".", "..": // which are no names in its paths
		name = "%2E" + name[1:]
	}
	session, err := c.sessions.get(ctx, c.config.DialTimeout)
	if err != nil {
		return zooKeeperAttempt{}, c.failed(key, err)
	}
	guid := c.seed + strconv.FormatUint(c.attempts.Add(1), 36)
	return zooKeeperAttempt{
		zooKeeperSession: session, client: c, key: key,
		dir: c.config.Root + "/" + name, prefix: "_c_" + guid + nodeMark,
	}, nil
}

// nodeMark is what comes before a node's number, as in Curator.
const nodeMark = "-lock-"

// TryLock makes two round trips: it creates our node, then asks for all of
// the lock's, and at the same time for our node's czxid, as the library has no
// create that returns it. Two more if the lock's own node is not there yet:
// one that failed, and one that creates it. One more to delete ours if another
// holds the lock. A node of one who is just being refused, too, has others
// refused. A quorum has each write on disk before it is answered. The lock
// ends with the client's session and not after ttl, which is not used.
//
// Where the reply to the creation is lost, our node is looked for within the
// client's ResolveTimeout. Where ctx ends, TryLock returns at once, and our
// node, if any, is deleted behind the caller's back.
func (l *ZooKeeper) TryLock(ctx context.Context, key string, _ time.Duration) (Lease, error) {
	a, err := l.client.attempt(ctx, key)
	if err != nil {
		return nil, err
	}
	bounded, cancel := l.client.bounded(ctx)
	defer cancel()
	if a.node, err = a.create(bounded); err != nil {
		return nil, a.abandon(err)
	}
	before, token, err := a.place(bounded)
	switch {
	case err != nil:
		return nil, a.abandon(err)
	case before == "":
		return a.granted(ctx, token)
	}
	if err := a.delete(bounded); err != nil && !errors.Is(err, zk.ErrNoNode) {
		l.client.abandoned.add(a)
	}
	return nil, ErrHeld
}

// place returns the node before ours, "" for none, and our token: both asked
// at the same time.
func (a *zooKeeperAttempt) place(ctx context.Context) (before string, token uint64, err error) {
	type outcome struct {
		token uint64
		err   error
	}
	exists := make(chan outcome, 1)
	go func() {
		token, err := a.czxid(ctx)
		exists <- outcome{token, err}
	}()
	before, err = a.before(ctx)
	own := <-exists
	if err == nil {
		err = own.err
	}
	return before, own.token, err
}

// granted returns the lease, unless the session ended meanwhile or nobody
// waits for it any more.
func (a *zooKeeperAttempt) granted(ctx context.Context, token uint64) (Lease, error) {
	if a.over() {
		return nil, a.client.failed(a.key, a.ended())
	}
	if ctx.Err() != nil {
		return nil, a.abandon(context.Cause(ctx))
	}
	return &zooKeeperLease{zooKeeperAttempt: *a, token: token}, nil
}

// abandon has undone what is left of an attempt that failed with cause, and
// returns what is to be said of it.
func (a *zooKeeperAttempt) abandon(cause error) error {
	if errors.Is(cause, zk.ErrSessionExpired) {
		a.lose(errors.New("ZooKeeper says that the session has expired"))
	}
	if a.over() {
		return a.client.failed(a.key, a.ended())
	}
	if a.node != "" {
		a.client.abandoned.add(*a)
	}
	var own *serviceError
	if errors.As(cause, &own) || errors.Is(cause, ErrHeld) {
		return a.client.failed(a.key, cause)
	}
	return a.client.failed(a.key, zooKeeperFailure(cause))
}

// failed adds to a failed attempt's error what was locked, and where.
func (c *ZooKeeperClient) failed(key string, err error) error {
	return fmt.Errorf("locking %s on ZooKeeper at %s: %w", key, c.name, err)
}

// zooKeeperLease is a granted lock.
type zooKeeperLease struct {
	zooKeeperAttempt
	token uint64
}

var _ Lease = (*zooKeeperLease)(nil)

// Token is the czxid of the lock's node: ZooKeeper numbers its writes.
func (l *zooKeeperLease) Token() uint64 { return l.token }

// Unlock deletes our node: one round trip. ErrLost where the session is over
// or the node gone. Where the reply is lost it tries again within the client's
// ResolveTimeout, and a node that is then gone is no ErrLost, as our first
// attempt may have deleted it. It goes on behind the caller's back if even
// that failed.
func (l *zooKeeperLease) Unlock(ctx context.Context) error {
	if l.over() {
		return ErrLost
	}
	if over(ctx) {
		var cancel context.CancelFunc
		ctx, cancel = l.client.later(ctx)
		defer cancel()
	}
	bounded, cancel := l.client.bounded(ctx)
	err := l.delete(bounded)
	cancel()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrSessionExpired), l.over():
		return ErrLost
	}
	undone := l.client.abandoned.add(l.zooKeeperAttempt)
	err = zooKeeperFailure(err)
	ctx, cancel = l.client.later(ctx)
	defer cancel()
	select {
	case <-undone:
		if l.over() {
			return ErrLost
		}
		return nil
	case <-ctx.Done():
	}
	return fmt.Errorf("unlocking %s on ZooKeeper at %s, which is tried again as long as its session lasts: %w", l.key, l.client.name, err)
}
