package lock

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// etcdSweepBatch is how many attempts are undone in one transaction, which
// may have 128 operations.
const etcdSweepBatch = 60

// undo deletes our key and returns cause, joined with the reason if that
// did not succeed in time: it is then still being tried.
func (a etcdAttempt) undo(ctx context.Context, cause error) error {
	if a.bury(ctx) {
		return cause
	}
	return after(cause, fmt.Errorf("%s could not be undone within %v, and is tried again as long as its session lasts", a.name, a.client.resolveTimeout))
}

// bury has the attempt undone, and tells whether it was within the
// ResolveTimeout.
func (a etcdAttempt) bury(ctx context.Context) bool {
	ctx, cancel := a.client.later(ctx)
	defer cancel()
	select {
	case <-a.client.abandoned.add(a):
		return true
	case <-ctx.Done():
		return false
	}
}

// bury deletes the keys of attempts, and puts something on their graves: a
// request that is still on its way, in a member that was stopped or cut off
// and goes on later, would write a key that nobody knows of into a session
// that lives. The graves go with the session.
func (c *EtcdClient) bury(ctx context.Context, some []etcdAttempt) []error {
	var ops []clientv3.Op
	for _, a := range some {
		ops = append(ops, clientv3.OpDelete(a.name), clientv3.OpPut(a.grave, "", clientv3.WithLease(a.id)))
	}
	ctx, cancel := c.later(ctx)
	defer cancel()
	_, err := c.etcd.Txn(ctx).Then(ops...).Commit()
	errs := make([]error, len(some))
	if !etcdLeaseGone(err) {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	// That of some is gone, which may be one's among many: then all are
	// looked at again, without those whose session is over.
	for i, a := range some {
		if a.over() {
			continue
		}
		_, err := c.etcd.Txn(ctx).Then(ops[2*i], ops[2*i+1]).Commit()
		if etcdLeaseGone(err) {
			a.lose(errors.New("etcd says that the lease is gone"))
			err = nil
		}
		errs[i] = err
	}
	return errs
}
