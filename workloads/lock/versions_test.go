package lock_test

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/process/processtest"
	"lockcost/workloads/lock"
)

// rights is what a user must have for every path, on keys of the prefix. It
// is README's line.
const rights = "+ping +info +set +setnx +get +del +unlink +pexpire +incr +eval +evalsha +script|load +wait"

// pair starts a primary of a version and a replica of it that is online.
func pair(t *testing.T, v processtest.Version, settings ...string) *server {
	t.Helper()
	primary := processtest.RedisOf(t, v, append(settings, "repl-diskless-sync-delay 0")...)
	host, port, _ := net.SplitHostPort(primary)
	processtest.RedisOf(t, v, append(settings, "replicaof "+host+" "+port)...)
	s := &server{Stack: &env.Stack{Redis: env.Redis{Primary: primary}}, raw: rawClient(t, primary)}
	eventually(t, "the replica is online", func() bool {
		return env.OnlineReplicas(env.ParseInfo(must(s.raw.Info(t.Context()).Result())(t))) == 1
	})
	return s
}

// as opens a client of the user that has these rules and no others.
func (s *server) as(t *testing.T, rules string) (*lock.Client, error) {
	t.Helper()
	if err := s.raw.Do(t.Context(), fields("acl setuser app reset on >secret "+rules)...).Err(); err != nil {
		t.Fatal(err)
	}
	client, err := lock.Open(t.Context(), lock.Config{Primary: s.Redis.Primary, Username: "app", Password: "secret", PoolSize: 2})
	if err == nil {
		t.Cleanup(func() { client.Close() })
	}
	return client, err
}

// ready does what comes before a run.
func ready(t *testing.T, client *lock.Client, needs lock.Needs) error {
	t.Helper()
	if err := client.LoadScripts(t.Context()); err != nil {
		return err
	}
	if err := client.Fill(t.Context()); err != nil {
		return err
	}
	return lock.Check(t.Context(), client, needs)
}

func forEachVersion(t *testing.T, test func(t *testing.T, v processtest.Version)) {
	for _, v := range processtest.Versions() {
		t.Run(v.Name, func(t *testing.T) { test(t, v) })
	}
}

func TestEveryLockerWithTheRightsOfREADME(t *testing.T) {
	forEachVersion(t, func(t *testing.T, v processtest.Version) {
		s := pair(t, v)
		client := must(s.as(t, "~lockcost:* "+rights))(t)
		if err := ready(t, client, lock.Needs{Path: "all", Replicas: 1, Tokens: true, Prefix: prefix}); err != nil {
			t.Fatal(err)
		}
		forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
			lease := must(locker.TryLock(t.Context(), key, 30*time.Second))(t)
			if _, err := locker.TryLock(t.Context(), key, time.Second); err != lock.ErrHeld {
				t.Errorf("second lock: %v, want ErrHeld", err)
			}
			if err := lease.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if _, err := lock.NewPing(client).TryLock(t.Context(), prefix, time.Second); err != nil {
			t.Error(err)
		}
		if n := must(client.Remove(t.Context(), one(lock.CounterKey(prefix))))(t); n != 1 {
			t.Errorf("removed %d keys, want the counter", n)
		}
		if n := must(s.raw.DBSize(t.Context()).Result())(t); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
}

func one(key string) func(func(string) bool) {
	return func(yield func(string) bool) { yield(key) }
}

// Whatever right a user lacks, the check says which; a path does without
// those that only others need.
func TestEachMissingRightIsNamed(t *testing.T) {
	forEachVersion(t, func(t *testing.T, v processtest.Version) {
		s := pair(t, v)
		all := strings.Fields(rights)
		for _, c := range []struct {
			needs lock.Needs
			spare string // what the path does without
		}{
			{lock.Needs{Path: "setnx"}, "+incr +wait"},
			{lock.Needs{Path: "setnx-wait", Replicas: 1}, "+incr"},
			{lock.Needs{Path: "fencing", Tokens: true}, "+wait"},
		} {
			c.needs.Prefix = prefix
			for _, right := range all {
				without := strings.Join(remove(all, right), " ")
				client, err := s.as(t, "~lockcost:* "+without)
				if err == nil {
					err = ready(t, client, c.needs)
				}
				if strings.Contains(" "+c.spare+" ", " "+right+" ") {
					if err != nil {
						t.Errorf("%s without %s, which it does not need: %v", c.needs.Path, right, err)
					}
					continue
				}
				refused(t, err, "lacks the right to", "ACL SETUSER app "+right, s.Redis.Primary)
			}
		}
		client := must(s.as(t, "~other:* "+rights))(t)
		refused(t, ready(t, client, lock.Needs{Path: "setnx", Prefix: prefix}), "may not use keys", "~lockcost:")
		for _, key := range must(s.raw.Keys(t.Context(), "*").Result())(t) {
			if ttl := must(s.raw.PTTL(t.Context(), key).Result())(t); ttl == -1 { // none
				t.Errorf("%s stays for ever", key)
			}
		}
	})
}

func remove(all []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(a string) bool { return a == one })
}

// A server that takes no writes is refused with the reason.
func TestServersThatTakeNoWrites(t *testing.T) {
	forEachVersion(t, func(t *testing.T, v processtest.Version) {
		for name, c := range map[string]struct {
			setting string
			words   []string
		}{
			"maxmemory":             {"maxmemory 100kb", []string{"SET", "maxmemory", "OOM"}},
			"min-replicas-to-write": {"min-replicas-to-write 1", []string{"SET", "min-replicas-to-write", "NOREPLICAS"}},
			"no WAIT":               {`rename-command WAIT ""`, []string{"setnx-wait needs WAIT", "renamed"}},
			"no EVALSHA":            {`rename-command EVALSHA ""`, []string{"setnx-wait needs EVALSHA"}},
			"a cluster of one":      {"cluster-enabled yes\ncluster-port " + processtest.OtherPort, []string{"Cluster"}},
		} {
			t.Run(name, func(t *testing.T) {
				addr := processtest.RedisOf(t, v, c.setting)
				client := open(t, lock.Config{Primary: addr, PoolSize: 1})
				refused(t, ready(t, client, lock.Needs{Path: "setnx-wait", Replicas: 1, Prefix: prefix}), append(c.words, addr)...)
			})
		}
	})
}
