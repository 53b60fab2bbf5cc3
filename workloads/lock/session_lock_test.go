package lock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/workloads/lock"
)

// What holds for locks in etcd and ZooKeeper alike while all servers are well.
func TestSessionLocks(t *testing.T) {
	forEachSessionService(t, env.Spec{}, func(t *testing.T, s *sessions) {
		for name, test := range map[string]func(*testing.T, *sessions){
			"lock and unlock":              lockAndUnlockInSession,
			"keys within keys":             keysWithinKeys,
			"one at a time":                oneAtATime,
			"in the order of the queue":    inOrder,
			"leaving the queue":            leavingTheQueue,
			"over before it begins":        overBeforeItBegins,
			"released when ctx is over":    releasedWhenOver,
			"tokens of the minter":         mintedTokens,
			"check and remove":             checkAndRemove,
			"closing gives up the session": closingGivesUp,
		} {
			t.Run(name, func(t *testing.T) { test(t, s) })
		}
	})
}

func lockAndUnlockInSession(t *testing.T, s *sessions) {
	_, locker := s.open(t, longSession)
	_, other := s.open(t, longSession)
	key := t.Name()
	var last uint64
	for range 5 {
		lease := must(locker.TryLock(within(t), key, 0))(t)
		if lease.Token() <= last {
			t.Errorf("token %d after %d", lease.Token(), last)
		}
		last = lease.Token()
		for who, l := range map[string]lock.Locker{"our own session": locker, "another session": other} {
			if _, err := l.TryLock(within(t), key, 0); err != lock.ErrHeld {
				t.Errorf("second lock by %s: %v, want ErrHeld", who, err)
			}
		}
		if n := s.left(t, key); n != 1 {
			t.Errorf("%d are there beside attempts that were refused, want only the holder's", n)
		}
		if lease.Alive() == nil || lease.Alive().Err() != nil {
			t.Error("the lease is not alive")
		}
		if err := lease.Unlock(within(t)); err != nil {
			t.Errorf("unlock: %v", err)
		}
		if err := lease.Unlock(within(t)); !errors.Is(err, lock.ErrLost) {
			t.Errorf("second unlock: %v, want ErrLost", err)
		}
		if n := s.left(t, key); n != 0 {
			t.Errorf("%d are there after unlock", n)
		}
	}
	if _, err := locker.TryLock(within(t), "", 0); err == nil {
		t.Error("an empty key was locked")
	}
}

// A key may have any characters, and none is below another in the services'
// trees.
func keysWithinKeys(t *testing.T, s *sessions) {
	_, locker := s.open(t, longSession)
	for _, key := range []string{"a", "a/b", "a/b/", "/a", "a%2Fb", ".", "..", "%counter", "/counter", "ü \x00\n"} {
		lease, err := locker.TryLock(within(t), key, 0)
		if err != nil {
			t.Errorf("%q: %v", key, err)
			continue
		}
		defer lease.Unlock(context.Background())
	}
}

// Many callers of two sessions take turns at one lock, some in its queue and
// some by single attempts, and never two at the same time; the tokens are in
// the order of the grants.
func oneAtATime(t *testing.T, s *sessions) {
	const callers, turns = 16, 8
	var holders, grants int // no lock of Go's guards these
	var last uint64
	var all sync.WaitGroup
	ctx := within(t)
	for range 2 {
		_, locker := s.open(t, longSession)
		for i := range callers {
			all.Go(func() {
				for range turns {
					lease, err := takeTurn(ctx, locker, t.Name(), i%2 == 0)
					if err != nil {
						t.Error(err)
						return
					}
					holders++
					if holders != 1 || lease.Token() <= last {
						t.Errorf("%d hold the lock; token %d after %d", holders, lease.Token(), last)
					}
					last = lease.Token()
					grants++
					holders--
					if err := lease.Unlock(ctx); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	all.Wait()
	if grants != 2*callers*turns {
		t.Errorf("%d grants, want %d", grants, 2*callers*turns)
	}
	if n := s.left(t, t.Name()); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// takeTurn locks by the queue, with single attempts before it, or without.
func takeTurn(ctx context.Context, locker lock.Queuer, key string, try bool) (lock.Lease, error) {
	for range 3 {
		if !try {
			break
		}
		if lease, err := locker.TryLock(ctx, key, 0); !errors.Is(err, lock.ErrHeld) {
			return lease, err
		}
	}
	return locker.Lock(ctx, key, 0)
}

// queueUp has n wait for a lock that is held, one behind the other.
func (s *sessions) queueUp(t *testing.T, lockers []lock.Queuer, key string, n int) []<-chan grant {
	t.Helper()
	var waiting []<-chan grant
	for i := range n {
		waiting = append(waiting, lockAside(within(t), lockers[i%len(lockers)], key))
		eventually(t, "the next one waits", func() bool { return s.left(t, key) == i+2 })
	}
	return waiting
}

func inOrder(t *testing.T, s *sessions) {
	_, one := s.open(t, longSession)
	_, two := s.open(t, longSession)
	lease := must(one.TryLock(within(t), t.Name(), 0))(t)
	for i, next := range s.queueUp(t, []lock.Queuer{one, two}, t.Name(), 6) {
		if _, err := two.TryLock(within(t), t.Name(), 0); err != lock.ErrHeld {
			t.Errorf("an attempt past the queue: %v, want ErrHeld", err)
		}
		token := lease.Token()
		if err := lease.Unlock(within(t)); err != nil {
			t.Fatal(err)
		}
		g := got(t, next)
		if g.err != nil {
			t.Fatalf("waiter %d: %v", i, g.err)
		}
		if lease = g.lease; lease.Token() <= token {
			t.Errorf("token %d after %d", lease.Token(), token)
		}
		if n := s.left(t, t.Name()); n != 6-i {
			t.Errorf("%d are there, want the holder and %d waiters: another was granted too", n, 5-i)
		}
	}
	if err := lease.Unlock(within(t)); err != nil {
		t.Error(err)
	}
}

// One who leaves the queue leaves nothing in it, and who waited behind is
// next, but not before the holder has gone.
func leavingTheQueue(t *testing.T, s *sessions) {
	_, one := s.open(t, longSession)
	_, two := s.open(t, longSession)
	lease := must(one.TryLock(within(t), t.Name(), 0))(t)
	ctx, leave := context.WithCancel(within(t))
	leaver := lockAside(ctx, two, t.Name())
	eventually(t, "the first one waits", func() bool { return s.left(t, t.Name()) == 2 })
	next := lockAside(within(t), two, t.Name())
	eventually(t, "the next one waits", func() bool { return s.left(t, t.Name()) == 3 })
	leave()
	g := got(t, leaver)
	if !errors.Is(g.err, lock.ErrHeld) || !errors.Is(g.err, context.Canceled) || lock.Kind(g.err) != "held" {
		t.Errorf("who left got %v, want ErrHeld and %v", g.err, context.Canceled)
	}
	eventually(t, "nothing is left of it", func() bool { return s.left(t, t.Name()) == 2 })
	select {
	case g := <-next:
		t.Fatalf("who waited behind got %v while another held the lock", g)
	case <-time.After(50 * time.Millisecond):
	}
	if err := lease.Unlock(within(t)); err != nil {
		t.Fatal(err)
	}
	if g := got(t, next); g.err != nil {
		t.Error(g.err)
	} else if err := g.lease.Unlock(within(t)); err != nil {
		t.Error(err)
	}
	persist := lock.Persist(one, 50*time.Millisecond)
	lease = must(two.TryLock(within(t), t.Name(), 0))(t)
	if _, err := persist.TryLock(within(t), t.Name(), 0); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("an attempt that went on for 50ms: %v, want ErrHeld", err)
	}
	eventually(t, "nothing is left of it", func() bool { return s.left(t, t.Name()) == 1 })
	if err := lease.Unlock(within(t)); err != nil {
		t.Error(err)
	}
}

func overBeforeItBegins(t *testing.T, s *sessions) {
	_, locker := s.open(t, longSession)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locker.TryLock(ctx, t.Name(), 0); !errors.Is(err, context.Canceled) || lock.Kind(err) != "canceled" {
		t.Errorf("TryLock: %v", err)
	}
	if _, err := locker.Lock(ctx, t.Name(), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Lock: %v", err)
	}
	if n := s.left(t, t.Name()); n != 0 {
		t.Errorf("%d are there", n)
	}
}

// A context that ends at any moment of an attempt leaves nothing behind that
// nobody knows of.
func releasedWhenOver(t *testing.T, s *sessions) {
	_, locker := s.open(t, longSession)
	key := t.Name()
	for i := range 60 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
		lease, err := locker.TryLock(ctx, key, 0)
		if err == nil {
			<-ctx.Done()
			err = lease.Unlock(ctx) // which is over
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, lock.ErrHeld) {
			t.Error(err)
		}
		cancel()
	}
	eventually(t, "nothing is left", func() bool { return s.left(t, key) == 0 })
}

func mintedTokens(t *testing.T, s *sessions) {
	var minters []lock.Minter
	for range 2 {
		client, _ := s.open(t, longSession)
		minters = append(minters, client.Minter())
	}
	var last uint64
	for i := range 10 {
		token := must(minters[i%2].Mint(within(t)))(t)
		if token <= last {
			t.Errorf("token %d after %d", token, last)
		}
		last = token
	}
	seen := make(chan uint64, 100)
	var all sync.WaitGroup
	for i := range cap(seen) {
		all.Go(func() {
			token, err := minters[i%2].Mint(within(t))
			if err != nil {
				t.Error(err)
			}
			seen <- token
		})
	}
	all.Wait()
	close(seen)
	unique := map[uint64]bool{}
	for token := range seen {
		if unique[token] || token <= last {
			t.Errorf("token %d was minted before", token)
		}
		unique[token] = true
	}
}

func checkAndRemove(t *testing.T, s *sessions) {
	client, locker := s.open(t, longSession)
	if err := client.Check(within(t)); err != nil {
		t.Fatal(err)
	}
	var leases []lock.Lease
	for _, key := range []string{t.Name() + "/1", t.Name() + "/2"} {
		leases = append(leases, must(locker.TryLock(within(t), key, 0))(t))
	}
	must(client.Minter().Mint(within(t)))(t)
	if err := client.RemoveAll(within(t)); err != nil {
		t.Fatal(err)
	}
	for i, lease := range leases {
		if err := lease.Unlock(within(t)); !errors.Is(err, lock.ErrLost) {
			t.Errorf("unlock of lock %d that was removed: %v, want ErrLost", i, err)
		}
	}
	if err := client.RemoveAll(within(t)); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
	if err := client.Check(within(t)); err != nil { // which makes what it needs anew
		t.Error(err)
	}
}

func closingGivesUp(t *testing.T, s *sessions) {
	client, locker := s.open(t, longSession)
	lease := must(locker.TryLock(within(t), t.Name(), 0))(t)
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if n := s.left(t, t.Name()); n != 0 {
		t.Errorf("%d are there of a session that was closed", n)
	}
	if lease.Alive().Err() == nil || !errors.Is(context.Cause(lease.Alive()), lock.ErrLost) {
		t.Errorf("the lease's end: %v, want ErrLost", context.Cause(lease.Alive()))
	}
	if err := lease.Unlock(within(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("unlock: %v, want ErrLost", err)
	}
	if _, err := locker.TryLock(within(t), t.Name(), 0); err == nil {
		t.Error("a closed client locked")
	}
}
