package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/workloads/lock"
)

// What a server refuses is counted by its own code, and nothing is written.
func TestKindsOfRefusals(t *testing.T) {
	s := startWithReplica(t)
	for setting, c := range map[string]struct{ value, before, kind string }{
		"maxmemory":             {value: "1", before: "0", kind: "redis-oom"},
		"min-replicas-to-write": {value: "5", before: "0", kind: "redis-noreplicas"},
	} {
		client := s.open(t, lock.Config{})
		if err := s.raw.ConfigSet(t.Context(), setting, c.value).Err(); err != nil {
			t.Fatal(err)
		}
		forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
			_, err := locker.TryLock(t.Context(), key, time.Second)
			if kind := lock.Kind(err); kind != c.kind {
				t.Errorf("got %v (%s), want %s", err, kind, c.kind)
			}
			if s.exists(t, key) {
				t.Error("key is there")
			}
		})
		if err := s.raw.ConfigSet(t.Context(), setting, c.before).Err(); err != nil {
			t.Fatal(err)
		}
	}
	replica := open(t, lock.Config{Primary: s.Redis.Replicas[0], PoolSize: 2})
	forEach(t, replica, func(t *testing.T, locker lock.Locker, key string) {
		_, err := locker.TryLock(t.Context(), key, time.Second)
		if kind := lock.Kind(err); kind != "redis-readonly" {
			t.Errorf("got %v (%s), want redis-readonly", err, kind)
		}
	})
}

func TestKindOfATimeout(t *testing.T) {
	s := start(t, env.Spec{})
	client := s.open(t, lock.Config{ReadTimeout: 20 * time.Millisecond, ResolveTimeout: 50 * time.Millisecond})
	locker := must(lock.NewSetNX(client, ""))(t)
	if err := s.Faults.Pause("primary"); err != nil {
		t.Fatal(err)
	}
	_, err := locker.TryLock(t.Context(), prefix+"slow", time.Second)
	if kind := lock.Kind(err); kind != "redis-timeout" {
		t.Errorf("got %v (%s), want redis-timeout", err, kind)
	}
	if err := s.Faults.Resume("primary"); err != nil {
		t.Fatal(err)
	}
}

func TestKinds(t *testing.T) {
	for want, err := range map[string]error{
		"":              nil,
		"held":          lock.ErrHeld,
		"unreplicated":  fmt.Errorf("locking: %w", errors.Join(lock.ErrUnreplicated, context.DeadlineExceeded)),
		"lost":          fmt.Errorf("unlocking: %w", lock.ErrLost),
		"canceled":      context.Canceled,
		"redis-timeout": context.DeadlineExceeded,
		"other":         errors.New("something else"),
	} {
		if got := lock.Kind(err); got != want {
			t.Errorf("%v: kind %q, want %q", err, got, want)
		}
	}
}
