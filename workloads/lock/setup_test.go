package lock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/env"
	"lockcost/env/link"
	"lockcost/env/process/processtest"
	"lockcost/workloads/lock"
)

// prefix is that of every key of these tests.
const prefix = "lockcost:test:"

// patience bounds what a test waits for; nothing depends on how long it took.
const patience = 30 * time.Second

// server is a running Redis with a link in front of its primary.
type server struct {
	*env.Stack
	raw  *redis.Client // past the link
	link *link.Link
}

func start(t *testing.T, spec env.Spec) *server {
	t.Helper()
	stack := processtest.Start(t, spec)
	l, err := link.New(stack.Redis.Primary)
	if err != nil {
		t.Fatal(err)
	}
	raw := rawClient(t, stack.Redis.Primary)
	t.Cleanup(func() { l.Close() })
	return &server{Stack: stack, raw: raw, link: l}
}

// startWithReplica starts a primary and a replica that is online.
func startWithReplica(t *testing.T) *server {
	t.Helper()
	return start(t, env.Spec{Replicas: 1})
}

func rawClient(t *testing.T, addr string) *redis.Client {
	t.Helper()
	raw := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true, Protocol: 2})
	t.Cleanup(func() { raw.Close() })
	return raw
}

// open returns a client through the link, with a pool of 4 unless config
// says otherwise.
func (s *server) open(t *testing.T, config lock.Config) *lock.Client {
	t.Helper()
	if config.Primary == "" {
		config.Primary = s.link.Addr()
	}
	if config.PoolSize == 0 {
		config.PoolSize = 4
	}
	client := open(t, config)
	if err := client.LoadScripts(t.Context()); err != nil {
		t.Fatal(err)
	}
	return client
}

func open(t *testing.T, config lock.Config) *lock.Client {
	t.Helper()
	client, err := lock.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// waitTimeout is WAIT's where the replica runs: a busy machine is no failure.
const waitTimeout = 4 * time.Second

// ways is every locker in Redis, in every form.
var ways = []struct {
	name     string
	replicas int
	tokens   bool
	pool     int // connections that it needs; 0 for one
	of       func(*lock.Client) (lock.Locker, error)
}{
	{name: "setnx", of: func(c *lock.Client) (lock.Locker, error) { return lock.NewSetNX(c, lock.FormCommand) }},
	{name: "setnx form=script", of: func(c *lock.Client) (lock.Locker, error) { return lock.NewSetNX(c, lock.FormScript) }},
	{name: "setnx-wait", replicas: 1, of: func(c *lock.Client) (lock.Locker, error) {
		return lock.NewSetNXWait(c, lock.WaitOptions{Replicas: 1, Timeout: waitTimeout, RoundTrips: 1})
	}},
	{name: "setnx-wait round-trips=2", replicas: 1, of: func(c *lock.Client) (lock.Locker, error) {
		return lock.NewSetNXWait(c, lock.WaitOptions{Replicas: 1, Timeout: waitTimeout, RoundTrips: 2})
	}},
	{name: "setnx-wait shared", replicas: 1, pool: 2, of: func(c *lock.Client) (lock.Locker, error) {
		return lock.NewSetNXWait(c, lock.WaitOptions{Replicas: 1, Timeout: waitTimeout, Shared: true})
	}},
	{name: "watchdog", of: func(c *lock.Client) (lock.Locker, error) {
		return lock.NewWatchdog(c, lock.WatchdogOptions{}), nil
	}},
	{name: "watchdog notify", of: func(c *lock.Client) (lock.Locker, error) {
		return lock.NewWatchdog(c, lock.WatchdogOptions{Notify: true}), nil
	}},
	{name: "fencing-wait", replicas: 1, tokens: true, of: func(c *lock.Client) (lock.Locker, error) {
		return lock.NewFencingWait(c, prefix, lock.WaitOptions{Replicas: 1, Timeout: waitTimeout})
	}},
	{name: "fencing-wait round-trips=2", replicas: 1, tokens: true, of: func(c *lock.Client) (lock.Locker, error) {
		return lock.NewFencingWait(c, prefix, lock.WaitOptions{Replicas: 1, Timeout: waitTimeout, RoundTrips: 2})
	}},
	{name: "fencing", tokens: true, of: func(c *lock.Client) (lock.Locker, error) { return lock.NewFencing(c, prefix), nil }},
	{name: "fencing by another minter", tokens: true, of: func(c *lock.Client) (lock.Locker, error) {
		locker, err := lock.NewSetNX(c, lock.FormCommand)
		return lock.WithMinter(locker, new(counter)), err
	}},
}

// forEach runs test with each locker that client has connections enough for,
// on a key of its own.
func forEach(t *testing.T, client *lock.Client, test func(t *testing.T, locker lock.Locker, key string)) {
	for _, way := range ways {
		if way.pool > client.PoolSize() {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			test(t, must(way.of(client))(t), prefix+t.Name())
		})
	}
}

// counter mints 1, 2, 3 and so on.
type counter struct{ atomic.Uint64 }

func (c *counter) Mint(context.Context) (uint64, error) { return c.Add(1), nil }

// must is for calls that return a value and an error.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// lockLosing makes one attempt at a lock, of which the replies with these
// numbers, in rising order, are lost on the way. Replies that came together
// were fewer: then it tries again.
func (s *server) lockLosing(t *testing.T, locker lock.Locker, key string, numbers ...int) (lock.Lease, error) {
	t.Helper()
	for {
		var happened <-chan struct{}
		for _, n := range numbers {
			happened = s.link.CutReply(n)
		}
		lease, err := locker.TryLock(t.Context(), key, 30*time.Second)
		select {
		case <-happened:
			return lease, err
		default:
			s.link.Mend()
		}
		if err == nil {
			if err := lease.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// exists tells whether the primary has key.
func (s *server) exists(t *testing.T, key string) bool {
	t.Helper()
	return must(s.raw.Exists(t.Context(), key).Result())(t) == 1
}

// eventually waits for a state of the servers that nothing tells of.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// infoField is one field of the primary's INFO.
func (s *server) infoField(t *testing.T, name string) string {
	t.Helper()
	return env.ParseInfo(must(s.raw.Info(t.Context(), "everything").Result())(t))[name]
}
