package lock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lockcost/workloads/lock"
)

// forEachFencingWait runs test with fencing and WAIT in all its forms.
func forEachFencingWait(t *testing.T, client *lock.Client, timeout time.Duration, test func(t *testing.T, locker lock.Locker, key string)) {
	for _, options := range []lock.WaitOptions{{RoundTrips: 1}, {RoundTrips: 2}, {Shared: true}} {
		options.Replicas, options.Timeout = 1, timeout
		t.Run(fmt.Sprintf("round-trips=%d,shared=%v", options.RoundTrips, options.Shared), func(t *testing.T) {
			test(t, must(lock.NewFencingWait(client, prefix, options))(t), prefix+t.Name())
		})
	}
}

func TestFencingWaitUnreplicatedIsUndone(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	s.pauseReplica(t)
	forEachFencingWait(t, client, 20*time.Millisecond, func(t *testing.T, locker lock.Locker, key string) {
		for range 3 {
			s.mustBeUnreplicated(t, locker, key)
		}
		if err := s.raw.Set(t.Context(), key, "another", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := locker.TryLock(t.Context(), key, time.Second); err != lock.ErrHeld {
			t.Errorf("got %v, want ErrHeld", err)
		}
	})
}

// A restarted server, or a promoted replica, has none of our scripts; WAIT
// behind one that was not run tells nothing.
func TestFencingWaitOnAServerWithoutTheScript(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	forEachFencingWait(t, client, waitTimeout, func(t *testing.T, locker lock.Locker, key string) {
		if err := s.raw.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		lease := must(locker.TryLock(t.Context(), key, 30*time.Second))(t)
		if lease.Token() == 0 {
			t.Error("no token")
		}
		if err := lease.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	})
	s.pauseReplica(t)
	forEachFencingWait(t, client, 20*time.Millisecond, func(t *testing.T, locker lock.Locker, key string) {
		if err := s.raw.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		s.mustBeUnreplicated(t, locker, key)
	})
}

// The counter is Fencing's: who waits and who does not have one order.
func TestFencingWaitSharesTheCounter(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	var last uint64
	for range 5 {
		for _, locker := range []lock.Locker{
			lock.NewFencing(client, prefix),
			must(lock.NewFencingWait(client, prefix, lock.WaitOptions{Replicas: 1, Timeout: waitTimeout}))(t),
		} {
			lease := must(locker.TryLock(t.Context(), prefix+"key", 30*time.Second))(t)
			if lease.Token() <= last {
				t.Errorf("token %d after %d", lease.Token(), last)
			}
			last = lease.Token()
			if err := lease.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestFencingWaitFailedCounterReleasesTheLock(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	for _, value := range []string{"not a number", "-2"} {
		forEachFencingWait(t, client, waitTimeout, func(t *testing.T, locker lock.Locker, key string) {
			if err := s.raw.Set(t.Context(), lock.CounterKey(prefix), value, 0).Err(); err != nil {
				t.Fatal(err)
			}
			if _, err := locker.TryLock(t.Context(), key, 30*time.Second); err == nil || errors.Is(err, lock.ErrHeld) {
				t.Errorf("counter %q: %v", value, err)
			}
			if s.exists(t, key) {
				t.Errorf("counter %q: the lock was kept", value)
			}
		})
	}
}

func TestFencingWaitOptionsRefused(t *testing.T) {
	s := startWithReplica(t)
	_, err := lock.NewFencingWait(s.open(t, lock.Config{}), prefix, lock.WaitOptions{})
	if err == nil || !strings.Contains(err.Error(), "fencing with WAIT") {
		t.Errorf("zero options: %v", err)
	}
}
