package lock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Etcd is the lock of etcd's concurrency.Mutex: a key below the lock's that
// lives as long as its client's lease, and of those that are there the one
// created first holds the lock. Its create revision is the token.
//
// Mutex names its key by the lease alone. Two callers on one session then
// share one key, and both are told that they hold the lock. Here each attempt
// has a number besides, so that callers of one session exclude each other
// like any others.
type Etcd struct {
	client *EtcdClient
}

var _ Queuer = (*Etcd)(nil)

// NewEtcd returns a locker over client's session.
func NewEtcd(client *EtcdClient) *Etcd { return &Etcd{client: client} }

// etcdAttempt is a try at a lock, and the lock if it is granted. The session's
// end is the end of its key.
type etcdAttempt struct {
	*etcdSession
	client *EtcdClient
	key    string // what was to be locked, for messages
	dir    string // what holders and waiters have their keys below
	name   string // our key
	grave  string // a key that, where it is there, keeps ours from being written
}

// attempt names an attempt's keys, on the session of now. A lock's key is
// escaped, so that none lies below another's.
func (c *EtcdClient) attempt(ctx context.Context, key string) (etcdAttempt, error) {
	if err := ctx.Err(); err != nil {
		return etcdAttempt{}, context.Cause(ctx)
	}
	if key == "" {
		return etcdAttempt{}, errors.New("etcd locks no empty key")
	}
	session, err := c.sessions.get(ctx, c.dialTimeout)
	if err != nil {
		return etcdAttempt{}, c.failed(key, err)
	}
	id := strconv.FormatInt(int64(session.id), 16) + "-" + strconv.FormatUint(c.attempts.Add(1), 36)
	dir := c.prefix + url.PathEscape(key) + "/"
	return etcdAttempt{etcdSession: session, client: c, key: key, dir: dir, name: dir + id, grave: c.graves() + id}, nil
}

// graves and counter lie where no escaped key can.
func (c *EtcdClient) graves() string  { return c.prefix + "/abandoned/" }
func (c *EtcdClient) counter() string { return c.prefix + "/counter" }

// TryLock makes one round trip: one transaction, which writes our key if there
// is none below the lock's, neither a holder's nor a waiter's. A quorum has
// it on disk before it is answered. The lock ends with the client's session
// and not after ttl, which is not used.
//
// Where the reply is lost, what was written is undone within the client's
// ResolveTimeout, else behind the caller's back for as long as the session
// lives. It comes after a session's end at most to wait for the next one.
func (l *Etcd) TryLock(ctx context.Context, key string, _ time.Duration) (Lease, error) {
	a, err := l.client.attempt(ctx, key)
	if err != nil {
		return nil, err
	}
	free := clientv3.Compare(clientv3.CreateRevision(a.dir), "=", 0).WithPrefix()
	reply, err := a.commit(ctx, []clientv3.Cmp{free})
	if err != nil {
		return nil, a.abandon(ctx, err)
	}
	revision, ok := a.written(reply)
	if !ok {
		return nil, ErrHeld
	}
	return a.granted(ctx, revision)
}

// commit writes our key if the conditions hold, unless it was abandoned
// before, and then reads what is asked for.
func (a etcdAttempt) commit(ctx context.Context, conditions []clientv3.Cmp, reads ...clientv3.Op) (*clientv3.TxnResponse, error) {
	ctx, cancel := a.client.bounded(ctx)
	defer cancel()
	put := clientv3.OpPut(a.name, "", clientv3.WithLease(a.id))
	return a.client.etcd.Txn(ctx).
		If(append(conditions, clientv3.Compare(clientv3.CreateRevision(a.grave), "=", 0))...).
		Then(append([]clientv3.Op{put}, reads...)...).
		Else(clientv3.OpGet(a.name)).
		Commit()
}

// written returns our key's create revision, if it is there. The library
// sends a request again where it believes that the first one was not sent:
// then it may be there although the condition no longer holds.
func (a etcdAttempt) written(reply *clientv3.TxnResponse) (revision int64, ok bool) {
	if reply.Succeeded {
		return reply.Header.Revision, true
	}
	if kvs := reply.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		return kvs[0].CreateRevision, true
	}
	return 0, false
}

// granted returns the lease, unless the session ended meanwhile or nobody
// waits for it any more.
func (a etcdAttempt) granted(ctx context.Context, revision int64) (Lease, error) {
	if a.over() {
		return nil, a.client.failed(a.key, a.ended())
	}
	if err := ctx.Err(); err != nil {
		return nil, a.abandon(ctx, err)
	}
	return &etcdLease{etcdAttempt: a, revision: revision}, nil
}

// abandon undoes an attempt that failed with cause, and returns what is to be
// said of it. A key that ended with its session is undone.
func (a etcdAttempt) abandon(ctx context.Context, cause error) error {
	if etcdLeaseGone(cause) {
		a.lose(errors.New("etcd says that the lease is gone"))
	}
	if a.over() {
		return a.client.failed(a.key, a.ended())
	}
	if !etcdMayHaveWritten(cause) {
		return a.client.failed(a.key, etcdFailure(cause))
	}
	return a.client.failed(a.key, a.undo(ctx, etcdFailure(cause)))
}

// failed adds to a failed attempt's error what was locked, and where.
func (c *EtcdClient) failed(key string, err error) error {
	return fmt.Errorf("locking %s on etcd at %s: %w", key, c.name, err)
}

// etcdLease is a granted lock.
type etcdLease struct {
	etcdAttempt
	revision int64 // our key was created at
}

var _ Lease = (*etcdLease)(nil)

// Token is the create revision of the lock's key: etcd numbers its writes.
func (l *etcdLease) Token() uint64 { return uint64(l.revision) }

// Unlock deletes our key: one round trip. ErrLost where the session is over,
// or the key gone, or another's. Where the reply is lost it tries again within
// the client's ResolveTimeout, and a key that is then gone is no ErrLost, as
// our first attempt may have deleted it. It goes on behind the caller's back
// if even that failed.
func (l *etcdLease) Unlock(ctx context.Context) error {
	if l.over() {
		return ErrLost
	}
	if over(ctx) {
		var cancel context.CancelFunc
		ctx, cancel = l.client.later(ctx)
		defer cancel()
	}
	bounded, cancel := l.client.bounded(ctx)
	reply, err := l.client.etcd.Txn(bounded).
		If(clientv3.Compare(clientv3.CreateRevision(l.name), "=", l.revision)).
		Then(clientv3.OpDelete(l.name)).
		Commit()
	cancel()
	switch {
	case err == nil && reply.Succeeded:
		return nil
	case err == nil:
		return ErrLost
	case etcdMayHaveWritten(err) && l.bury(ctx):
		return nil
	case l.over():
		return ErrLost
	}
	err = etcdFailure(err)
	if !etcdMayHaveWritten(err) { // and so it was not tried again
		l.client.abandoned.add(l.etcdAttempt)
	}
	return fmt.Errorf("unlocking %s on etcd at %s, which is tried again as long as its session lasts: %w", l.key, l.client.name, err)
}
