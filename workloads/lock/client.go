package lock

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"lockcost/workloads/pool"
)

// Defaults of a Config.
const (
	DefaultPoolSize       = 64
	DefaultReadTimeout    = 5 * time.Second
	DefaultDialTimeout    = 5 * time.Second
	DefaultResolveTimeout = time.Second
)

// bufferBytes is the size of each connection's two buffers. The library's
// 32 KiB would cost 256 MB at 4096 connections; no reply here is that long.
const bufferBytes = 4 << 10

// Config says which Redis to talk to, and how.
type Config struct {
	// Primary is the host:port of the primary. It is not used where
	// Sentinels are given: they are asked for it, for each new connection.
	Primary    string
	Sentinels  []string // host:port
	MasterName string   // as the Sentinels call it
	// Via maps addresses of Redis servers to those to dial in their place:
	// the servers are known by the first everywhere else.
	Via map[string]string

	Username, Password                 string // of the Redis servers
	SentinelUsername, SentinelPassword string // of the Sentinels
	DB                                 int
	TLS                                *tls.Config // of the Redis servers and the Sentinels; nil for none

	// PoolSize is the number of connections, 0 for DefaultPoolSize. More
	// callers than that stand in line, and their wait goes into the
	// pool.Trace of their context.
	PoolSize int
	// ReadTimeout is how long a reply may take where the context does not
	// end before; 0 for DefaultReadTimeout. It must exceed WAIT's timeout.
	ReadTimeout time.Duration
	// DialTimeout bounds the opening of a connection; 0 for DefaultDialTimeout.
	DialTimeout time.Duration
	// ResolveTimeout bounds the extra time spent on finding out, or undoing,
	// what an operation did whose reply was lost; 0 for
	// DefaultResolveTimeout. It runs even if the operation's context is
	// over, and the operation keeps its connection meanwhile.
	ResolveTimeout time.Duration
}

// Client is a set of connections to one Redis primary, shared by lockers.
type Client struct {
	redis   *redis.Client
	gate    *pool.Gate
	name    string // the server, for error messages
	user    string // the ACL user, for error messages
	filling sync.Mutex

	readTimeout    time.Duration
	resolveTimeout time.Duration

	session string // the first part of each owner value, random
	owners  atomic.Uint64
}

// The library reports connection failures to stderr as well as to its
// callers, thousands of lines in a failover. Their errors say the same.
func init() { logging.Disable() }

// Open prepares a client and asks the server for a first sign of life.
// Connections are opened as they are needed, or all at once by Fill.
func Open(ctx context.Context, config Config) (*Client, error) {
	c, err := newClient(config)
	if err != nil {
		return nil, err
	}
	if err := c.hello(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func newClient(config Config) (*Client, error) {
	size := config.PoolSize
	if size == 0 {
		size = DefaultPoolSize
	}
	if size < 0 || config.ReadTimeout < 0 || config.DialTimeout < 0 || config.ResolveTimeout < 0 {
		return nil, errors.New("lock client: a size or timeout below 0")
	}
	config.PoolSize = size
	config.ReadTimeout = orDefault(config.ReadTimeout, DefaultReadTimeout)
	config.DialTimeout = orDefault(config.DialTimeout, DefaultDialTimeout)
	var seed [8]byte
	rand.Read(seed[:]) // never fails, see its documentation
	c := &Client{
		gate:           pool.NewGate(size),
		name:           config.Primary,
		user:           config.Username,
		readTimeout:    config.ReadTimeout,
		resolveTimeout: orDefault(config.ResolveTimeout, DefaultResolveTimeout),
		session:        hex.EncodeToString(seed[:]) + "-",
	}
	switch {
	case len(config.Sentinels) > 0 && config.MasterName == "":
		return nil, errors.New("lock client: Sentinels without the name of the master they watch")
	case len(config.Sentinels) > 0:
		c.name = fmt.Sprintf("primary of %s, as told by %s", config.MasterName, strings.Join(config.Sentinels, ", "))
		c.redis = redis.NewFailoverClient(failoverOptions(config))
	case config.Primary == "":
		return nil, errors.New("lock client: neither a primary's address nor Sentinels")
	default:
		c.redis = redis.NewClient(directOptions(config))
	}
	if c.user == "" {
		c.user = "default"
	}
	return c, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// hello makes one round trip. A user without the right to PING has been
// authenticated all the same.
func (c *Client) hello(ctx context.Context) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	err := c.redis.Ping(ctx).Err()
	if err != nil && !redis.IsPermissionError(err) {
		return fmt.Errorf("cannot use redis at %s: %w", c.name, err)
	}
	return nil
}

// Close ends every connection.
func (c *Client) Close() error {
	if err := c.redis.Close(); err != nil {
		return fmt.Errorf("closing connections to %s: %w", c.name, err)
	}
	return nil
}

// Name is the server's address, or how it is found, for messages.
func (c *Client) Name() string { return c.name }

// PoolWait is how long callers have stood in line for a connection so far,
// added up.
func (c *Client) PoolWait() time.Duration { return c.gate.Waited() }

// InUse is how many connections are in use.
func (c *Client) InUse() int { return c.gate.InUse() }

// PoolSize is the number of connections.
func (c *Client) PoolSize() int { return c.gate.Size() }

// enter takes a place at the gate, unless ctx is over. Each use of a
// connection is between enter and leave, one connection at a time, so that
// the library's own pool, which is of the gate's size, never makes it wait.
func (c *Client) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return c.gate.Enter(ctx)
}

func (c *Client) leave() { c.gate.Leave() }

// newOwner returns a value that no other acquisition has, of this or of any
// other client: a lock's key holds it, and only its owner deletes the key.
func (c *Client) newOwner() string {
	buffer := make([]byte, 0, 40)
	buffer = append(buffer, c.session...)
	return string(strconv.AppendUint(buffer, c.owners.Add(1), 36))
}
