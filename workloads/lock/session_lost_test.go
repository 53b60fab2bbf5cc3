package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/link"
	"lockcost/workloads/lock"
)

// What happens to locks in etcd and ZooKeeper whose client is cut off.
func TestSessionsThatAreLost(t *testing.T) {
	forEachSessionService(t, env.Spec{Network: true}, func(t *testing.T, s *sessions) {
		for name, test := range map[string]func(*testing.T, *sessions){
			"while its holder sleeps":   lostWhileHolding,
			"while waiting":             lostWhileWaiting,
			"cut off for a moment":      cutOffForAMoment,
			"requests that come late":   lateRequests,
			"replies that are lost":     lostReplies,
			"no servers at the address": noServers,
		} {
			t.Run(name, func(t *testing.T) { test(t, s) })
		}
	})
}

// A holder that is cut off for longer than its session learns by its own
// clock that it has lost the lock, before another gets it, and cannot release
// what that one has. Its client goes on with another session.
func lostWhileHolding(t *testing.T, s *sessions) {
	away := s.openAway(t, shortSession)
	_, locker := s.open(t, longSession)
	lease := must(away.TryLock(within(t), t.Name(), 0))(t)
	held, done := lock.Hold(t.Context(), lease)
	defer done()
	mend := s.cutOff(t)
	began := time.Now()
	g := got(t, lockAside(within(t), locker, t.Name()))
	t.Logf("%v after the cut another has it", time.Since(began))
	if g.err != nil {
		t.Fatal(g.err)
	}
	if held.Err() == nil || !errors.Is(context.Cause(held), lock.ErrLost) {
		t.Errorf("another has the lock, and the holder was told %v, want ErrLost", context.Cause(held))
	}
	if g.lease.Token() <= lease.Token() {
		t.Errorf("token %d after %d", g.lease.Token(), lease.Token())
	}
	mend()
	if err := lease.Unlock(within(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("unlock: %v, want ErrLost", err)
	}
	again := must(away.TryLock(within(t), t.Name()+"/another", 0))(t) // in a new session
	if again.Alive().Err() != nil {
		t.Error("the new session has ended")
	}
	if _, err := away.TryLock(within(t), t.Name(), 0); err != lock.ErrHeld {
		t.Errorf("the other's lock: %v, want ErrHeld", err)
	}
	if n := s.left(t, t.Name()); n != 1 {
		t.Errorf("%d are there, want the other's only", n)
	}
	for _, lease := range []lock.Lease{again, g.lease} {
		if err := lease.Unlock(within(t)); err != nil {
			t.Error(err)
		}
	}
}

// One whose session ends while it waits in the queue is not granted the lock.
func lostWhileWaiting(t *testing.T, s *sessions) {
	away := s.openAway(t, shortSession)
	_, locker := s.open(t, longSession)
	lease := must(locker.TryLock(within(t), t.Name(), 0))(t)
	waiting := lockAside(within(t), away, t.Name())
	eventually(t, "it waits", func() bool { return s.left(t, t.Name()) == 2 })
	mend := s.cutOff(t)
	eventually(t, "its session has ended", func() bool { return s.left(t, t.Name()) == 1 })
	if err := lease.Unlock(within(t)); err != nil {
		t.Fatal(err)
	}
	mend()
	g := got(t, waiting)
	if g.err == nil || lock.Kind(g.err) != "session-lost" || errors.Is(g.err, lock.ErrLost) {
		t.Errorf("got %v (%s), want session-lost", g.err, lock.Kind(g.err))
	}
	again := must(away.Lock(within(t), t.Name(), 0))(t)
	if err := again.Unlock(within(t)); err != nil {
		t.Error(err)
	}
	if n := s.left(t, t.Name()); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// One that is cut off for less than its session keeps lock and place.
func cutOffForAMoment(t *testing.T, s *sessions) {
	away := s.openAway(t, longSession)
	_, locker := s.open(t, longSession)
	mine := must(away.TryLock(within(t), t.Name()+"/1", 0))(t)
	other := must(locker.TryLock(within(t), t.Name()+"/2", 0))(t)
	waiting := lockAside(within(t), away, t.Name()+"/2")
	eventually(t, "it waits", func() bool { return s.left(t, t.Name()+"/2") == 2 })
	mend := s.cutOff(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := away.TryLock(ctx, t.Name()+"/3", 0); err == nil || lock.Kind(err) != s.node+"-timeout" {
		t.Errorf("cut off: %v (%s), want a timeout", err, lock.Kind(err))
	}
	if err := other.Unlock(within(t)); err != nil {
		t.Fatal(err)
	}
	mend()
	g := got(t, waiting)
	if g.err != nil {
		t.Fatal(g.err)
	}
	if mine.Alive().Err() != nil {
		t.Error(context.Cause(mine.Alive()))
	}
	for _, lease := range []lock.Lease{mine, g.lease} {
		if err := lease.Unlock(within(t)); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "nothing is left of the attempt that was given up", func() bool { return s.left(t, t.Name()+"/3") == 0 })
}

// A request that reaches the servers after its sender has given up, and has
// undone it, locks nothing.
func lateRequests(t *testing.T, s *sessions) {
	away := s.openAway(t, longSession)
	warm := must(away.TryLock(within(t), t.Name()+"/warm", 0))(t)
	if err := warm.Unlock(within(t)); err != nil {
		t.Fatal(err)
	}
	mend := s.cutOff(t)
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := away.TryLock(ctx, t.Name(), 0); err == nil {
			t.Error("locked while cut off")
		}
		cancel()
	}
	mend()
	// What was held back is delivered before any new request is.
	must(away.TryLock(within(t), t.Name()+"/after", 0))(t)
	eventually(t, "nothing is left", func() bool { return s.left(t, t.Name()) == 0 })
	lease := must(away.TryLock(within(t), t.Name(), 0))(t)
	if err := lease.Unlock(within(t)); err != nil {
		t.Error(err)
	}
}

// Attempts and releases whose replies are lost, at whatever message that is,
// leave nothing that nobody knows of, while their session lives on.
func lostReplies(t *testing.T, s *sessions) {
	l, err := link.New(s.servers[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, locker := s.openAt(t, []string{l.Addr()}, longSession)
	var granted, lost int
	for i := range 12 {
		l.CutReply(1 + i%3)
		lease, err := locker.TryLock(within(t), t.Name(), 0)
		if err == nil {
			granted++
			if lease.Token() == 0 {
				t.Error("no token")
			}
			err = lease.Unlock(within(t))
		}
		if err != nil {
			lost++
			if kind := lock.Kind(err); !strings.HasPrefix(kind, s.node+"-") {
				t.Errorf("%v (%s), want a failure of %s", err, kind, s.node)
			}
		}
		l.Mend()
		eventually(t, "nothing is left", func() bool { return s.left(t, t.Name()) == 0 })
	}
	t.Logf("%d granted, %d lost", granted, lost)
}

func noServers(t *testing.T, s *sessions) {
	for name, addr := range map[string]string{"closed": "127.0.0.1:1", "silent": silentServer(t)} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		began := time.Now()
		client, _, err := s.connect(ctx, []string{addr}, longSession)
		cancel()
		if err == nil {
			client.Close()
			t.Fatal("opened")
		}
		if !strings.Contains(err.Error(), addr) {
			t.Errorf("%s: %v does not name %s", name, err, addr)
		}
		if took := time.Since(began); took > patience {
			t.Errorf("%s: %v", name, took)
		}
		t.Logf("%s: after %v: %v (%s)", name, time.Since(began), err, lock.Kind(err))
	}
}
