package lock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/workloads/lock"
)

// watched is a locker that counts its attempts and tells of those that have
// been answered.
type watched struct {
	lock.Locker
	attempts atomic.Int64
	answered func(attempt int64, err error) // may be nil
}

func (w *watched) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	n := w.attempts.Add(1)
	lease, err := w.Locker.TryLock(ctx, key, ttl)
	if w.answered != nil {
		w.answered(n, err)
	}
	return lease, err
}

// contended is a locker of a server where another holds the lock at key.
func contended(t *testing.T) (s *server, w *watched, holder lock.Lease, key string) {
	t.Helper()
	s = start(t, env.Spec{})
	locker := must(lock.NewSetNX(s.open(t, lock.Config{ResolveTimeout: patience}), ""))(t)
	key = prefix + t.Name()
	return s, &watched{Locker: locker}, must(locker.TryLock(t.Context(), key, time.Hour))(t), key
}

func mustBeHeld(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, lock.ErrHeld) || lock.Kind(err) != "held" {
		t.Errorf("got %v (%s), want ErrHeld", err, lock.Kind(err))
	}
}

func TestPersistIsGrantedOnceReleased(t *testing.T) {
	_, w, holder, key := contended(t)
	w.answered = func(attempt int64, _ error) {
		if attempt == 3 {
			if err := holder.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	lease, err := lock.Persist(w, patience).TryLock(t.Context(), key, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.attempts.Load(); n != 4 {
		t.Errorf("%d attempts, released after 3", n)
	}
	if err := lease.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPersistEndsWithItsTimeout(t *testing.T) {
	_, w, _, key := contended(t)
	for _, timeout := range []time.Duration{0, 20 * time.Millisecond} {
		_, err := lock.Persist(w, timeout).TryLock(t.Context(), key, time.Minute)
		mustBeHeld(t, err)
	}
}

// The operation was due a while ago, so that its context ends before the
// timeout does.
func TestPersistEndsWithTheContext(t *testing.T) {
	_, w, _, key := contended(t)
	t.Run("deadline", func(t *testing.T) {
		for range 20 { // now between two attempts, now in the middle of one
			began := w.attempts.Load()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			_, err := lock.Persist(w, time.Hour).TryLock(ctx, key, time.Minute)
			cancel()
			if err != nil && !errors.Is(err, lock.ErrHeld) && w.attempts.Load() == began+1 {
				continue // there was no answer at all
			}
			mustBeHeld(t, err)
		}
	})
	for name, cause := range map[string]error{"cancelled": context.Canceled, "cancelled for a reason": errors.New("the driver stops")} {
		t.Run(name, func(t *testing.T) {
			began := w.attempts.Load()
			ctx, cancel := context.WithCancelCause(t.Context())
			w.answered = func(attempt int64, _ error) {
				if attempt == began+3 {
					cancel(cause)
				}
			}
			_, err := lock.Persist(w, time.Hour).TryLock(ctx, key, time.Minute)
			mustBeHeld(t, err)
			if !errors.Is(err, cause) {
				t.Errorf("%v does not tell why it ended", err)
			}
		})
	}
}

// An attempt that gets no answer because the server stands still is no proof
// that the lock is held.
func TestPersistDoesNotHideASilentServer(t *testing.T) {
	s, _, _, key := contended(t)
	client := s.open(t, lock.Config{Primary: s.Redis.Primary, PoolSize: 1, ResolveTimeout: 10 * time.Millisecond})
	w := &watched{Locker: must(lock.NewSetNX(client, ""))(t)}
	// On a busy machine the deadline may pass before a second attempt is on its way.
	eventually(t, "an attempt is cut off that the paused server did not answer", func() bool {
		began := w.attempts.Load()
		w.answered = func(attempt int64, _ error) {
			if attempt == began+1 {
				if err := s.Faults.Pause("primary"); err != nil {
					t.Fatal(err)
				}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := lock.Persist(w, time.Hour).TryLock(ctx, key, time.Minute)
		if err := s.Faults.Resume("primary"); err != nil {
			t.Fatal(err)
		}
		return w.attempts.Load() > began+1 && lock.Kind(err) == "redis-timeout"
	})
}

func TestPersistReturnsOtherErrorsAtOnce(t *testing.T) {
	s := start(t, env.Spec{})
	w := &watched{Locker: lock.NewFencing(s.open(t, lock.Config{}), prefix)}
	if err := s.raw.Set(t.Context(), lock.CounterKey(prefix), "not a number", 0).Err(); err != nil {
		t.Fatal(err)
	}
	_, err := lock.Persist(w, time.Hour).TryLock(t.Context(), prefix+t.Name(), time.Minute)
	if kind := lock.Kind(err); kind != "redis-error" || w.attempts.Load() != 1 {
		t.Errorf("got %v (%s) after %d attempts, want redis-error after 1", err, kind, w.attempts.Load())
	}
}
