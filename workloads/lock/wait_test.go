package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/workloads/lock"
)

// forEachWait runs test with setnx-wait in both its forms, and a WAIT timeout
// for a replica that does not answer.
func forEachWait(t *testing.T, client *lock.Client, test func(t *testing.T, locker lock.Locker, key string)) {
	for _, roundTrips := range []int{1, 2} {
		t.Run(fmt.Sprintf("round-trips=%d", roundTrips), func(t *testing.T) {
			locker := must(lock.NewSetNXWait(client, lock.WaitOptions{
				Replicas: 1, Timeout: 20 * time.Millisecond, RoundTrips: roundTrips,
			}))(t)
			test(t, locker, prefix+t.Name())
		})
	}
}

// pauseReplica stops the replica until the test is over.
func (s *server) pauseReplica(t *testing.T) {
	t.Helper()
	if err := s.Faults.Pause("replica-1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Faults.Resume("replica-1"); err != nil {
			t.Error(err)
		}
	})
}

func (s *server) mustBeUnreplicated(t *testing.T, locker lock.Locker, key string) {
	t.Helper()
	_, err := locker.TryLock(t.Context(), key, 30*time.Second)
	s.mustHaveBeenUndone(t, err, key)
}

func (s *server) mustHaveBeenUndone(t *testing.T, err error, key string) {
	t.Helper()
	if !errors.Is(err, lock.ErrUnreplicated) {
		t.Errorf("got %v, want ErrUnreplicated", err)
	}
	if kind := lock.Kind(err); kind != "unreplicated" {
		t.Errorf("kind %s of %v", kind, err)
	}
	if s.exists(t, key) {
		t.Error("key is there")
	}
}

func TestUnreplicatedIsUndone(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	s.pauseReplica(t)
	forEachWait(t, client, func(t *testing.T, locker lock.Locker, key string) {
		_, err := locker.TryLock(t.Context(), key, 30*time.Second)
		if err == nil || !strings.Contains(err.Error(), "0 of 1") {
			t.Errorf("%v does not tell got from wanted", err)
		}
		for range 3 { // on connections that have been used, too
			s.mustBeUnreplicated(t, locker, key)
		}
	})
}

func TestHeldWithoutReplicaIsHeld(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	s.pauseReplica(t)
	forEachWait(t, client, func(t *testing.T, locker lock.Locker, key string) {
		if err := s.raw.Set(t.Context(), key, "another", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := locker.TryLock(t.Context(), key, time.Second); err != lock.ErrHeld {
			t.Errorf("got %v, want ErrHeld", err)
		}
		if !s.exists(t, key) {
			t.Error("another's lock was deleted")
		}
	})
}

// Reply 1 is SET's; 2 is WAIT's, which comes by itself in either form, since
// the server sends what it has before it blocks the connection.
func TestLostReplyOfWait(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	for _, way := range ways {
		if way.replicas == 0 {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			locker, key := must(way.of(client))(t), prefix+t.Name()
			lease, err := s.lockLosing(t, locker, key, 2)
			if err != nil {
				t.Fatal(err)
			}
			if err := lease.Unlock(t.Context()); err != nil {
				t.Errorf("unlock: %v", err)
			}
		})
	}
}

// That a lost reply's lock is ours does not mean that a replica has it.
func TestLostReplyIsWaitedForAnew(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	s.pauseReplica(t)
	for lost := 1; lost <= 2; lost++ {
		t.Run(fmt.Sprintf("reply %d", lost), func(t *testing.T) {
			forEachWait(t, client, func(t *testing.T, locker lock.Locker, key string) {
				_, err := s.lockLosing(t, locker, key, lost)
				s.mustHaveBeenUndone(t, err, key)
			})
		})
	}
}

// The deadline passes while WAIT blocks: the lock is written by then.
func TestDeadlineDuringWaitLeavesNoLock(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	s.pauseReplica(t)
	for _, way := range ways {
		if way.replicas == 0 {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			locker, key := must(way.of(client))(t), prefix+t.Name()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			_, err := locker.TryLock(ctx, key, 30*time.Second)
			if kind := lock.Kind(err); kind != "redis-timeout" {
				t.Errorf("got %v (%s), want redis-timeout", err, kind)
			}
			if s.exists(t, key) {
				t.Error("key is there")
			}
		})
	}
}

func TestReplicaRestarts(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	online := func() int {
		return env.OnlineReplicas(env.ParseInfo(must(s.raw.Info(t.Context(), "replication").Result())(t)))
	}
	if n := online(); n != 1 {
		t.Fatalf("%d replicas online, want 1", n)
	}
	if err := s.Faults.Kill("replica-1"); err != nil {
		t.Fatal(err)
	}
	forEachWait(t, client, s.mustBeUnreplicatedIn)
	if _, err := s.Faults.Restart(t.Context(), "replica-1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the replica is online again", func() bool { return online() == 1 })
	for _, way := range ways {
		lease, err := must(way.of(client))(t).TryLock(t.Context(), prefix+way.name, 30*time.Second)
		if err != nil {
			t.Errorf("%s: %v", way.name, err)
		} else if err := lease.Unlock(t.Context()); err != nil {
			t.Errorf("%s: %v", way.name, err)
		}
	}
}

func (s *server) mustBeUnreplicatedIn(t *testing.T, locker lock.Locker, key string) {
	s.mustBeUnreplicated(t, locker, key)
}

func TestWaitOptionsRefused(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{ReadTimeout: time.Second})
	for name, options := range map[string]lock.WaitOptions{
		"zero value":           {},
		"no replica":           {Replicas: 0, Timeout: time.Second},
		"negative replicas":    {Replicas: -1, Timeout: time.Second},
		"timeout is forever":   {Replicas: 1, Timeout: 0},
		"timeout becomes 0":    {Replicas: 1, Timeout: time.Millisecond - 1},
		"three round trips":    {Replicas: 1, Timeout: time.Millisecond, RoundTrips: 3},
		"read timeout is less": {Replicas: 1, Timeout: time.Second},
	} {
		if _, err := lock.NewSetNXWait(client, options); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := lock.NewSetNX(client, "sideways"); err == nil {
		t.Error("an unknown form of setnx was accepted")
	}
}
