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
// the library's lease.go). So we also ask ourselves, three times a TTL, and
// count from before we asked.
type etcdSession struct {
	*session
	id      clientv3.LeaseID
	library *concurrency.Session
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
	library, err := concurrency.NewSession(c.etcd, concurrency.WithLease(granted.ID), concurrency.WithTTL(int(granted.TTL)))
	if err != nil {
		return nil, etcdFailure(err)
	}
	ttl := time.Duration(granted.TTL) * time.Second // which may be more than was asked for
	s := &etcdSession{session: newSession(asked, ttl), id: granted.ID, library: library}
	go c.attend(s, ttl)
	go c.confirm(s, ttl)
	return s, nil
}

// attend waits for the session's end and tidies up after it. Where only we
// hold it to be over, the cluster may still have the lease, and with it
// locks that nobody holds: it is told, if it can be reached while that matters.
func (c *EtcdClient) attend(s *etcdSession, ttl time.Duration) {
	select {
	case <-s.library.Done():
		s.lose(errors.New("etcd's client gave up the lease: it is gone, or no answer came for its TTL"))
	case <-s.Alive().Done():
		s.library.Orphan()
	}
	if errors.Is(context.Cause(s.Alive()), errClosed) {
		return // Close revokes
	}
	ctx, cancel := context.WithTimeout(c.closing, ttl)
	defer cancel()
	for pause := firstReopenPause; ctx.Err() == nil; pause = min(2*pause, longestReopenPause) {
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, err := c.etcd.Revoke(try, s.id)
		cancel()
		if err == nil || etcdLeaseGone(err) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// confirm asks for the lease's renewal. An answer comes from the leader, after
// it has made sure that it is one. One that does not come in a third of the
// TTL is not waited for: another member may answer.
func (c *EtcdClient) confirm(s *etcdSession, ttl time.Duration) {
	ticker := time.NewTicker(ttl / 3)
	defer ticker.Stop()
	for {
		select {
		case <-s.Alive().Done():
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(s.Alive(), ttl/3)
		asked := time.Now()
		_, err := c.etcd.KeepAliveOnce(ctx, s.id)
		cancel()
		switch {
		case err == nil:
			s.confirmed(asked)
		case etcdLeaseGone(err):
			s.lose(errors.New("etcd says that the lease is gone"))
		}
	}
}
