package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// zooKeeperSweepBatch is how many attempts are swept up at the same time.
const zooKeeperSweepBatch = 32

// sweep deletes what attempts may have left, each within the ResolveTimeout.
func (c *ZooKeeperClient) sweep(ctx context.Context, some []zooKeeperAttempt) []error {
	ctx, cancel := context.WithTimeout(ctx, c.config.ResolveTimeout)
	defer cancel()
	errs := make([]error, len(some))
	done := make(chan struct{})
	for i := range some {
		go func() {
			defer func() { done <- struct{}{} }()
			a := some[i]
			if a.node == "" {
				if a.node, errs[i] = a.find(ctx); a.node == "" {
					return
				}
			}
			errs[i] = unless(a.delete(ctx), zk.ErrNoNode)
		}()
	}
	for range some {
		<-done
	}
	return errs
}

// zooKeeperMinter counts by writing one node: the zxid of each write is
// greater than that of every earlier one, whatever it wrote.
type zooKeeperMinter struct{ client *ZooKeeperClient }

// Minter mints tokens: one round trip each, and a quorum has it on disk. Its
// node stays until RemoveAll.
func (c *ZooKeeperClient) Minter() Minter { return zooKeeperMinter{c} }

// counter lies where no escaped key can.
func (c *ZooKeeperClient) counter() string { return c.config.Root + "/%counter" }

// Mint writes the counter. A lost reply is a number that nobody has.
func (m zooKeeperMinter) Mint(ctx context.Context) (uint64, error) {
	c := m.client
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	s, err := c.sessions.get(ctx, c.config.DialTimeout)
	if err != nil {
		return 0, err
	}
	token, err := c.mint(ctx, s)
	if errors.Is(err, zk.ErrNoNode) {
		if err = c.makeCounter(ctx, s); err == nil {
			token, err = c.mint(ctx, s)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("writing %s on ZooKeeper at %s: %w", c.counter(), c.name, zooKeeperFailure(err))
	}
	return token, nil
}

func (c *ZooKeeperClient) mint(ctx context.Context, s *zooKeeperSession) (uint64, error) {
	return await(ctx, s, func() (uint64, error) {
		stat, err := s.conn.Set(c.counter(), nil, -1)
		if err != nil {
			return 0, err
		}
		return uint64(stat.Mzxid), nil
	}, nil)
}

func (c *ZooKeeperClient) makeCounter(ctx context.Context, s *zooKeeperSession) error {
	if err := c.makeRoot(ctx, s); err != nil {
		return err
	}
	_, err := await(ctx, s, func() (string, error) {
		return s.conn.Create(c.counter(), nil, zk.FlagPersistent, c.acl)
	}, nil)
	return unless(err, zk.ErrNodeExists)
}

// Check says, before anything is measured, whether the ensemble has a quorum
// and we have the rights that the locker and the minter need. It makes the
// root and the counter, and leaves nothing else.
func (c *ZooKeeperClient) Check(ctx context.Context) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	if _, err := c.Minter().Mint(ctx); err != nil {
		return c.explain(err)
	}
	lease, err := NewZooKeeper(c).TryLock(ctx, "%check", time.Second)
	if errors.Is(err, ErrHeld) { // another is just checking
		return nil
	}
	if err != nil {
		return c.explain(err)
	}
	return c.explain(lease.Unlock(ctx))
}

// explain says what to try.
func (c *ZooKeeperClient) explain(err error) error {
	switch Kind(err) {
	case "zookeeper-noperm":
		return fmt.Errorf("we lack a right to what is below %s; it takes cdrw there: see getAcl %s, or log in: %w", c.config.Root, c.config.Root, err)
	case "zookeeper-timeout", "zookeeper-unavailable":
		return fmt.Errorf("no answer within %v: have most of the servers started, and have they found each other? %w", c.config.DialTimeout, err)
	}
	return err
}

// removeBatch is how many nodes are deleted in one transaction: its size must
// stay below a megabyte.
const removeBatch = 500

// RemoveAll deletes the root and all that is below it, also locks that are
// held.
func (c *ZooKeeperClient) RemoveAll(ctx context.Context) error {
	s, err := c.sessions.get(ctx, c.config.DialTimeout)
	if err != nil {
		return err
	}
	if err := c.removeBelow(ctx, s, c.config.Root); err != nil {
		return fmt.Errorf("removing %s from ZooKeeper at %s: %w", c.config.Root, c.name, zooKeeperFailure(err))
	}
	return nil
}

// removeBelow deletes path and what is below it. Others may add something
// meanwhile, or delete it.
func (c *ZooKeeperClient) removeBelow(ctx context.Context, s *zooKeeperSession, path string) error {
	children, err := await(ctx, s, func() ([]string, error) {
		children, _, err := s.conn.Children(path)
		return children, err
	}, nil)
	if err != nil {
		return unless(err, zk.ErrNoNode)
	}
	for some := range slices.Chunk(children, removeBatch) {
		if err := c.removeChildren(ctx, s, path, some); err != nil {
			return err
		}
	}
	_, err = await(ctx, s, func() (struct{}, error) { return struct{}{}, s.conn.Delete(path, -1) }, nil)
	return unless(err, zk.ErrNoNode)
}

// removeChildren deletes children in one transaction, or one by one with what
// is below them where that is refused: they may have children, or be gone.
func (c *ZooKeeperClient) removeChildren(ctx context.Context, s *zooKeeperSession, path string, children []string) error {
	var deletes []any
	for _, child := range children {
		deletes = append(deletes, &zk.DeleteRequest{Path: strings.TrimSuffix(path, "/") + "/" + child, Version: -1})
	}
	_, err := await(ctx, s, func() (struct{}, error) {
		_, err := s.conn.Multi(deletes...)
		return struct{}{}, err
	}, nil)
	if !zooKeeperRefused(err) {
		return err
	}
	for _, child := range children {
		if err := c.removeBelow(ctx, s, path+"/"+child); err != nil {
			return err
		}
	}
	return nil
}
