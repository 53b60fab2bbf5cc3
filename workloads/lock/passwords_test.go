package lock_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"lockcost/env/process/processtest"
	"lockcost/workloads/lock"
)

// Redis asks for one password and the Sentinel for another, each of its
// default user or of one with a name.
func TestPasswordOnRedisAndOnSentinel(t *testing.T) {
	for name, c := range map[string]struct {
		redis, sentinel []string
		config          lock.Config
	}{
		"requirepass": {
			redis:    []string{"requirepass of-redis"},
			sentinel: []string{"requirepass of-sentinel"},
		},
		"ACL users": {
			redis:    []string{"user app on >of-redis ~* &* +@all", "user default off"},
			sentinel: []string{"user watcher on >of-sentinel &* +@all", "user default off"},
			config:   lock.Config{Username: "app", SentinelUsername: "watcher"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			primary := processtest.Redis(t, c.redis...)
			host, port, _ := net.SplitHostPort(primary)
			watch := []string{"sentinel monitor mymaster " + host + " " + port + " 1", "sentinel auth-pass mymaster of-redis"}
			if c.config.Username != "" {
				watch = append(watch, "sentinel auth-user mymaster "+c.config.Username)
			}
			sentinel := processtest.Sentinel(t, append(watch, c.sentinel...)...)
			right := c.config
			right.Sentinels, right.MasterName, right.PoolSize = []string{sentinel}, "mymaster", 4
			right.Password, right.SentinelPassword = "of-redis", "of-sentinel"

			client := open(t, right)
			if err := client.Fill(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := lock.Check(t.Context(), client, lock.Needs{Path: "fencing", Tokens: true, Prefix: prefix}); err != nil {
				t.Error(err)
			}
			lease := must(lock.NewFencing(client, prefix).TryLock(t.Context(), prefix+"passwords", time.Minute))(t)
			if err := lease.Unlock(t.Context()); err != nil {
				t.Error(err)
			}

			wrong := right
			wrong.Password = "of-sentinel"
			mustNotOpen(t, wrong, "redis-noauth", "WRONGPASS")
			wrong = right
			wrong.SentinelPassword = "of-redis"
			mustNotOpen(t, wrong, "redis-noauth", "WRONGPASS", sentinel)
			wrong.SentinelUsername, wrong.SentinelPassword = "", ""
			mustNotOpen(t, wrong, "redis-noauth", "NOAUTH", sentinel)
		})
	}
}

// mustNotOpen checks that config is refused, with an error of that kind that
// has all the words.
func mustNotOpen(t *testing.T, config lock.Config, kind string, words ...string) {
	t.Helper()
	client, err := lock.Open(t.Context(), config)
	if err == nil {
		client.Close()
		t.Error("opened")
		return
	}
	if got := lock.Kind(err); got != kind {
		t.Errorf("got %v (%s), want %s", err, got, kind)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}
