package lock

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// etcdSession is a lease, kept alive by the library's concurrency.Session.
//
// That one's Done is closed when an answer says that the lease is gone, or
// when there was none for the TTL; but then late: it counts from the arrival
// of the last answer, looks once a second, and until the first answer it
// waits DialTimeout + 1 s instead of the TTL (deadlineLoop and KeepAlive in
// the library's lease.go). And early: its one stream goes to one member, and
// where that is stopped, the library notices it only by its pings, after 13 s,
// while the others would answer. So we also ask ourselves, three times a TTL,
// and count from before we asked; Done has us ask at once.
type etcdSession struct {
	*session
	id clientv3.LeaseID
}

// openSession gets a lease: one round trip.
func (c *EtcdClient) openSession(ctx context.Context) (*etcdSession, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	asked := time.Now()
	granted, err := c.etcd.Grant(ctx, c.ttl)
	if err != nil {
		return nil, etcdFailure(err)
	}
	library, err := c.keepAlive(granted.ID)
	if err != nil {
		return nil, etcdFailure(err)
	}
	ttl := time.Duration(granted.TTL) * time.Second // which may be more than was asked for
	s := &etcdSession{session: newSession(asked, ttl), id: granted.ID}
	go c.attend(s, library, ttl)
	go c.confirm(s, ttl)
	return s, nil
}

// keepAlive has the library keep a lease alive.
func (c *EtcdClient) keepAlive(id clientv3.LeaseID) (*concurrency.Session, error) {
	return concurrency.NewSession(c.etcd, concurrency.WithLease(id), concurrency.WithContext(c.closing))
}

// attend waits for the session's end, and has the library go on with a lease
// that it gave up too early.
func (c *EtcdClient) attend(s *etcdSession, library *concurrency.Session, ttl time.Duration) {
	for !s.over() {
		select {
		case <-s.Alive().Done():
		case <-library.Done():
			if !c.ask(s, ttl) {
				pause(s.Alive(), firstReopenPause)
				continue
			}
			if again, err := c.keepAlive(s.id); err == nil {
				library = again
			}
		}
	}
	library.Orphan()
	c.revoke(s, ttl)
}

// pause waits, but not longer than ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// revoke tidies up after a session that has ended. Where only we hold it to be
// over, the cluster may still have the lease, and with it locks that nobody
// holds: it is told, if it can be reached while that matters.
func (c *EtcdClient) revoke(s *etcdSession, ttl time.Duration) {
	if errors.Is(context.Cause(s.Alive()), ErrClosed) {
		return // Close revokes
	}
	ctx, cancel := context.WithTimeout(c.closing, ttl)
	defer cancel()
	for wait := firstReopenPause; ctx.Err() == nil; wait = min(2*wait, longestReopenPause) {
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, err := c.etcd.Revoke(try, s.id)
		cancel()
		if err == nil || etcdLeaseGone(err) {
			return
		}
		pause(ctx, wait)
	}
}

// confirm asks for the lease's renewal again and again.
func (c *EtcdClient) confirm(s *etcdSession, ttl time.Duration) {
	ticker := time.NewTicker(ttl / 3)
	defer ticker.Stop()
	for {
		select {
		case <-s.Alive().Done():
			return
		case <-ticker.C:
		}
		for !c.ask(s, ttl) && !s.over() {
			pause(s.Alive(), firstReopenPause)
		}
	}
}

// ask asks for the lease's renewal, and tells whether it was granted. An
// answer comes from the leader, after it has made sure that it is one. One
// that does not come in a sixth of the TTL is not waited for: the next one to
// be asked is another member.
func (c *EtcdClient) ask(s *etcdSession, ttl time.Duration) bool {
	ctx, cancel := context.WithTimeout(s.Alive(), ttl/6)
	defer cancel()
	asked := time.Now()
	_, err := c.etcd.KeepAliveOnce(ctx, s.id)
	switch {
	case err == nil:
		s.confirmed(asked)
	case etcdLeaseGone(err):
		s.lose(errors.New("etcd says that the lease is gone"))
	}
	return err == nil
}
