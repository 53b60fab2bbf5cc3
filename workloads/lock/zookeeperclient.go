package lock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// DefaultZooKeeperRoot is the node below which everything is.
const DefaultZooKeeperRoot = "/lockcost"

// ZooKeeperConfig says which ZooKeeper to talk to, and how.
type ZooKeeperConfig struct {
	Servers []string // host:port; no names are looked up but by dialling them
	// AuthScheme and Auth are as addauth has them, such as digest and
	// user:password; both "" for none. With them, our nodes are for that user
	// alone.
	AuthScheme, Auth string
	// Root is the path of the node below which all others are; "" for
	// DefaultZooKeeperRoot.
	Root string
	// SessionTimeout is how long locks outlive a client that is not heard of.
	// The servers may give another: by default they give 2 to 20 of their
	// ticks. 0 for DefaultSession.
	SessionTimeout time.Duration
	// DialTimeout bounds the opening of a session, and a request whose context
	// does not end before; 0 for DefaultDialTimeout.
	DialTimeout time.Duration
	// ResolveTimeout bounds the extra time spent on finding out what a request
	// did whose reply was lost; 0 for DefaultResolveTimeout.
	ResolveTimeout time.Duration
}

// ZooKeeperClient is one session with a ZooKeeper ensemble, over one
// connection to one of its servers. It is replaced by another when it ends.
type ZooKeeperClient struct {
	config ZooKeeperConfig // complete
	name   string          // the servers, for messages
	acl    []zk.ACL

	seed      string // the first part of each attempt's GUID, random
	attempts  atomic.Uint64
	sessions  *keeper[*zooKeeperSession]
	abandoned *sweeper[zooKeeperAttempt]
	closing   context.Context // ends the goroutines of the two above
	close     context.CancelFunc
}

// OpenZooKeeper opens a session, within the DialTimeout.
func OpenZooKeeper(ctx context.Context, config ZooKeeperConfig) (*ZooKeeperClient, error) {
	c, err := newZooKeeperClient(config)
	if err != nil {
		return nil, err
	}
	first, err := c.openSession(ctx)
	if err != nil {
		c.close()
		return nil, err
	}
	c.sessions = keep(c.closing, first, c.openSession)
	c.abandoned = startSweeper(c.closing, zooKeeperSweepBatch, c.sweep)
	return c, nil
}

func newZooKeeperClient(config ZooKeeperConfig) (*ZooKeeperClient, error) {
	if config.Root == "" {
		config.Root = DefaultZooKeeperRoot
	}
	switch {
	case len(config.Servers) == 0:
		return nil, errors.New("ZooKeeper client: no servers")
	case (config.AuthScheme == "") != (config.Auth == ""):
		return nil, errors.New("ZooKeeper client: of the scheme and the credentials to log in with, one is missing")
	case config.SessionTimeout < 0 || config.DialTimeout < 0 || config.ResolveTimeout < 0:
		return nil, errors.New("ZooKeeper client: a timeout below 0")
	case !strings.HasPrefix(config.Root, "/") || strings.HasSuffix(config.Root, "/"):
		return nil, fmt.Errorf("ZooKeeper client: root %q is no path of a node below /, such as %s", config.Root, DefaultZooKeeperRoot)
	}
	config.SessionTimeout = orDefault(config.SessionTimeout, DefaultSession)
	config.DialTimeout = orDefault(config.DialTimeout, DefaultDialTimeout)
	config.ResolveTimeout = orDefault(config.ResolveTimeout, DefaultResolveTimeout)
	var seed [12]byte
	rand.Read(seed[:]) // never fails, see its documentation
	c := &ZooKeeperClient{
		config: config,
		name:   strings.Join(config.Servers, ", "),
		acl:    zk.WorldACL(zk.PermAll),
		seed:   hex.EncodeToString(seed[:]),
	}
	if config.AuthScheme != "" {
		c.acl = zk.AuthACL(zk.PermAll)
	}
	c.closing, c.close = context.WithCancel(context.Background())
	return c, nil
}

// Close ends the session, and with it every lock, and the connection. It
// takes at most the ResolveTimeout: where no server answers, the session
// stays until its timeout.
func (c *ZooKeeperClient) Close() error {
	current, _, _ := c.sessions.state()
	alive := !current.over()
	current.lose(ErrClosed)
	c.close()
	<-c.sessions.done
	<-c.abandoned.done
	if next, _, _ := c.sessions.state(); next != current { // opened meanwhile
		next.lose(ErrClosed)
		current = next
	}
	if !alive {
		return nil
	}
	select {
	case <-current.closed:
		return nil
	case <-time.After(c.config.ResolveTimeout):
		return fmt.Errorf("closing the session with ZooKeeper at %s: no answer within %v; it stays until its timeout", c.name, c.config.ResolveTimeout)
	}
}

// Name is the servers' addresses, for messages.
func (c *ZooKeeperClient) Name() string { return c.name }

// bounded is ctx, for a request that must not take forever.
func (c *ZooKeeperClient) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.config.DialTimeout)
}

// later is a context for what is left to do after ctx.
func (c *ZooKeeperClient) later(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), c.config.ResolveTimeout)
}
