package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// etcdMinter counts by writing one key: the revision of each write is greater
// than that of every earlier one, whatever it wrote.
type etcdMinter struct{ client *EtcdClient }

// Minter mints tokens: one round trip each, and a quorum has it on disk. Its
// key has no lease and stays until RemoveAll.
func (c *EtcdClient) Minter() Minter { return etcdMinter{c} }

// Mint writes the counter. A lost reply is a number that nobody has.
func (m etcdMinter) Mint(ctx context.Context) (uint64, error) {
	c := m.client
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	reply, err := c.etcd.Put(ctx, c.counter(), "")
	if err != nil {
		return 0, fmt.Errorf("writing %s on etcd at %s: %w", c.counter(), c.name, etcdFailure(err))
	}
	return uint64(reply.Header.Revision), nil
}

// Check says, before anything is measured, whether the cluster has a quorum
// and the user the rights that the locker and the minter need. It leaves no
// key behind.
func (c *EtcdClient) Check(ctx context.Context) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	key := c.prefix + "/check"
	if _, err := c.etcd.Get(ctx, c.prefix, clientv3.WithPrefix(), clientv3.WithCountOnly()); err != nil {
		return c.cannot("read", err)
	}
	if _, err := c.etcd.Put(ctx, key, "", clientv3.WithLease(c.lease())); err != nil {
		return c.cannot("write", err)
	}
	if _, err := c.etcd.Delete(ctx, key); err != nil {
		return c.cannot("write", err)
	}
	lease, err := NewEtcd(c).TryLock(ctx, "/check", time.Second)
	if errors.Is(err, ErrHeld) { // another is just checking
		return nil
	}
	if err != nil {
		return err
	}
	return lease.Unlock(ctx)
}

// lease is that of the session of now, or of the last.
func (c *EtcdClient) lease() clientv3.LeaseID {
	current, _, _ := c.sessions.state()
	return current.id
}

// cannot is the error of a request that Check made.
func (c *EtcdClient) cannot(right string, err error) error {
	switch kind := etcdKind(err); {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return fmt.Errorf("user %s lacks the right to %s keys %s* on etcd at %s; try etcdctl role grant-permission ROLE readwrite --prefix %s: %w",
			c.user, right, c.prefix, c.name, c.prefix, etcdFailure(err))
	case errors.Is(err, rpctypes.ErrUserEmpty):
		return fmt.Errorf("etcd at %s asks for a user and a password: %w", c.name, etcdFailure(err))
	case kind == "etcd-timeout" || kind == "etcd-no-leader" || kind == "etcd-unavailable":
		return fmt.Errorf("etcd at %s did not %s within %v: have most of its members started, and have they found each other? %w",
			c.name, right, c.dialTimeout, etcdFailure(err))
	default:
		return fmt.Errorf("etcd at %s does not %s keys %s*: %w", c.name, right, c.prefix, etcdFailure(err))
	}
}

// RemoveAll deletes every key below the prefix, also locks that are held.
func (c *EtcdClient) RemoveAll(ctx context.Context) error {
	if _, err := c.etcd.Delete(ctx, c.prefix, clientv3.WithPrefix()); err != nil {
		return fmt.Errorf("removing keys %s* from etcd at %s: %w", c.prefix, c.name, etcdFailure(err))
	}
	return nil
}
