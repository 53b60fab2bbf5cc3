package lock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

// createTries bounds how often a node's parent may vanish under it: a
// container goes some time after its last child.
const createTries = 5

// create makes our node, and what it lies below where that is not there, and
// returns its name.
func (a *zooKeeperAttempt) create(ctx context.Context) (string, error) {
	for range createTries {
		path, err := await(ctx, a.zooKeeperSession, func() (string, error) {
			return a.conn.Create(a.dir+"/"+a.prefix, nil, zk.FlagEphemeralSequential, a.client.acl)
		}, a.createdLate)
		switch {
		case err == nil:
			return path[len(a.dir)+1:], nil
		case errors.Is(err, zk.ErrNoNode):
			if err := a.client.makeParents(ctx, a.zooKeeperSession, a.dir); err != nil {
				return "", err
			}
		case ctx.Err() == nil && zooKeeperMayHaveWritten(err) && !a.over():
			return a.findAgain(ctx, err)
		default:
			return "", err
		}
	}
	return "", fmt.Errorf("%s went %d times before a node could be created below it: %w", a.dir, createTries, zk.ErrNoNode)
}

// createdLate is told what became of the creation once nobody waits for it. It
// has the attempt as it was before: whoever made it goes on meanwhile.
func (a zooKeeperAttempt) createdLate(path string, err error) {
	switch {
	case err == nil:
		a.node = path[len(a.dir)+1:]
		a.client.abandoned.add(a)
	case zooKeeperMayHaveWritten(err):
		a.client.abandoned.add(a)
	}
}

// findAgain looks for our node, the reply to whose creation was lost, and
// returns its name, or cause if it is not there. A request that was sent is
// behind us by then, or never will be carried out: the servers refuse what
// comes over a connection that the session has left.
func (a *zooKeeperAttempt) findAgain(ctx context.Context, cause error) (string, error) {
	cause = zooKeeperFailure(cause)
	bounded, cancel := a.client.later(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	name, err := a.find(bounded)
	switch {
	case err == nil && name != "":
		return name, nil
	case err == nil:
		return "", cause
	}
	a.client.abandoned.add(*a)
	return "", after(cause, fmt.Errorf("whether %s was locked could not be learned: %w", a.key, zooKeeperFailure(err)))
}

// find returns the name of our node by its GUID, "" where it is not there. The
// sync has a server that lags behind the leader catch up first.
func (a *zooKeeperAttempt) find(ctx context.Context) (string, error) {
	children, err := await(ctx, a.zooKeeperSession, func() ([]string, error) {
		if _, err := a.conn.Sync(a.dir); err != nil {
			return nil, err
		}
		children, _, err := a.conn.Children(a.dir)
		return children, err
	}, nil)
	if errors.Is(err, zk.ErrNoNode) {
		return "", nil
	}
	for _, child := range children {
		if strings.HasPrefix(child, a.prefix) {
			return child, err
		}
	}
	return "", err
}

// makeParents makes a lock's node: a container, which ZooKeeper removes some
// time after its last child has gone, as Curator does
// (creatingParentContainersIfNeeded), and what it lies below, to stay.
func (c *ZooKeeperClient) makeParents(ctx context.Context, s *zooKeeperSession, dir string) error {
	container := func() error {
		_, err := await(ctx, s, func() (string, error) {
			return s.conn.CreateContainer(dir, nil, zk.FlagContainer, c.acl)
		}, nil)
		return unless(err, zk.ErrNodeExists)
	}
	err := container()
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	if err := c.makeRoot(ctx, s); err != nil {
		return err
	}
	return container()
}

// makeRoot makes the root and what it lies below. Who may not create what is
// there already needs not to.
func (c *ZooKeeperClient) makeRoot(ctx context.Context, s *zooKeeperSession) error {
	root := c.config.Root
	for i := 1; i <= len(root); i++ {
		if i < len(root) && root[i] != '/' {
			continue
		}
		_, err := await(ctx, s, func() (string, error) {
			_, err := s.conn.Create(root[:i], nil, zk.FlagPersistent, c.acl)
			if errors.Is(err, zk.ErrNoAuth) {
				if exists, _, _ := s.conn.Exists(root[:i]); exists {
					err = nil
				}
			}
			return "", err
		}, nil)
		if err := unless(err, zk.ErrNodeExists); err != nil {
			return err
		}
	}
	return nil
}

// unless is err, or nil where it is the one that does no harm.
func unless(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}

// delete deletes our node.
func (a *zooKeeperAttempt) delete(ctx context.Context) error {
	_, err := await(ctx, a.zooKeeperSession, func() (struct{}, error) {
		return struct{}{}, a.conn.Delete(a.dir+"/"+a.node, -1)
	}, nil)
	return err
}

// czxid is the number of the write that created our node.
func (a *zooKeeperAttempt) czxid(ctx context.Context) (uint64, error) {
	return await(ctx, a.zooKeeperSession, func() (uint64, error) {
		exists, stat, err := a.conn.Exists(a.dir + "/" + a.node)
		if err != nil {
			return 0, err
		}
		if !exists {
			return 0, errZooKeeperThrownOut
		}
		return uint64(stat.Czxid), nil
	}, nil)
}

// errZooKeeperThrownOut: the session has expired, which we have not learned
// yet, or somebody deleted our node.
var errZooKeeperThrownOut error = &serviceError{kindSessionLost, errors.New("our node went during the attempt, so the session has expired")}

// before returns the node that is just before ours, "" where ours is the
// first.
func (a *zooKeeperAttempt) before(ctx context.Context) (string, error) {
	children, err := await(ctx, a.zooKeeperSession, func() ([]string, error) {
		children, _, err := a.conn.Children(a.dir)
		return children, err
	}, nil)
	if err != nil {
		return "", unlessGone(err)
	}
	return nodeBefore(children, a.node)
}

// unlessGone is err, where it says that a node is not there which ours needs.
func unlessGone(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return errZooKeeperThrownOut
	}
	return err
}

// nodeBefore returns the node of children that is just before own, "" where
// own is the first. Others than nodes of a lock are not looked at.
func nodeBefore(children []string, own string) (string, error) {
	number, ok := nodeNumber(own)
	if !ok {
		return "", fmt.Errorf("ZooKeeper gave our node the name %s, which ends in no number", own)
	}
	var before string
	var nearest int32 // how far before ours, below 0
	there := false
	for _, child := range children {
		there = there || child == own
		other, ok := nodeNumber(child)
		if !ok {
			continue
		}
		if distance := other - number; distance < 0 && (before == "" || distance > nearest) {
			before, nearest = child, distance
		}
	}
	if !there {
		return "", errZooKeeperThrownOut
	}
	return before, nil
}

// nodeNumber is the number at the end of a node's name: a signed 32-bit
// counter of its parent's, in ten digits, which goes on at its least value
// after its greatest. So numbers are compared by their difference, which is
// right as long as no two nodes that are there at the same time are 2^31
// apart.
func nodeNumber(name string) (int32, bool) {
	at := strings.LastIndex(name, nodeMark)
	if at < 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(name[at+len(nodeMark):], 10, 32)
	return int32(n), err == nil
}
