package lock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Defaults of an EtcdConfig and of a ZooKeeperConfig, beside those of a Config.
const (
	DefaultSession    = 10 * time.Second
	DefaultEtcdPrefix = "lockcost/"
)

// EtcdConfig says which etcd to talk to, and how.
type EtcdConfig struct {
	Endpoints          []string // host:port of the members; their list is taken as given
	Username, Password string   // both "" for none
	TLS                *tls.Config
	// Prefix is that of every key; "" for DefaultEtcdPrefix.
	Prefix string
	// TTL is the lease's: how long locks outlive a client that is not heard
	// of. It is rounded up to whole seconds, and the cluster has a least one:
	// one and a half election timeouts. 0 for DefaultSession.
	TTL time.Duration
	// DialTimeout bounds the opening of a connection, and a request whose
	// context does not end before; 0 for DefaultDialTimeout.
	DialTimeout time.Duration
	// ResolveTimeout bounds the extra time spent on undoing what a request
	// did whose reply was lost; 0 for DefaultResolveTimeout. It runs even if
	// the request's context is over.
	ResolveTimeout time.Duration
}

// EtcdClient is one client of an etcd cluster with one session: its lockers
// share a connection to each member, and a lease.
type EtcdClient struct {
	etcd   *clientv3.Client
	name   string // the members, for messages
	user   string
	prefix string
	ttl    int64 // seconds

	dialTimeout    time.Duration
	resolveTimeout time.Duration

	attempts  atomic.Uint64
	sessions  *keeper[*etcdSession]
	abandoned *sweeper[etcdAttempt]
	closing   context.Context // ends the goroutines of the three above
	close     context.CancelFunc
}

// The library finds out that a member is silent, rather than gone, by pings.
// gRPC allows no shorter time between two than this one.
const (
	etcdPingEvery   = 10 * time.Second
	etcdPingTimeout = 3 * time.Second
)

// reconnects are gRPC's pauses between two attempts to connect to a member.
// Its own rise to two minutes: a member that is back would be found that much
// later, and that would be measured as the failover's.
var reconnects = backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}

// OpenEtcd connects, logs in where there is a user, and opens a session: all
// within the DialTimeout.
func OpenEtcd(ctx context.Context, config EtcdConfig) (*EtcdClient, error) {
	c, err := newEtcdClient(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.dialTimeout)
	defer cancel()
	if err := c.connect(ctx, config); err != nil {
		c.close()
		return nil, fmt.Errorf("cannot use etcd at %s: %w%s", c.name, err, unreachable(config.Endpoints))
	}
	first, err := c.openSession(ctx)
	if err != nil {
		c.close()
		c.etcd.Close()
		return nil, fmt.Errorf("cannot use etcd at %s: %w%s", c.name, err, unreachable(config.Endpoints))
	}
	c.sessions = keep(c.closing, first, func(ctx context.Context) (*etcdSession, error) {
		// A member that is stopped holds up one try, and not the next.
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return c.openSession(ctx)
	})
	c.abandoned = startSweeper(c.closing, etcdSweepBatch, c.bury)
	return c, nil
}

// unreachable says of which endpoints there is no connection, and why: the
// library tries until the time is over, and then says only that. "" for none.
func unreachable(endpoints []string) string {
	reasons := make([]string, len(endpoints))
	var all sync.WaitGroup
	for i, endpoint := range endpoints {
		all.Go(func() {
			_, addr, found := strings.Cut(endpoint, "://")
			if !found {
				addr = endpoint
			}
			conn, err := net.DialTimeout("tcp", addr, unreachableAfter)
			if err != nil {
				reasons[i] = "; " + err.Error()
				return
			}
			conn.Close()
		})
	}
	all.Wait()
	return strings.Join(reasons, "")
}

const unreachableAfter = 500 * time.Millisecond

func newEtcdClient(config EtcdConfig) (*EtcdClient, error) {
	switch {
	case len(config.Endpoints) == 0:
		return nil, errors.New("etcd client: no endpoints")
	case config.TTL < 0 || config.DialTimeout < 0 || config.ResolveTimeout < 0:
		return nil, errors.New("etcd client: a TTL or timeout below 0")
	}
	c := &EtcdClient{
		name:           strings.Join(config.Endpoints, ", "),
		user:           config.Username,
		prefix:         config.Prefix,
		ttl:            int64((orDefault(config.TTL, DefaultSession) + time.Second - 1) / time.Second),
		dialTimeout:    orDefault(config.DialTimeout, DefaultDialTimeout),
		resolveTimeout: orDefault(config.ResolveTimeout, DefaultResolveTimeout),
	}
	if c.prefix == "" {
		c.prefix = DefaultEtcdPrefix
	}
	c.closing, c.close = context.WithCancel(context.Background())
	return c, nil
}

// connect makes the library's client, which has no connection yet, except to
// log in. The library takes the scheme of each endpoint as whether to use TLS.
func (c *EtcdClient) connect(ctx context.Context, config EtcdConfig) error {
	endpoints := make([]string, len(config.Endpoints))
	for i, endpoint := range config.Endpoints {
		endpoints[i] = endpoint
		if config.TLS != nil && !strings.Contains(endpoint, "://") {
			endpoints[i] = "https://" + endpoint
		}
	}
	var err error
	made := make(chan struct{})
	go func() { // logging in takes no context of ours
		defer close(made)
		c.etcd, err = clientv3.New(clientv3.Config{
			Endpoints:            endpoints,
			Username:             config.Username,
			Password:             config.Password,
			TLS:                  config.TLS,
			DialTimeout:          c.dialTimeout,
			DialKeepAliveTime:    etcdPingEvery,
			DialKeepAliveTimeout: etcdPingTimeout,
			PermitWithoutStream:  true,
			Context:              c.closing,
			Logger:               zap.NewNop(),
			DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: reconnects, MinConnectTimeout: c.dialTimeout,
			})},
		})
	}()
	select {
	case <-made:
	case <-ctx.Done():
		c.close() // which ends it
		<-made
	}
	if err != nil {
		return etcdFailure(err)
	}
	return nil
}

// Close gives up the session, and with it every lock, and ends the
// connections. It takes at most the ResolveTimeout: where the cluster does not
// answer, the lease stays until its TTL.
func (c *EtcdClient) Close() error {
	current, _, _ := c.sessions.state()
	alive := !current.over()
	current.lose(ErrClosed)
	c.close()
	<-c.sessions.done
	<-c.abandoned.done
	var revoked error
	if alive {
		ctx, cancel := context.WithTimeout(context.Background(), c.resolveTimeout)
		defer cancel()
		if _, err := c.etcd.Revoke(ctx, current.id); err != nil && !etcdLeaseGone(err) {
			revoked = fmt.Errorf("giving up the lease on etcd at %s, which stays until its TTL: %w", c.name, etcdFailure(err))
		}
	}
	// The library reports the end of its own context, which we have ended.
	if err := c.etcd.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return errors.Join(revoked, fmt.Errorf("closing connections to etcd at %s: %w", c.name, err))
	}
	return revoked
}

// Name is the members' addresses, for messages.
func (c *EtcdClient) Name() string { return c.name }

// bounded is ctx, for a request that must not take forever.
func (c *EtcdClient) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.dialTimeout)
}

// later is a context for what is left to do after ctx.
func (c *EtcdClient) later(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), c.resolveTimeout)
}
