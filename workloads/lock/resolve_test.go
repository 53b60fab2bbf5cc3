package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/workloads/lock"
)

// The first reply to a lock's write is lost: the lock is ours, and another
// must not be told so while we are told that another has it.
func TestLostReplyIsRecognizedAsOurs(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		lease, err := s.lockLosing(t, locker, key, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := locker.TryLock(t.Context(), key, time.Second); err != lock.ErrHeld {
			t.Errorf("second lock: %v, want ErrHeld", err)
		}
		if ttl := must(s.raw.PTTL(t.Context(), key).Result())(t); ttl <= 0 {
			t.Errorf("TTL of %v", ttl)
		}
		if err := lease.Unlock(t.Context()); err != nil {
			t.Errorf("unlock: %v", err)
		}
	})
}

// The answer to that question is lost as well, and asked for again.
func TestLostReplyOfTheResolution(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{PoolSize: 1})
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		// The new connection's greeting is the second reply.
		lease, err := s.lockLosing(t, locker, key, 1, 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Unlock(t.Context()); err != nil {
			t.Errorf("unlock: %v", err)
		}
	})
}

// The request was lost, so the lock was never written.
func TestLostRequestIsNoGrant(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		happened := s.link.CutRequest(1)
		_, err := locker.TryLock(t.Context(), key, 30*time.Second)
		<-happened
		if kind := lock.Kind(err); kind != "redis-connection" {
			t.Errorf("got %v (%s), want redis-connection", err, kind)
		}
		if s.exists(t, key) {
			t.Error("key is there")
		}
	})
}

// The reply that the lock is another's is lost.
func TestLostRefusalIsHeld(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		lease := must(locker.TryLock(t.Context(), key, 30*time.Second))(t)
		_, err := s.lockLosing(t, locker, key, 1)
		if err != lock.ErrHeld {
			t.Errorf("got %v, want ErrHeld", err)
		}
		if err := lease.Unlock(t.Context()); err != nil {
			t.Errorf("the holder lost it: %v", err)
		}
	})
}

func TestUnlockWithLostReply(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		lease := must(locker.TryLock(t.Context(), key, 30*time.Second))(t)
		happened := s.link.CutReply(1)
		err := lease.Unlock(t.Context())
		<-happened
		if err != nil {
			t.Errorf("unlock: %v", err)
		}
		if s.exists(t, key) {
			t.Error("key is there")
		}
	})
}

func TestUnlockWithLostRequest(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		lease := must(locker.TryLock(t.Context(), key, 30*time.Second))(t)
		happened := s.link.CutRequest(1)
		err := lease.Unlock(t.Context())
		<-happened
		if err != nil {
			t.Errorf("unlock: %v", err)
		}
		if s.exists(t, key) {
			t.Error("key is there")
		}
	})
}

func TestUnlockAfterTheOperationsEnd(t *testing.T) {
	s := start(t, env.Spec{})
	locker := must(lock.NewSetNX(s.open(t, lock.Config{}), ""))(t)
	ctx, cancel := context.WithCancel(t.Context())
	key := prefix + t.Name()
	lease := must(locker.TryLock(ctx, key, 30*time.Second))(t)
	cancel()
	if err := lease.Unlock(ctx); err != nil {
		t.Errorf("unlock: %v", err)
	}
	if s.exists(t, key) {
		t.Error("key is there")
	}
	if err := lease.Unlock(ctx); !errors.Is(err, lock.ErrLost) {
		t.Errorf("second unlock: %v, want ErrLost", err)
	}
}

// The primary does not answer until the operation's deadline is over: it has
// the lock then, and the caller was told that it has not. There is no link
// between, in which the undoing could overtake the lock.
func TestDeadlineLeavesNoLock(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{Primary: s.Redis.Primary, ResolveTimeout: patience})
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		if err := client.Fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := s.lockWhilePaused(t, locker, key)
		for err == nil { // its reply came in time after all
			err = s.lockWhilePaused(t, locker, key)
		}
		if kind := lock.Kind(err); kind != "redis-timeout" {
			t.Errorf("got %v (%s), want redis-timeout", err, kind)
		}
		if s.exists(t, key) {
			t.Error("key is there")
		}
	})
}

// lockWhilePaused tries a lock of a primary that is paused until the
// operation's deadline is over, and releases what was granted.
func (s *server) lockWhilePaused(t *testing.T, locker lock.Locker, key string) error {
	t.Helper()
	// A server that wakes serves first the connection that it served last
	// (epoll, level-triggered). If that is where the undoing comes from, it
	// overtakes the lock: so it is none of the locker's.
	must(s.raw.Ping(t.Context()).Result())(t)
	if err := s.Faults.Pause("primary"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	resumed := make(chan error)
	go func() {
		<-ctx.Done()
		time.Sleep(5 * time.Millisecond) // most likely the connection's deadline is over, too
		resumed <- s.Faults.Resume("primary")
	}()
	lease, err := locker.TryLock(ctx, key, 30*time.Second)
	if err := <-resumed; err != nil {
		t.Fatal(err)
	}
	if err == nil {
		if err := lease.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return err
}

// No reply arrives any more: the failure says that the outcome is unknown,
// and the lock that was written ends with its TTL.
func TestNoAnswerToTheResolution(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{ResolveTimeout: 20 * time.Millisecond})
	test := func(t *testing.T, locker lock.Locker, key string) {
		if err := client.Fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := range 1000 { // more than can be asked for in that time
			s.link.CutReply(n + 1)
		}
		_, err := locker.TryLock(t.Context(), key, 30*time.Second)
		s.link.Mend()
		if kind := lock.Kind(err); kind != "redis-connection" {
			t.Errorf("got %v (%s), want redis-connection", err, kind)
		}
		if err != nil && !strings.Contains(err.Error(), "could not be learned") {
			t.Errorf("%v does not say that the outcome is unknown", err)
		}
		if ttl := must(s.raw.PTTL(t.Context(), key).Result())(t); ttl <= 0 {
			t.Errorf("key with a TTL of %v", ttl)
		}
	}
	for _, way := range ways {
		if way.replicas == 0 {
			t.Run(way.name, func(t *testing.T) { test(t, must(way.of(client))(t), prefix+t.Name()) })
		}
	}
	forEachWait(t, client, test)
}

// Without a connection nothing was sent, and there is nothing to resolve.
func TestNoConnectionIsNoLostReply(t *testing.T) {
	s := start(t, env.Spec{})
	client := s.open(t, lock.Config{PoolSize: 1, ResolveTimeout: patience})
	lease := must(must(lock.NewSetNX(client, ""))(t).TryLock(t.Context(), prefix+t.Name(), 30*time.Second))(t)
	if err := s.link.Close(); err != nil {
		t.Fatal(err)
	}
	notResolved := func(t *testing.T, err error) {
		t.Helper()
		if kind := lock.Kind(err); kind != "redis-connection" {
			t.Errorf("got %v (%s), want redis-connection", err, kind)
		}
		if err != nil && (!strings.Contains(err.Error(), "cannot connect to "+s.link.Addr()) || strings.Contains(err.Error(), "; then ")) {
			t.Errorf("resolved: %v", err)
		}
	}
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		// More often than the pool has connections: the library would stop
		// trying.
		for range 3 {
			_, err := locker.TryLock(t.Context(), key, 30*time.Second)
			notResolved(t, err)
		}
	})
	notResolved(t, lease.Unlock(t.Context()))
}

func TestContextIsOverBeforeAnythingIsSent(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		if _, err := locker.TryLock(ctx, key, time.Second); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		if s.exists(t, key) {
			t.Error("key is there")
		}
	})
}
