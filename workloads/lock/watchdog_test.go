package lock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/workloads/lock"
)

// shortLease is renewed each 100 ms. Nothing is judged by how long it took;
// on a machine that is too busy to renew it in time, it is lost.
const shortLease = 300 * time.Millisecond

func forBothWatchdogs(t *testing.T, client *lock.Client, test func(t *testing.T, dog *lock.Watchdog, notify bool, key string)) {
	for _, notify := range []bool{false, true} {
		t.Run(fmt.Sprintf("notify=%v", notify), func(t *testing.T) {
			dog := lock.NewWatchdog(client, lock.WatchdogOptions{Notify: notify})
			t.Cleanup(func() { dog.Close() })
			test(t, dog, notify, prefix+t.Name())
		})
	}
}

// mustEnd waits until the holder is told, if it is to be.
func mustEnd(t *testing.T, lease lock.Lease, notify bool) {
	t.Helper()
	if !notify {
		if lease.Alive() != nil {
			t.Error("the holder can be told, and nobody was to")
		}
		return
	}
	select {
	case <-lease.Alive().Done():
	case <-time.After(patience):
		t.Fatalf("the holder was not told within %v", patience)
	}
	if cause := context.Cause(lease.Alive()); !errors.Is(cause, lock.ErrLost) {
		t.Errorf("told %v, want ErrLost", cause)
	}
}

func TestWatchdogKeepsTheLock(t *testing.T) {
	s := start(t, env.Spec{})
	forBothWatchdogs(t, s.open(t, lock.Config{}), func(t *testing.T, dog *lock.Watchdog, notify bool, key string) {
		lease := must(dog.TryLock(t.Context(), key, time.Second))(t)
		eventually(t, "renewed beyond its TTL", func() bool { return dog.Renewals().Count >= 6 })
		if _, err := dog.TryLock(t.Context(), key, time.Second); err != lock.ErrHeld {
			t.Errorf("second lock after two TTLs: %v, want ErrHeld", err)
		}
		if notify && lease.Alive().Err() != nil {
			t.Errorf("told %v of a lock that is ours", context.Cause(lease.Alive()))
		}
		if err := lease.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		if r := dog.Renewals(); r.Lost != 0 || r.Failed != 0 || r.Time <= 0 {
			t.Errorf("%+v, want renewals that took a while, and no others", r)
		}
	})
}

// CASES: renewal after unlock: never; the TTL is not refreshed after release.
func TestRenewalAfterUnlockNever(t *testing.T) {
	s := start(t, env.Spec{})
	forBothWatchdogs(t, s.open(t, lock.Config{}), func(t *testing.T, dog *lock.Watchdog, notify bool, key string) {
		for range 20 { // now between two renewals, now in the middle of one
			lease := must(dog.TryLock(t.Context(), key, 9*time.Millisecond))(t)
			before := dog.Renewals()
			eventually(t, "renewed, or lost on a busy machine", func() bool { return dog.Renewals() != before })
			if err := lease.Unlock(t.Context()); err != nil && !errors.Is(err, lock.ErrLost) {
				t.Fatal(err)
			}
			// The next holder's lock, which nobody renews.
			if err := s.raw.Set(t.Context(), key, "another", time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
			after := dog.Renewals()
			time.Sleep(12 * time.Millisecond) // in which four would be due
			if r := dog.Renewals(); r != after {
				t.Fatalf("renewals after the release: %+v, then %+v", after, r)
			}
			if ttl := must(s.raw.PTTL(t.Context(), key).Result())(t); ttl < time.Minute {
				t.Fatalf("the next holder's TTL is %v, it was 1h", ttl)
			}
			s.raw.Del(t.Context(), key)
		}
	})
}

// A renewal is on its way when the lock is released: it is waited for, and
// the key is gone afterwards.
func TestUnlockDuringARenewal(t *testing.T) {
	s := start(t, env.Spec{})
	forBothWatchdogs(t, s.open(t, lock.Config{}), func(t *testing.T, dog *lock.Watchdog, notify bool, key string) {
		lease := must(dog.TryLock(t.Context(), key, 3*time.Second))(t)
		if err := s.Faults.Pause("primary"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1200 * time.Millisecond) // in which a renewal is due, and gets no answer
		released := make(chan error, 1)
		go func() { released <- lease.Unlock(t.Context()) }()
		if err := s.Faults.Resume("primary"); err != nil {
			t.Fatal(err)
		}
		if err := <-released; err != nil {
			t.Error(err)
		}
		if s.exists(t, key) {
			t.Error("key is there after the release")
		}
		if r := dog.Renewals(); r.Lost != 0 {
			t.Errorf("%+v: a renewal went out after the release", r)
		}
	})
}

// CASES: extend on a lost lock: fails; does not take it anew.
func TestExtendOnALostLock(t *testing.T) {
	s := start(t, env.Spec{})
	client := s.open(t, lock.Config{})
	for name, lose := range map[string]func(t *testing.T, key string){
		"gone": func(t *testing.T, key string) {
			if err := s.raw.Del(t.Context(), key).Err(); err != nil {
				t.Fatal(err)
			}
		},
		"another's": func(t *testing.T, key string) {
			if err := s.raw.Set(t.Context(), key, "another", time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			forBothWatchdogs(t, client, func(t *testing.T, dog *lock.Watchdog, notify bool, key string) {
				lease := must(dog.TryLock(t.Context(), key, shortLease))(t)
				lose(t, key)
				eventually(t, "a renewal finds it lost", func() bool { return dog.Renewals().Lost == 1 })
				mustEnd(t, lease, notify)
				if name == "gone" && s.exists(t, key) {
					t.Error("the lock was taken anew")
				}
				if name != "gone" {
					if ttl := must(s.raw.PTTL(t.Context(), key).Result())(t); ttl < time.Minute {
						t.Errorf("the other's TTL is %v, it was 1h", ttl)
					}
				}
				time.Sleep(shortLease)
				if r := dog.Renewals(); r.Lost != 1 {
					t.Errorf("%+v: renewed after it was lost", r)
				}
				if err := lease.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
					t.Errorf("unlock: %v, want ErrLost", err)
				}
			})
		})
	}
}

// The server is silent until the lease has run out by the client's clock:
// the holder is told before the server could say anything.
func TestWatchdogTellsWhenRenewingFails(t *testing.T) {
	s := start(t, env.Spec{})
	forBothWatchdogs(t, s.open(t, lock.Config{}), func(t *testing.T, dog *lock.Watchdog, notify bool, key string) {
		lease := must(dog.TryLock(t.Context(), key, shortLease))(t)
		if err := s.Faults.Pause("primary"); err != nil {
			t.Fatal(err)
		}
		mustEnd(t, lease, notify)
		eventually(t, "a renewal has failed", func() bool { return dog.Renewals().Failed > 0 })
		if err := s.Faults.Resume("primary"); err != nil {
			t.Fatal(err)
		}
	})
}

// A renewal that fails is tried again while the lease lasts.
func TestFailedRenewalIsTriedAgain(t *testing.T) {
	s := start(t, env.Spec{})
	forBothWatchdogs(t, s.open(t, lock.Config{}), func(t *testing.T, dog *lock.Watchdog, notify bool, key string) {
		lease := must(dog.TryLock(t.Context(), key, 3*time.Second))(t)
		for range 3 {
			before := dog.Renewals()
			cut := s.link.CutRequest(1)
			eventually(t, "a renewal is lost, and made up for", func() bool {
				r := dog.Renewals()
				return happened(cut) && r.Failed > before.Failed && r.Count > before.Count
			})
		}
		if err := lease.Unlock(t.Context()); err != nil {
			t.Errorf("unlock: %v", err)
		}
	})
}

func TestHeldLocksTakeNoGoroutines(t *testing.T) {
	s := start(t, env.Spec{})
	client := s.open(t, lock.Config{})
	forBothWatchdogs(t, client, func(t *testing.T, dog *lock.Watchdog, notify bool, key string) {
		before := runtime.NumGoroutine()
		for i := range 1000 {
			must(dog.TryLock(t.Context(), fmt.Sprint(key, i), time.Hour))(t)
		}
		if now := runtime.NumGoroutine(); now > before+100 {
			t.Errorf("%d goroutines before 1000 locks, %d with them", before, now)
		}
		if err := dog.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestClosedWatchdogDoesNothing(t *testing.T) {
	s := start(t, env.Spec{})
	forBothWatchdogs(t, s.open(t, lock.Config{}), func(t *testing.T, dog *lock.Watchdog, notify bool, key string) {
		lease := must(dog.TryLock(t.Context(), key, shortLease))(t)
		for range 2 {
			if err := dog.Close(); err != nil {
				t.Error(err)
			}
		}
		mustEnd(t, lease, notify)
		before := dog.Renewals()
		eventually(t, "the lock runs out", func() bool { return !s.exists(t, key) })
		if r := dog.Renewals(); r != before {
			t.Errorf("renewals after the end: %+v, then %+v", before, r)
		}
		_, err := dog.TryLock(t.Context(), key, time.Hour)
		if !errors.Is(err, lock.ErrClosed) || lock.Kind(err) != "closed" {
			t.Errorf("lock after the end: %v (%s), want ErrClosed", err, lock.Kind(err))
		}
		if s.exists(t, key) {
			t.Error("a lock that was refused is there")
		}
	})
}
