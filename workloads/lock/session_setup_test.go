package lock_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"lockcost/env"
	"lockcost/env/process/processtest"
	"lockcost/workloads/lock"
)

// quorumClient is a client of a lock service with sessions.
type quorumClient interface {
	Name() string
	Minter() lock.Minter
	Check(context.Context) error
	RemoveAll(context.Context) error
	Close() error
}

// sessions is one of the services, in a running stack.
type sessions struct {
	*env.Stack
	node    string // what its nodes' names begin with
	servers []string
	// connect opens a client of servers.
	connect func(ctx context.Context, servers []string, session time.Duration) (quorumClient, lock.Queuer, error)
	// left counts what is there of a lock: its holder's, and those of waiters.
	left func(t *testing.T, key string) int
	// leader is the name of the leader as those servers see it that are not in
	// without; "" where they do not agree.
	leader func(ctx context.Context, without string) string
}

// Sessions of clients in tests: one that lasts, and the shortest that
// startSessions admits.
const (
	longSession  = 20 * time.Second
	shortSession = time.Second
)

// forEachSessionService runs test with each service, of three servers each.
func forEachSessionService(t *testing.T, spec env.Spec, test func(t *testing.T, s *sessions)) {
	spec.NoRedis, spec.Durability, spec.LeastSession = true, env.Relaxed, shortSession
	for name, start := range map[string]func(*testing.T, env.Spec) *sessions{"etcd": startEtcd, "zookeeper": startZooKeeper} {
		t.Run(name, func(t *testing.T) { test(t, start(t, spec)) })
	}
}

// escaped is a key as it is in the services' names.
func escaped(key string) string { return url.PathEscape(key) }

func startEtcd(t *testing.T, spec env.Spec) *sessions {
	spec.Etcd = max(spec.Etcd, 3)
	stack := processtest.Start(t, spec)
	raw := rawEtcd(t, stack.Etcd.Endpoints, "", "")
	return &sessions{
		Stack: stack, node: "etcd", servers: stack.Etcd.Endpoints,
		connect: func(ctx context.Context, servers []string, session time.Duration) (quorumClient, lock.Queuer, error) {
			c, err := lock.OpenEtcd(ctx, lock.EtcdConfig{Endpoints: servers, Prefix: prefix, TTL: session})
			if err != nil {
				return nil, nil, err
			}
			return c, lock.NewEtcd(c), nil
		},
		left: func(t *testing.T, key string) int {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			return int(must(raw.Get(ctx, prefix+escaped(key)+"/", clientv3.WithPrefix(), clientv3.WithCountOnly()))(t).Count)
		},
		leader: func(ctx context.Context, without string) string {
			leader, names := "", map[string]string{}
			for i, at := range stack.Etcd.Endpoints {
				name := fmt.Sprintf("etcd-%d", i+1)
				if name == without {
					continue
				}
				m, err := stack.Etcd.Member(ctx, at)
				if err != nil || m.Leader == "" || leader != "" && m.Leader != leader {
					return ""
				}
				leader, names[m.ID] = m.Leader, name
			}
			return names[leader]
		},
	}
}

func rawEtcd(t *testing.T, endpoints []string, user, password string) *clientv3.Client {
	t.Helper()
	raw := must(clientv3.New(clientv3.Config{
		Endpoints: endpoints, Username: user, Password: password, Logger: zap.NewNop(), DialTimeout: patience,
	}))(t)
	t.Cleanup(func() { raw.Close() })
	return raw
}

// zooRoot is the root of the tests' locks.
const zooRoot = "/lockcost/test"

func startZooKeeper(t *testing.T, spec env.Spec) *sessions {
	spec.ZooKeeper = max(spec.ZooKeeper, 3)
	stack := processtest.Start(t, spec)
	raw := rawZooKeeper(t, stack.ZooKeeper.Servers)
	return &sessions{
		Stack: stack, node: "zookeeper", servers: stack.ZooKeeper.Servers,
		connect: func(ctx context.Context, servers []string, session time.Duration) (quorumClient, lock.Queuer, error) {
			c, err := lock.OpenZooKeeper(ctx, lock.ZooKeeperConfig{Servers: servers, Root: zooRoot, SessionTimeout: session})
			if err != nil {
				return nil, nil, err
			}
			return c, lock.NewZooKeeper(c), nil
		},
		left: func(t *testing.T, key string) int {
			t.Helper()
			for deadline := time.Now().Add(patience); ; {
				_, err := raw.Sync("/")
				children, _, got := raw.Children(zooRoot + "/" + escaped(key))
				if got == zk.ErrNoNode {
					return 0
				}
				if err == nil && got == nil {
					return len(children)
				}
				if time.Now().After(deadline) {
					t.Fatal(err, got)
				}
			}
		},
		leader: func(ctx context.Context, without string) string {
			leader := ""
			for i, at := range stack.ZooKeeper.Servers {
				name := fmt.Sprintf("zookeeper-%d", i+1)
				if name == without {
					continue
				}
				mode, err := stack.ZooKeeper.Mode(ctx, at)
				if err != nil || mode == "leader" && leader != "" {
					return ""
				}
				if mode == "leader" {
					leader = name
				}
			}
			return leader
		},
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func rawZooKeeper(t *testing.T, servers []string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(servers, longSession, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// open returns a client of the service's servers.
func (s *sessions) open(t *testing.T, session time.Duration) (quorumClient, lock.Queuer) {
	t.Helper()
	return s.openAt(t, s.servers, session)
}

func (s *sessions) openAt(t *testing.T, servers []string, session time.Duration) (quorumClient, lock.Queuer) {
	t.Helper()
	client, queuer, err := s.connect(t.Context(), servers, session)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() }) // whose servers may be gone
	return client, queuer
}

// openAway returns a client that reaches the servers by links of its own.
func (s *sessions) openAway(t *testing.T, session time.Duration) lock.Queuer {
	t.Helper()
	var servers []string
	for _, node := range s.nodes() {
		servers = append(servers, s.Network.Address(env.Clients[0], node))
	}
	_, queuer := s.openAt(t, servers, session)
	return queuer
}

// nodes are the names of the service's servers.
func (s *sessions) nodes() []string {
	var names []string
	for _, n := range s.Nodes {
		if strings.HasPrefix(n.Name, s.node) {
			names = append(names, n.Name)
		}
	}
	return names
}

// cutOff has nothing pass any more between the client of openAway and the
// servers; connections stay open. mend has what was held back pass.
func (s *sessions) cutOff(t *testing.T) (mend func()) {
	t.Helper()
	for _, node := range s.nodes() {
		way := env.Way{From: env.Clients[0], To: node}
		if err := s.Network.Set(t.Context(), way, env.WayState{HoldRequests: true, HoldReplies: true}); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		if err := s.Network.Mend(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// within is a context for what must come to an end.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// lockAside starts Lock in a goroutine.
func lockAside(ctx context.Context, queuer lock.Queuer, key string) <-chan grant {
	granted := make(chan grant, 1)
	go func() {
		lease, err := queuer.Lock(ctx, key, 0)
		granted <- grant{lease, err}
	}()
	return granted
}

type grant struct {
	lease lock.Lease
	err   error
}

// got waits for the outcome of lockAside.
func got(t *testing.T, granted <-chan grant) grant {
	t.Helper()
	select {
	case g := <-granted:
		return g
	case <-time.After(patience):
		t.Fatal("Lock does not return")
		return grant{}
	}
}
