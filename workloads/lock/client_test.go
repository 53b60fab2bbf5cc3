package lock_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/workloads/lock"
	"lockcost/workloads/pool"
)

func TestFillOpensEveryConnection(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{PoolSize: 100, Primary: s.Redis.Primary})
	before := s.infoField(t, "total_connections_received")
	for range 2 { // the second finds all open
		if err := client.Fill(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	after := s.infoField(t, "total_connections_received")
	if opened := must(s.raw.ClientList(t.Context()).Result())(t); strings.Count(opened, "id=") < 100 {
		t.Errorf("too few connections:\n%s", opened)
	}
	for _, way := range ways { // none opens another, pipelines included
		var running sync.WaitGroup
		for range 100 {
			running.Go(func() {
				locker, err := way.of(client)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := locker.TryLock(t.Context(), prefix+way.name, time.Second); err != nil && err != lock.ErrHeld {
					t.Errorf("%s: %v", way.name, err)
				}
			})
		}
		running.Wait()
	}
	if now := s.infoField(t, "total_connections_received"); now != after {
		t.Errorf("%s connections before Fill, %s after it, %s after locking", before, after, now)
	}
}

func TestFillFails(t *testing.T) {
	s := start(t, env.Spec{})
	client := s.open(t, lock.Config{PoolSize: 8})
	if err := s.link.Close(); err != nil {
		t.Fatal(err)
	}
	err := client.Fill(t.Context())
	if kind := lock.Kind(err); kind != "redis-connection" {
		t.Errorf("got %v (%s), want redis-connection", err, kind)
	}
}

func TestNoErrorReplies(t *testing.T) {
	s := startWithReplica(t)
	if err := s.raw.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	client := s.open(t, lock.Config{})
	if err := client.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := lock.Check(t.Context(), client, lock.Needs{Path: "all", Replicas: 1, Tokens: true, Prefix: prefix}); err != nil {
		t.Fatal(err)
	}
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		for range 3 {
			lease := must(locker.TryLock(t.Context(), key, time.Second))(t)
			if _, err := locker.TryLock(t.Context(), key, time.Second); err != lock.ErrHeld {
				t.Errorf("got %v, want ErrHeld", err)
			}
			if err := lease.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	if n := s.infoField(t, "total_error_replies"); n != "0" {
		t.Errorf("%s error replies: NOSCRIPT %s, ERR %s", n, s.infoField(t, "errorstat_NOSCRIPT"), s.infoField(t, "errorstat_ERR"))
	}
}

// blocked is how many connections of the primary's are in WAIT.
func (s *server) blocked(t *testing.T) string { return s.infoField(t, "blocked_clients") }

// Each caller waits for its own write on its own connection: both are in
// WAIT at the same time.
func TestTwoCallersDoNotSerialize(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{PoolSize: 2, ReadTimeout: 2 * patience})
	locker := must(lock.NewSetNXWait(client, lock.WaitOptions{Replicas: 1, Timeout: patience}))(t)
	if err := s.Faults.Pause("replica-1"); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for _, key := range []string{"a", "b"} {
		running.Go(func() {
			if _, err := locker.TryLock(t.Context(), prefix+key, 2*patience); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "both callers are in WAIT", func() bool { return s.blocked(t) == "2" })
	if err := s.Faults.Resume("replica-1"); err != nil {
		t.Fatal(err)
	}
	running.Wait()
}

func TestWaitForAConnectionIsTraced(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{PoolSize: 1, ReadTimeout: 2 * patience})
	holder := must(lock.NewSetNXWait(client, lock.WaitOptions{Replicas: 1, Timeout: patience}))(t)
	if err := s.Faults.Pause("replica-1"); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if _, err := holder.TryLock(t.Context(), prefix+"holder", 2*patience); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the only connection is in WAIT", func() bool { return s.blocked(t) == "1" })
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		var trace pool.Trace
		ctx, cancel := context.WithTimeout(pool.WithTrace(t.Context(), &trace), 5*time.Millisecond)
		defer cancel()
		_, err := locker.TryLock(ctx, key, time.Second)
		if kind := lock.Kind(err); kind != "pool-timeout" {
			t.Errorf("got %v (%s), want pool-timeout", err, kind)
		}
		if trace.Wait <= 0 {
			t.Error("no wait was traced")
		}
		if s.exists(t, key) {
			t.Error("key is there")
		}
	})
	if err := s.Faults.Resume("replica-1"); err != nil {
		t.Fatal(err)
	}
	running.Wait()
}

func TestCloseLeavesNoGoroutines(t *testing.T) {
	s := start(t, env.Spec{Replicas: 1, Sentinels: 3})
	for name, config := range map[string]lock.Config{
		"direct":    {Primary: s.Redis.Primary, PoolSize: 20},
		"sentinels": {Sentinels: s.Redis.Sentinels, MasterName: s.Redis.MasterName, PoolSize: 20},
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			client := must(lock.Open(t.Context(), config))(t)
			if err := client.Fill(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := client.Close(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
		})
	}
}

// A client that has been told so by the Sentinels goes on with the promoted
// replica, which has none of our scripts.
func TestFailover(t *testing.T) {
	s := start(t, env.Spec{Replicas: 2, Sentinels: 3, DownAfter: 500 * time.Millisecond})
	client := open(t, lock.Config{
		Sentinels: s.Redis.Sentinels, MasterName: s.Redis.MasterName, PoolSize: 4,
		ResolveTimeout: 50 * time.Millisecond,
	})
	if err := client.LoadScripts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := lock.Check(t.Context(), client, lock.Needs{Path: "setnx", Prefix: prefix}); err != nil {
		t.Fatal(err)
	}
	if err := client.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Faults.Kill("primary"); err != nil {
		t.Fatal(err)
	}
	for _, way := range ways {
		locker := must(way.of(client))(t)
		eventually(t, way.name+" is granted by the promoted replica", func() bool {
			lease, err := locker.TryLock(t.Context(), prefix+way.name, 30*time.Second)
			if err != nil {
				if kind := lock.Kind(err); kind == "other" || kind == "" {
					t.Errorf("no kind for %v", err)
				}
				return false
			}
			if err := lease.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
			return true
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, config := range map[string]lock.Config{
		"nothing":                 {},
		"Sentinels without name":  {Sentinels: []string{"127.0.0.1:1"}},
		"negative pool":           {Primary: "127.0.0.1:1", PoolSize: -1},
		"nobody at the address":   {Primary: "127.0.0.1:1"},
		"nobody at the Sentinels": {Sentinels: []string{"127.0.0.1:1"}, MasterName: "mymaster"},
	} {
		client, err := lock.Open(t.Context(), config)
		if err == nil {
			client.Close()
			t.Errorf("%s: opened", name)
		}
	}
}
