package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"lockcost/workloads/lock"
)

func (s *server) shared(t *testing.T, client *lock.Client, timeout time.Duration) *lock.SetNXWait {
	t.Helper()
	return must(lock.NewSetNXWait(client, lock.WaitOptions{Replicas: 1, Timeout: timeout, Shared: true}))(t)
}

// inLine has n callers lock keys of their own, one after the other joined to
// the line, and returns their errors once all have been answered, and the
// order of the answers.
func (s *server) inLine(t *testing.T, ctx context.Context, locker lock.Locker, n int) (errs []error, order []int) {
	t.Helper()
	errs = make([]error, n)
	var running sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		running.Go(func() {
			_, err := locker.TryLock(ctx, fmt.Sprint(prefix, t.Name(), i), time.Minute)
			mu.Lock()
			defer mu.Unlock()
			errs[i], order = err, append(order, i)
		})
		time.Sleep(5 * time.Millisecond) // the order of the calls, as far as anybody can tell
	}
	running.Wait()
	return errs, order
}

// Each caller has its own reply, though all go over one connection.
func TestSharedLineGivesEachCallerItsOwnReply(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{PoolSize: 8})
	locker := s.shared(t, client, waitTimeout)
	var running sync.WaitGroup
	for i := range 300 {
		running.Go(func() {
			key := fmt.Sprint(prefix, "own", i)
			if i%3 == 0 { // another's
				if err := s.raw.Set(t.Context(), key, "another", 0).Err(); err != nil {
					t.Error(err)
				}
				if _, err := locker.TryLock(t.Context(), key, time.Minute); err != lock.ErrHeld {
					t.Errorf("another's lock: %v, want ErrHeld", err)
				}
				return
			}
			lease, err := locker.TryLock(t.Context(), key, time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			if err := lease.Unlock(t.Context()); err != nil {
				t.Errorf("unlock, which knows our own lock only: %v", err)
			}
		})
	}
	running.Wait()
	if n := must(s.raw.DBSize(t.Context()).Result())(t); n != 100 {
		t.Errorf("%d keys are left, want the 100 of others", n)
	}
}

// One connection is in WAIT, however many callers there are.
func TestSharedLineSerializes(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{PoolSize: 4, ReadTimeout: 2 * patience})
	locker := s.shared(t, client, patience/2)
	if err := s.Faults.Pause("replica-1"); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for i := range 5 {
		running.Go(func() {
			if _, err := locker.TryLock(t.Context(), fmt.Sprint(prefix, i), 2*patience); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "a caller is in WAIT", func() bool { return s.blocked(t) == "1" })
	time.Sleep(50 * time.Millisecond) // the others would be by now, each on a connection of its own
	if n := s.blocked(t); n != "1" {
		t.Errorf("%s connections are in WAIT, want the one", n)
	}
	if n := must(s.raw.DBSize(t.Context()).Result())(t); n != 1 {
		t.Errorf("%d locks are written while the first waits", n)
	}
	if err := s.Faults.Resume("replica-1"); err != nil {
		t.Fatal(err)
	}
	running.Wait()
}

// With a replica that does not answer each WAIT takes its whole timeout, and
// a caller waits for all that were before its own.
func TestSharedLineWaitsForTheWaitsBefore(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{PoolSize: 8})
	const timeout, callers = 40 * time.Millisecond, 6
	locker := s.shared(t, client, timeout)
	s.pauseReplica(t)
	began := time.Now()
	errs, order := s.inLine(t, t.Context(), locker, callers)
	if least, took := callers*timeout, time.Since(began); took < least {
		t.Errorf("%d callers took %v, want the sum of their WAITs, %v, or more", callers, took, least)
	}
	for i, err := range errs {
		s.mustHaveBeenUndone(t, err, fmt.Sprint(prefix, t.Name(), i))
	}
	if !slices.IsSorted(order) {
		t.Errorf("answered in the order %v", order)
	}
}

// A caller that is answered need not wait for the rest of its batch.
func TestSharedLineAnswersEachAtOnce(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{PoolSize: 8})
	locker := s.shared(t, client, 300*time.Millisecond)
	s.pauseReplica(t)
	answers := make(chan time.Time, 4)
	for i := range cap(answers) {
		go func() {
			_, _ = locker.TryLock(t.Context(), fmt.Sprint(prefix, i), time.Minute)
			answers <- time.Now()
		}()
	}
	first := <-answers
	for range cap(answers) - 2 {
		<-answers
	}
	if last := <-answers; last.Sub(first) < 300*time.Millisecond {
		t.Errorf("the last answer came %v after the first, with three WAITs of 300ms between", last.Sub(first))
	}
}

// Callers leave when their context ends: those who were sent are undone,
// those who were not have nothing to undo, and the others keep their replies.
func TestSharedLineIsLeft(t *testing.T) {
	s := startWithReplica(t)
	// One pair a batch: what is behind the first is not sent.
	client := s.open(t, lock.Config{PoolSize: 8, ReadTimeout: waitTimeout + 200*time.Millisecond, ResolveTimeout: patience})
	locker := s.shared(t, client, waitTimeout)
	if err := s.Faults.Pause("replica-1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	errs := make([]error, 6)
	attempt := func(i int, ctx context.Context) {
		running.Go(func() { _, errs[i] = locker.TryLock(ctx, fmt.Sprint(prefix, "left", i), time.Minute) })
	}
	attempt(0, ctx)
	eventually(t, "the first is in WAIT", func() bool { return s.blocked(t) == "1" })
	for i := 1; i < len(errs); i++ { // odd ones leave, even ones stay
		if i%2 == 1 {
			attempt(i, ctx)
		} else {
			attempt(i, t.Context())
		}
	}
	time.Sleep(20 * time.Millisecond) // they are in the line
	cancel()
	if err := s.Faults.Resume("replica-1"); err != nil {
		t.Fatal(err)
	}
	running.Wait()
	for i, err := range errs {
		stays := i%2 == 0 && i != 0
		if stays != (err == nil) {
			t.Errorf("caller %d: %v", i, err)
		}
		if stays != s.exists(t, fmt.Sprint(prefix, "left", i)) {
			t.Errorf("caller %d, %v: key is there: %v", i, err, !stays)
		}
		if kind := lock.Kind(err); !stays && kind != "canceled" && (kind != "pool-timeout" || !errors.Is(err, context.Canceled)) {
			t.Errorf("caller %d: kind %s of %v", i, kind, err)
		}
	}
}

// The connection breaks under a batch: each attempt is settled on its own, and
// the next ones have another connection.
func TestSharedLineBreaks(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{PoolSize: 8, ResolveTimeout: patience})
	locker := s.shared(t, client, waitTimeout)
	for round := range 10 {
		cut := s.link.CutReply(1 + round%4)
		var running sync.WaitGroup
		for i := range 20 {
			running.Go(func() {
				lease, err := locker.TryLock(t.Context(), fmt.Sprint(prefix, "round", round, "-", i), time.Minute)
				switch kind := lock.Kind(err); {
				case err == nil:
					if err := lease.Unlock(t.Context()); err != nil {
						t.Errorf("unlock: %v", err)
					}
				case kind != "redis-connection": // not executed, so not ours
					t.Errorf("got %v (%s)", err, kind)
				}
			})
		}
		running.Wait()
		if !happened(cut) {
			t.Error("no reply was lost")
		}
		s.link.Mend()
	}
	if n := must(s.raw.DBSize(t.Context()).Result())(t); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

func TestSharedOptionsRefused(t *testing.T) {
	s := startWithReplica(t)
	options := lock.WaitOptions{Replicas: 1, Timeout: time.Millisecond, Shared: true}
	if _, err := lock.NewSetNXWait(s.open(t, lock.Config{PoolSize: 1}), options); err == nil {
		t.Error("a pool of one connection was accepted")
	}
	options.RoundTrips = 2
	if _, err := lock.NewSetNXWait(s.open(t, lock.Config{PoolSize: 2}), options); err == nil {
		t.Error("two round trips were accepted")
	}
}
