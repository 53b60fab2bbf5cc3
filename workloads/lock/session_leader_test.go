package lock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/workloads/lock"
)

// What happens to locks in etcd and ZooKeeper when servers fail.
func TestSessionLocksWhenServersFail(t *testing.T) {
	forEachSessionService(t, env.Spec{}, func(t *testing.T, s *sessions) {
		t.Run("leader killed", func(t *testing.T) { leaderFails(t, s, s.Faults.Kill, s.restart) })
		t.Run("leader paused", func(t *testing.T) { leaderFails(t, s, s.Faults.Pause, s.Faults.Resume) })
		t.Run("no majority", func(t *testing.T) { noMajority(t, s) })
	})
}

func (s *sessions) restart(node string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := s.Faults.Restart(ctx, node)
	return err
}

// A lock outlives the leader, and is nobody else's as long as its holder is
// not told that it is lost.
func leaderFails(t *testing.T, s *sessions, fail, repair func(node string) error) {
	_, holder := s.open(t, longSession)
	_, other := s.open(t, longSession)
	lease := must(holder.TryLock(within(t), t.Name(), 0))(t)
	waiting := lockAside(within(t), other, t.Name())
	eventually(t, "another waits", func() bool { return s.left(t, t.Name()) == 2 })
	var leader string
	eventually(t, "there is a leader", func() bool { leader = s.leader(t.Context(), ""); return leader != "" })
	if err := fail(leader); err != nil {
		t.Fatal(err)
	}
	began, attempt := time.Now(), 0
	eventually(t, "locks are granted again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		attempt++ // one that was given up may be released later
		other, err := other.TryLock(ctx, fmt.Sprint(t.Name(), "/", attempt), 0)
		if err == nil {
			err = other.Unlock(ctx)
		}
		return err == nil
	})
	t.Logf("locks are granted again after %v", time.Since(began))
	select {
	case g := <-waiting:
		if lease.Alive().Err() == nil {
			t.Errorf("the waiter got %v, and the holder still has the lock", g)
		}
		t.Fatalf("the waiter got %v; the holder was told %v", g, context.Cause(lease.Alive()))
	default:
	}
	if err := lease.Alive().Err(); err != nil {
		t.Errorf("the session was lost with the leader: %v", context.Cause(lease.Alive()))
	}
	// Its connection may still be to the leader that is stopped.
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := lease.Unlock(ctx)
		cancel()
		if err == nil || errors.Is(err, lock.ErrLost) { // by an earlier one that went on
			break
		}
		if time.Since(began) > patience {
			t.Fatal(err)
		}
	}
	if g := got(t, waiting); g.err != nil {
		t.Errorf("the waiter: %v", g.err)
	} else if err := g.lease.Unlock(within(t)); err != nil {
		t.Error(err)
	}
	t.Logf("the lock was passed on after %v", time.Since(began))
	if err := repair(leader); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all agree on a leader", func() bool { return s.leader(t.Context(), "") != "" })
	eventually(t, "nothing is left", func() bool { return s.left(t, t.Name()) == 0 })
}

// Without a majority attempts fail, in bounded time and with the reason, and
// holders are told by their own clock; a new client is refused. With one, all
// goes on.
func noMajority(t *testing.T, s *sessions) {
	client, locker := s.open(t, shortSession)
	lease := must(locker.TryLock(within(t), t.Name(), 0))(t)
	for _, node := range s.nodes()[:2] {
		if err := s.Faults.Pause(node); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	select {
	case <-lease.Alive().Done():
		t.Logf("the holder learns it after %v: %v", time.Since(began), context.Cause(lease.Alive()))
	case <-time.After(patience):
		t.Error("the holder is not told")
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_, err := locker.TryLock(ctx, t.Name()+"/another", 0)
		cancel()
		kind := lock.Kind(err)
		if err == nil || kind != "session-lost" && !strings.HasPrefix(kind, s.node+"-") || !strings.Contains(err.Error(), client.Name()) {
			t.Errorf("got %v (%s), want a failure that names %s", err, kind, client.Name())
		}
		t.Log(kind, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	if err := client.Check(ctx); err == nil {
		t.Error("the check passes")
	} else {
		t.Log(err)
	}
	if other, _, err := s.connect(ctx, s.servers, longSession); err == nil {
		t.Error("a session was opened without a majority")
		other.Close()
	} else {
		t.Log(err)
	}
	cancel()
	for _, node := range s.nodes()[:2] {
		if err := s.Faults.Resume(node); err != nil {
			t.Fatal(err)
		}
	}
	again := must(locker.Lock(within(t), t.Name(), 0))(t)
	if err := again.Unlock(within(t)); err != nil {
		t.Error(err)
	}
	eventually(t, "nothing is left", func() bool { return s.left(t, t.Name()+"/another") == 0 })
}

// silentServer accepts connections and never answers.
func silentServer(t *testing.T) (addr string) {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
		}
	}()
	return listener.Addr().String()
}
