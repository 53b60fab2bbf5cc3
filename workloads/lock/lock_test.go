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

func TestLockAndUnlock(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		lease := must(locker.TryLock(t.Context(), key, 30*time.Second))(t)
		if ttl := must(s.raw.PTTL(t.Context(), key).Result())(t); ttl <= 0 || ttl > 30*time.Second {
			t.Errorf("TTL of %v, want up to 30s", ttl)
		}
		if _, err := locker.TryLock(t.Context(), key, time.Second); err != lock.ErrHeld {
			t.Errorf("second lock: %v, want ErrHeld", err)
		}
		if err := lease.Unlock(t.Context()); err != nil {
			t.Errorf("unlock: %v", err)
		}
		if s.exists(t, key) {
			t.Error("key is there after unlock")
		}
		if err := lease.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("second unlock: %v, want ErrLost", err)
		}
		again := must(locker.TryLock(t.Context(), key, time.Second))(t)
		if err := again.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What each locker sends is what it costs: nothing may be added unseen, a
// TTL is always in milliseconds, and no reply is an error.
func TestCommandsSent(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	sent := map[string]string{ // of a lock and an unlock
		"setnx":                      "set 1, evalsha 1",
		"setnx form=script":          "evalsha 2, setnx 1, pexpire 1",
		"setnx-wait":                 "set 1, wait 1, evalsha 1",
		"setnx-wait round-trips=2":   "set 1, wait 1, evalsha 1",
		"setnx-wait shared":          "set 1, wait 1, evalsha 1",
		"watchdog":                   "set 1, evalsha 1",
		"watchdog notify":            "set 1, evalsha 1",
		"fencing":                    "set 1, evalsha 2, incr 1",
		"fencing-wait":               "set 1, evalsha 2, incr 1, wait 1",
		"fencing-wait round-trips=2": "set 1, evalsha 2, incr 1, wait 1",
		"fencing by another minter":  "set 1, evalsha 1",
	}
	counted := []string{"ping", "set", "setnx", "pexpire", "wait", "eval", "evalsha", "script|load", "incr", "multi", "client|setinfo", "hello"}
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		_, name, _ := strings.Cut(key, "/")
		if err := s.raw.ConfigResetStat(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		lease := must(locker.TryLock(t.Context(), key, 30*time.Second))(t)
		if err := lease.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, command := range counted {
			if stat := s.infoField(t, "cmdstat_"+command); stat != "" {
				calls, _, _ := strings.Cut(strings.TrimPrefix(stat, "calls="), ",")
				got = append(got, command+" "+calls)
			}
		}
		if want := sent[strings.ReplaceAll(name, "_", " ")]; !sameSet(got, strings.Split(want, ", ")) {
			t.Errorf("sent %v, want %s", got, want)
		}
	})
}

func sameSet(a, b []string) bool {
	seen := make(map[string]int)
	for _, v := range a {
		seen[v]++
	}
	for _, v := range b {
		seen[v]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestTTLIsSentAsPX(t *testing.T) {
	s := start(t, env.Spec{})
	client := s.open(t, lock.Config{})
	locker := must(lock.NewSetNX(client, ""))(t)
	if err := s.raw.ConfigSet(t.Context(), "slowlog-log-slower-than", "0").Err(); err != nil {
		t.Fatal(err)
	}
	for ttl, px := range map[time.Duration]string{
		30 * time.Second:                                  "30000",
		1500*time.Microsecond + 1:                         "2", // a lock must not end before its holder believes
		time.Millisecond:                                  "1",
		time.Hour + time.Millisecond/2:                    "3600001",
		9 * time.Second / 4:                               "2250",
		24 * time.Hour * 365:                              "31536000000",
		time.Second + 3*time.Millisecond/time.Duration(3): "1001",
	} {
		key := prefix + "px:" + px
		must(locker.TryLock(t.Context(), key, ttl))(t)
		found := false
		for _, entry := range must(s.raw.SlowLogGet(t.Context(), 10).Result())(t) {
			a := entry.Args
			found = found || len(a) == 6 && a[0] == "set" && a[1] == key && a[3] == "nx" && a[4] == "px" && a[5] == px
		}
		if !found {
			t.Errorf("TTL of %v: no SET with NX PX %s", ttl, px)
		}
	}
}

func TestTTLBelowAMillisecondIsRefused(t *testing.T) {
	s := start(t, env.Spec{})
	client := s.open(t, lock.Config{})
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		for _, ttl := range []time.Duration{-time.Second, 0, time.Millisecond - 1} {
			if _, err := locker.TryLock(t.Context(), key, ttl); err == nil {
				t.Errorf("TTL of %v was accepted", ttl)
			}
		}
		if s.exists(t, key) {
			t.Error("key was written")
		}
	})
}

func TestUnlockAfterAnotherTookIt(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		first := must(locker.TryLock(t.Context(), key, time.Millisecond))(t)
		eventually(t, "the first lock expires", func() bool { return !s.exists(t, key) })
		second := must(locker.TryLock(t.Context(), key, 30*time.Second))(t)
		if err := first.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("unlock of the expired lock: %v, want ErrLost", err)
		}
		if !s.exists(t, key) {
			t.Error("the other's lock was deleted")
		}
		if err := second.Unlock(t.Context()); err != nil {
			t.Errorf("unlock by the other: %v", err)
		}
	})
}

func TestTokensStrictlyIncrease(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			locker := must(way.of(client))(t)
			var last uint64
			for range 20 {
				lease := must(locker.TryLock(t.Context(), prefix+t.Name(), time.Second))(t)
				if way.tokens && lease.Token() <= last {
					t.Errorf("token %d after %d", lease.Token(), last)
				}
				if !way.tokens && lease.Token() != 0 {
					t.Errorf("token %d of a locker that mints none", lease.Token())
				}
				last = lease.Token()
				if err := lease.Unlock(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// noMinter fails, after it has ended the operation's context if it has one
// to end.
type noMinter struct{ end context.CancelFunc }

var errNoToken = errors.New("sequence is out of order")

func (m noMinter) Mint(context.Context) (uint64, error) {
	if m.end != nil {
		m.end()
	}
	return 0, errNoToken
}

func TestFailedMintReleasesTheLock(t *testing.T) {
	s := start(t, env.Spec{})
	client := s.open(t, lock.Config{})
	for _, name := range []string{"fails", "fails with the operation's end"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var minter noMinter
			if name != "fails" {
				minter.end = cancel
			}
			key := prefix + t.Name()
			locker := lock.WithMinter(must(lock.NewSetNX(client, ""))(t), minter)
			_, err := locker.TryLock(ctx, key, 30*time.Second)
			if !errors.Is(err, lock.ErrMint) || !errors.Is(err, errNoToken) {
				t.Errorf("got %v", err)
			}
			if s.exists(t, key) {
				t.Error("the lock was kept")
			}
		})
	}
}

// A script that fails half way has written the lock already.
func TestFailedCounterReleasesTheLock(t *testing.T) {
	s := start(t, env.Spec{})
	locker := lock.NewFencing(s.open(t, lock.Config{}), prefix)
	for _, value := range []string{"not a number", "-2"} {
		if err := s.raw.Set(t.Context(), lock.CounterKey(prefix), value, 0).Err(); err != nil {
			t.Fatal(err)
		}
		key := prefix + t.Name()
		if _, err := locker.TryLock(t.Context(), key, 30*time.Second); err == nil {
			t.Errorf("counter %q: granted", value)
		} else if lock.Kind(err) == "held" {
			t.Errorf("counter %q: %v", value, err)
		}
		if s.exists(t, key) {
			t.Errorf("counter %q: the lock was kept", value)
		}
	}
}

func TestFloors(t *testing.T) {
	s := start(t, env.Spec{})
	client := s.open(t, lock.Config{})
	for name, locker := range map[string]lock.Locker{"null": lock.Null{}, "ping": lock.NewPing(client)} {
		for range 2 { // nothing is locked
			lease, err := locker.TryLock(t.Context(), prefix+name, time.Second)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if lease.Token() != 0 {
				t.Errorf("%s: token %d", name, lease.Token())
			}
			if err := lease.Unlock(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n := must(s.raw.DBSize(t.Context()).Result())(t); n != 0 {
		t.Errorf("%d keys were written", n)
	}
}
