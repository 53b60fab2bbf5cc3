package lock_test

import (
	"testing"
	"time"

	"lockcost/workloads/lock"
)

// A new connection's greeting is answered with an error: nothing was sent, so
// the lock is neither ours nor held by another.
func TestRefusedGreetingIsNoAnswerAboutTheLock(t *testing.T) {
	s := startWithReplica(t)
	if _, err := s.as(t, "~* +@all"); err != nil {
		t.Fatal(err)
	}
	client := open(t, lock.Config{Primary: s.Redis.Primary, Username: "app", Password: "secret", PoolSize: 4, ResolveTimeout: 100 * time.Millisecond})
	if err := s.raw.Do(t.Context(), fields("acl setuser app resetpass >changed")...).Err(); err != nil {
		t.Fatal(err)
	}
	forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
		if err := s.raw.Do(t.Context(), "client", "kill", "user", "app").Err(); err != nil {
			t.Fatal(err)
		}
		// The first attempts may still find a connection that was killed.
		eventually(t, "an attempt needs a new connection", func() bool {
			lease, err := locker.TryLock(t.Context(), key, 30*time.Second)
			if lease != nil || lock.Kind(err) == "held" {
				t.Fatalf("%v, %v without a connection", lease, err)
			}
			return lock.Kind(err) == "redis-noauth"
		})
		if s.exists(t, key) {
			t.Error("key is there")
		}
	})
}
