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

// What is done under a lock ends once its holder is told that it is lost.
func TestHoldEndsWithTheLock(t *testing.T) {
	s := start(t, env.Spec{})
	dog := lock.NewWatchdog(s.open(t, lock.Config{}), lock.WatchdogOptions{Notify: true})
	defer dog.Close()
	key := prefix + t.Name()
	lease := must(dog.TryLock(t.Context(), key, shortLease))(t)
	ctx, done := lock.Hold(t.Context(), lease)
	defer done()
	if err := s.raw.Set(t.Context(), key, "another", 0).Err(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(patience):
		t.Fatalf("not ended within %v", patience)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, lock.ErrLost) {
		t.Errorf("ended with %v, want ErrLost", cause)
	}
}

func TestHoldEndsWithItsParent(t *testing.T) {
	s := start(t, env.Spec{})
	client := s.open(t, lock.Config{})
	reason := errors.New("the operation is over")
	forBothWatchdogs(t, client, func(t *testing.T, dog *lock.Watchdog, notify bool, key string) {
		lease := must(dog.TryLock(t.Context(), key, time.Hour))(t)
		parent, end := context.WithCancelCause(t.Context())
		ctx, done := lock.Hold(parent, lease)
		defer done()
		end(reason)
		<-ctx.Done()
		if cause := context.Cause(ctx); cause != reason {
			t.Errorf("ended with %v, want %v", cause, reason)
		}
		if err := lease.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	})
	// Where nobody looks it is the parent itself.
	lease := must(must(lock.NewSetNX(client, ""))(t).TryLock(t.Context(), prefix+t.Name(), time.Hour))(t)
	ctx, done := lock.Hold(t.Context(), lease)
	if ctx != t.Context() {
		t.Error("another context for a lease that nobody watches")
	}
	done()
	if ctx.Err() != nil {
		t.Error("done ended the parent")
	}
}

// queue is a locker with a queue, made of one without by polling.
type queue struct {
	lock.Locker
	attempts, queued atomic.Int64
}

func (q *queue) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	q.attempts.Add(1)
	return q.Locker.TryLock(ctx, key, ttl)
}

func (q *queue) Lock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	q.queued.Add(1)
	return lock.Persist(q.Locker, time.Hour).TryLock(ctx, key, ttl)
}

// Persist waits in the service's own queue where it has one, once.
func TestPersistUsesTheServicesQueue(t *testing.T) {
	_, w, holder, key := contended(t)
	q := &queue{Locker: w.Locker}
	_, err := lock.Persist(q, 30*time.Millisecond).TryLock(t.Context(), key, time.Minute)
	mustBeHeld(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = lock.Persist(q, time.Hour).TryLock(ctx, key, time.Minute)
	mustBeHeld(t, err)
	time.AfterFunc(20*time.Millisecond, func() {
		if err := holder.Unlock(context.Background()); err != nil {
			t.Error(err)
		}
	})
	lease := must(lock.Persist(q, patience).TryLock(t.Context(), key, time.Minute))(t)
	if err := lease.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if n, tries := q.queued.Load(), q.attempts.Load(); n != 3 || tries != 0 {
		t.Errorf("queued %d times and tried %d times, want 3 and none", n, tries)
	}
}
