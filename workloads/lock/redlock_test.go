package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/env"
	"lockcost/env/process/processtest"
	"lockcost/workloads/lock"
	"lockcost/workloads/pool"
)

// nodes are Redis servers that know nothing of each other.
type nodes struct {
	*env.Stack
	raw     []*redis.Client
	clients []*lock.Client
}

func startNodes(t *testing.T, n int, config lock.Config) *nodes {
	t.Helper()
	s := &nodes{Stack: processtest.Start(t, env.Spec{NoRedis: true, Independents: n})}
	for _, addr := range s.Independents {
		config.Primary, config.PoolSize = addr, 4
		client := open(t, config)
		if err := client.LoadScripts(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.raw, s.clients = append(s.raw, rawClient(t, addr)), append(s.clients, client)
	}
	return s
}

func (s *nodes) redlock(t *testing.T, options lock.RedlockOptions) *lock.Redlock {
	t.Helper()
	return must(lock.NewRedlock(s.clients, options))(t)
}

// do is one of Faults on some nodes, which are numbered from 1.
func (s *nodes) do(t *testing.T, fault func(string) error, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if err := fault(fmt.Sprintf("independent-%d", n)); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *nodes) restart(t *testing.T, numbers ...int) {
	t.Helper()
	s.do(t, func(node string) error {
		_, err := s.Faults.Restart(t.Context(), node)
		return err
	}, numbers...)
}

// having is which of some nodes have key.
func (s *nodes) having(t *testing.T, key string, numbers ...int) (has []int) {
	t.Helper()
	for _, n := range numbers {
		if must(s.raw[n-1].Exists(t.Context(), key).Result())(t) == 1 {
			has = append(has, n)
		}
	}
	return has
}

// mustBeFree waits until none of some nodes has key: with FailFast the last
// are heard after an answer has been given.
func (s *nodes) mustBeFree(t *testing.T, key string, numbers ...int) {
	t.Helper()
	eventually(t, "no node has the lock", func() bool { return s.having(t, key, numbers...) == nil })
}

// another writes another's lock at some nodes.
func (s *nodes) another(t *testing.T, key string, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if err := s.raw[n-1].Set(t.Context(), key, "another", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func forBothRedlocks(t *testing.T, s *nodes, test func(t *testing.T, locker *lock.Redlock, key string)) {
	for _, failFast := range []bool{false, true} {
		t.Run(fmt.Sprintf("fail-fast=%v", failFast), func(t *testing.T) {
			test(t, s.redlock(t, lock.RedlockOptions{FailFast: failFast}), prefix+t.Name())
		})
	}
}

// noQuorum checks an error that tells which nodes did not answer.
func (s *nodes) noQuorum(t *testing.T, err error, silent ...int) {
	t.Helper()
	if !errors.Is(err, lock.ErrNoQuorum) || errors.Is(err, lock.ErrHeld) || lock.Kind(err) != "redlock-no-quorum" {
		t.Errorf("got %v (%s), want ErrNoQuorum", err, lock.Kind(err))
		return
	}
	_, names, _ := strings.Cut(err.Error(), "none came from ")
	names, _, _ = strings.Cut(names, ": ")
	var want []string
	for _, n := range silent {
		want = append(want, s.Independents[n-1])
	}
	if all := strings.Join(want, ", "); !strings.HasPrefix(all, names) || names == "" {
		t.Errorf("%v names %q, want %q", err, names, all)
	}
}

func TestRedlock(t *testing.T) {
	s := startNodes(t, 5, lock.Config{})
	forBothRedlocks(t, s, func(t *testing.T, locker *lock.Redlock, key string) {
		lease := must(locker.TryLock(t.Context(), key, 30*time.Second))(t)
		eventually(t, "all nodes have the lock", func() bool { return len(s.having(t, key, 1, 2, 3, 4, 5)) == 5 })
		for _, raw := range s.raw {
			if ttl := must(raw.PTTL(t.Context(), key).Result())(t); ttl <= 0 || ttl > 30*time.Second {
				t.Errorf("TTL of %v, want up to 30s", ttl)
			}
		}
		if lease.Token() != 0 || lease.Alive() != nil {
			t.Errorf("token %d, alive %v: there is nobody who numbers or looks", lease.Token(), lease.Alive())
		}
		if _, err := locker.TryLock(t.Context(), key, 30*time.Second); err != lock.ErrHeld {
			t.Errorf("second lock: %v, want ErrHeld", err)
		}
		if err := lease.Unlock(t.Context()); err != nil {
			t.Errorf("unlock: %v", err)
		}
		s.mustBeFree(t, key, 1, 2, 3, 4, 5)
		if err := lease.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("second unlock: %v, want ErrLost", err)
		}
	})
	for i, raw := range s.raw {
		info := env.ParseInfo(must(raw.Info(t.Context(), "everything").Result())(t))
		if info["total_error_replies"] != "0" || info["cmdstat_pexpire"] != "" {
			t.Errorf("node %d: %s error replies, PEXPIRE %q, which is not used", i+1, info["total_error_replies"], info["cmdstat_pexpire"])
		}
	}
}

func TestRedlockIsRefusedWithTheReason(t *testing.T) {
	s := startNodes(t, 4, lock.Config{})
	for _, c := range []struct {
		clients []*lock.Client
		words   []string
	}{
		{nil, []string{"0 nodes", "3 or more"}},
		{s.clients[:1], []string{"1 node is setnx"}},
		{s.clients[:2], []string{"2 nodes", "3 or more"}},
		{s.clients, []string{"4 nodes", "even", "than 3"}},
		{[]*lock.Client{s.clients[0], s.clients[1], s.clients[0]}, []string{s.Independents[0], "twice"}},
	} {
		_, err := lock.NewRedlock(c.clients, lock.RedlockOptions{})
		refused(t, err, c.words...)
	}
	locker := must(lock.NewRedlock(s.clients[:3], lock.RedlockOptions{}))(t)
	if _, err := locker.TryLock(t.Context(), prefix+t.Name(), time.Millisecond-1); err == nil {
		t.Error("a TTL below 1 ms was accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locker.TryLock(ctx, prefix+t.Name(), time.Second); lock.Kind(err) != "canceled" {
		t.Errorf("cancelled before: %v (%s)", err, lock.Kind(err))
	}
	if has := s.having(t, prefix+t.Name(), 1, 2, 3); has != nil {
		t.Errorf("nodes %v have a lock that was refused", has)
	}
}

func TestRedlockStandsTheLossOfAMinority(t *testing.T) {
	s := startNodes(t, 5, lock.Config{})
	s.do(t, s.Faults.Kill, 2, 5)
	forBothRedlocks(t, s, func(t *testing.T, locker *lock.Redlock, key string) {
		lease := must(locker.TryLock(t.Context(), key, 30*time.Second))(t)
		if _, err := locker.TryLock(t.Context(), key, 30*time.Second); err != lock.ErrHeld {
			t.Errorf("second lock: %v, want ErrHeld", err)
		}
		if err := lease.Unlock(t.Context()); err != nil {
			t.Errorf("unlock: %v", err)
		}
		s.mustBeFree(t, key, 1, 3, 4)
	})
}

// Nodes that are down are not reported as held, whatever the others say.
func TestRedlockWithoutAMajority(t *testing.T) {
	s := startNodes(t, 5, lock.Config{})
	held := s.redlock(t, lock.RedlockOptions{})
	lease := must(held.TryLock(t.Context(), prefix+"held", 30*time.Second))(t)
	s.do(t, s.Faults.Kill, 1, 3, 4)
	forBothRedlocks(t, s, func(t *testing.T, locker *lock.Redlock, key string) {
		_, err := locker.TryLock(t.Context(), key, 30*time.Second)
		s.noQuorum(t, err, 1, 3, 4)
		s.mustBeFree(t, key, 2, 5)
		s.another(t, key, 2, 5)
		_, err = locker.TryLock(t.Context(), key, 30*time.Second)
		s.noQuorum(t, err, 1, 3, 4)
	})
	s.noQuorum(t, lease.Unlock(t.Context()), 1, 3, 4)
	s.mustBeFree(t, prefix+"held", 2, 5)
}

// Nobody answers for the nodes that are stopped: 5 % of the TTL bounds it.
func TestRedlockIsBoundedWhereNodesAreSilent(t *testing.T) {
	s := startNodes(t, 5, lock.Config{ResolveTimeout: 200 * time.Millisecond})
	s.do(t, s.Faults.Pause, 2, 4, 5)
	t.Cleanup(func() { s.do(t, s.Faults.Resume, 2, 4, 5) })
	forBothRedlocks(t, s, func(t *testing.T, locker *lock.Redlock, key string) {
		_, err := locker.TryLock(t.Context(), key, 4*time.Second)
		s.noQuorum(t, err, 2, 4, 5)
		s.mustBeFree(t, key, 1, 3)
	})
}

// The operation's context ends while silent nodes are waited for: by then
// the others have granted the lock, which redsync does not release any more.
func TestRedlockReleasesAfterTheContextEnded(t *testing.T) {
	s := startNodes(t, 5, lock.Config{ResolveTimeout: 200 * time.Millisecond})
	s.do(t, s.Faults.Pause, 2, 4, 5)
	resumed := false
	resume := func() {
		if !resumed {
			resumed = true
			s.do(t, s.Faults.Resume, 2, 4, 5)
		}
	}
	t.Cleanup(resume)
	forBothRedlocks(t, s, func(t *testing.T, locker *lock.Redlock, key string) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := locker.TryLock(ctx, key, time.Hour)
		s.noQuorum(t, err, 2, 4, 5)
		s.mustBeFree(t, key, 1, 3)
	})
	// One silent node of a minority: the others are a majority, and it is the
	// context that was too short.
	resume()
	s.do(t, s.Faults.Pause, 1)
	t.Cleanup(func() { s.do(t, s.Faults.Resume, 1) })
	locker, key := s.redlock(t, lock.RedlockOptions{}), prefix+t.Name()
	s.another(t, key, 2, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := locker.TryLock(ctx, key, time.Hour)
	if kind := lock.Kind(err); kind != "redis-timeout" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v (%s), want redis-timeout", err, kind)
	}
	s.mustBeFree(t, key, 4, 5)
	if has := s.having(t, key, 2, 3); len(has) != 2 {
		t.Errorf("another's lock is left at nodes %v, want 2 and 3", has)
	}
}

func TestRedlockUnlockAfterTheTTLRanOutAndAnotherTookIt(t *testing.T) {
	s := startNodes(t, 3, lock.Config{})
	forBothRedlocks(t, s, func(t *testing.T, locker *lock.Redlock, key string) {
		first := must(locker.TryLock(t.Context(), key, 10*time.Second))(t)
		for _, raw := range s.raw { // as if the 10 s were over
			if err := raw.PExpire(t.Context(), key, time.Millisecond).Err(); err != nil {
				t.Fatal(err)
			}
		}
		s.mustBeFree(t, key, 1, 2, 3)
		second := must(locker.TryLock(t.Context(), key, 30*time.Second))(t)
		if err := first.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) || lock.Kind(err) != "lost" {
			t.Errorf("unlock of the expired lock: %v, want ErrLost", err)
		}
		if has := s.having(t, key, 1, 2, 3); len(has) < 2 {
			t.Errorf("the other's lock is left at nodes %v only", has)
		}
		if err := second.Unlock(t.Context()); err != nil {
			t.Errorf("unlock by the other: %v", err)
		}
	})
}

// The known hole: a node that comes back without its memory grants again what
// it has granted, and two holders have a majority each.
func TestRedlockNodeRestartedEmptyLetsASecondHolderIn(t *testing.T) {
	s := startNodes(t, 5, lock.Config{})
	locker, key := s.redlock(t, lock.RedlockOptions{}), prefix+t.Name()
	s.do(t, s.Faults.Kill, 4, 5)
	first := must(locker.TryLock(t.Context(), key, time.Hour))(t)
	s.restart(t, 4, 5)
	if _, err := locker.TryLock(t.Context(), key, time.Hour); err != lock.ErrHeld {
		t.Fatalf("with 3 nodes that remember: %v, want ErrHeld", err)
	}
	s.do(t, s.Faults.Kill, 3)
	s.restart(t, 3)
	second, err := locker.TryLock(t.Context(), key, time.Hour)
	if err != nil {
		t.Fatalf("with a node that has forgotten: %v, known is a grant", err)
	}
	if err := first.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("the first holder's unlock: %v, want ErrLost", err)
	}
	if err := second.Unlock(t.Context()); err != nil {
		t.Errorf("the second holder's unlock: %v", err)
	}
}

// Many try at the same time: never are there two holders, and what a minority
// granted is released.
func TestRedlockContended(t *testing.T) {
	s := startNodes(t, 3, lock.Config{})
	locker, key := lock.Persist(s.redlock(t, lock.RedlockOptions{}), patience), prefix+t.Name()
	var running sync.WaitGroup
	var holders atomic.Int64
	for range 8 {
		running.Go(func() {
			ctx := pool.WithTrace(t.Context(), new(pool.Trace)) // which is for one goroutine
			lease, err := locker.TryLock(ctx, key, time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			if n := holders.Add(1); n != 1 {
				t.Errorf("%d holders", n)
			}
			s.having(t, key, 1, 2, 3)
			holders.Add(-1)
			if err := lease.Unlock(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	s.mustBeFree(t, key, 1, 2, 3)
}
