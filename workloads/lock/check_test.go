package lock_test

import (
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/process/processtest"
	"lockcost/workloads/lock"
)

// refused checks that an error is one line and has all the words.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("accepted, want a refusal with %q", words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q is more than a line", err)
	}
}

func TestCheckReplicas(t *testing.T) {
	s := start(t, env.Spec{Replicas: 1})
	primary := open(t, lock.Config{Primary: s.Redis.Primary, PoolSize: 2})
	needs := lock.Needs{Path: "setnx-wait", Replicas: 1, Prefix: prefix}
	if err := lock.Check(t.Context(), primary, needs); err != nil {
		t.Error(err)
	}
	needs.Replicas = 3
	refused(t, lock.Check(t.Context(), primary, needs),
		"setnx-wait needs 3 replicas online", s.Redis.Primary+" has 1", "start 2 more", "--paths without setnx-wait")
	if keys := must(s.raw.Keys(t.Context(), "*").Result())(t); len(keys) != 0 {
		t.Errorf("left keys %q", keys)
	}

	replica := open(t, lock.Config{Primary: s.Redis.Replicas[0], PoolSize: 2})
	refused(t, lock.Check(t.Context(), replica, lock.Needs{Path: "setnx", Prefix: prefix}),
		s.Redis.Replicas[0]+" is a replica of "+s.Redis.Primary)

	if err := s.Faults.Kill("replica-1"); err != nil {
		t.Fatal(err)
	}
	needs.Replicas = 1
	eventually(t, "the primary has noticed", func() bool { return lock.Check(t.Context(), primary, needs) != nil })
	refused(t, lock.Check(t.Context(), primary, needs),
		"setnx-wait needs 1 replica online", s.Redis.Primary+" has 0", "start one")
}

func TestCheckRefusesAClusterNode(t *testing.T) {
	addr := processtest.Redis(t, "cluster-enabled yes", "cluster-port "+processtest.OtherPort)
	client := open(t, lock.Config{Primary: addr, PoolSize: 1})
	refused(t, lock.Check(t.Context(), client, lock.Needs{Path: "setnx", Prefix: prefix}), addr, "Cluster")
}

func TestCheckRefusesAServerWithoutWait(t *testing.T) {
	addr := processtest.Redis(t, `rename-command WAIT ""`)
	client := open(t, lock.Config{Primary: addr, PoolSize: 1})
	refused(t, lock.Check(t.Context(), client, lock.Needs{Path: "setnx-wait", Replicas: 1, Prefix: prefix}), addr, "needs WAIT")
	if err := lock.Check(t.Context(), client, lock.Needs{Path: "setnx", Prefix: prefix}); err != nil {
		t.Error(err)
	}
}

func TestCheckNamesTheMissingRight(t *testing.T) {
	s := startWithReplica(t)
	needs := lock.Needs{Path: "all", Replicas: 1, Tokens: true, Prefix: prefix}
	for name, c := range map[string]struct {
		rules string
		words []string // nil: accepted
	}{
		"everything":      {rules: "~* +@all"},
		"no more than it": {rules: "~" + prefix + "* -@all +ping +info +set +setnx +get +pexpire +del +unlink +incr +wait +eval +evalsha +script|load"},
		"WAIT":            {rules: "~* +@all -wait", words: []string{"app", "WAIT", "+wait"}},
		"scripting":       {rules: "~* +@all -@scripting", words: []string{"EVALSHA", "EVAL,", "SCRIPT LOAD", "+evalsha", "+script|load"}},
		"a script's part": {rules: "~* +@all -pexpire", words: []string{"PEXPIRE", "+pexpire"}},
		"the counter":     {rules: "~* +@all -incr", words: []string{"INCR"}},
		"INFO":            {rules: "~* +@all -info", words: []string{"INFO"}},
		"the keys":        {rules: "~other:* +@all", words: []string{"app", prefix + "*", "~lockcost:*"}},
	} {
		t.Run(name, func(t *testing.T) {
			rules := append([]any{"acl", "setuser", "app", "reset", "on", ">secret"}, fields(c.rules)...)
			if err := s.raw.Do(t.Context(), rules...).Err(); err != nil {
				t.Fatal(err)
			}
			client := open(t, lock.Config{Primary: s.Redis.Primary, Username: "app", Password: "secret", PoolSize: 2})
			err := lock.Check(t.Context(), client, needs)
			if c.words != nil {
				refused(t, err, append(c.words, s.Redis.Primary)...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := client.LoadScripts(t.Context()); err != nil {
				t.Fatal(err)
			}
			forEach(t, client, func(t *testing.T, locker lock.Locker, key string) {
				lease := must(locker.TryLock(t.Context(), key, time.Second))(t)
				if err := lease.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func fields(s string) []any {
	var all []any
	for field := range strings.FieldsSeq(s) {
		all = append(all, field)
	}
	return all
}

// Whatever a user may not do, the check leaves no key that stays.
func TestCheckLeavesNothing(t *testing.T) {
	s := start(t, env.Spec{})
	for _, rules := range []string{
		"+@all", "+@all -set", "+@all -pexpire -del -unlink", "+@all -set -pexpire -del -unlink", "+@all -@scripting -del -unlink",
	} {
		if err := s.raw.Do(t.Context(), fields("acl setuser app reset on >secret ~* "+rules)...).Err(); err != nil {
			t.Fatal(err)
		}
		client := open(t, lock.Config{Primary: s.Redis.Primary, Username: "app", Password: "secret", PoolSize: 2})
		err := lock.Check(t.Context(), client, lock.Needs{Path: "fencing", Tokens: true, Prefix: prefix})
		if denied := strings.Contains(rules, "-"); denied != (err != nil) {
			t.Errorf("%s: %v", rules, err)
		}
		for _, key := range must(s.raw.Keys(t.Context(), "*").Result())(t) {
			if ttl := must(s.raw.PTTL(t.Context(), key).Result())(t); ttl == -1 { // none
				t.Errorf("%s: left %s for ever", rules, key)
			}
		}
		if err := s.raw.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// The connection breaks while the check goes on.
func TestCheckThatIsCutOffLeavesNothing(t *testing.T) {
	s := start(t, env.Spec{})
	for n := range 4 {
		client := s.open(t, lock.Config{PoolSize: 1})
		s.link.CutReply(n + 1)
		err := lock.Check(t.Context(), client, lock.Needs{Path: "fencing", Tokens: true, Prefix: prefix})
		s.link.Mend()
		t.Logf("reply %d lost: %v", n+1, err)
		for _, key := range must(s.raw.Keys(t.Context(), "*").Result())(t) {
			if ttl := must(s.raw.PTTL(t.Context(), key).Result())(t); ttl == -1 {
				t.Errorf("reply %d lost: left %s for ever", n+1, key)
			}
		}
	}
}

// Where the right to WAIT is taken away during a run, SET has been executed.
func TestRefusedWaitIsUndone(t *testing.T) {
	s := startWithReplica(t)
	if err := s.raw.Do(t.Context(), fields("acl setuser app on >secret ~* +@all -wait")...).Err(); err != nil {
		t.Fatal(err)
	}
	client := open(t, lock.Config{Primary: s.Redis.Primary, Username: "app", Password: "secret", PoolSize: 2})
	forEachWait(t, client, func(t *testing.T, locker lock.Locker, key string) {
		_, err := locker.TryLock(t.Context(), key, 30*time.Second)
		if kind := lock.Kind(err); kind != "redis-noperm" {
			t.Errorf("got %v (%s), want redis-noperm", err, kind)
		}
		if s.exists(t, key) {
			t.Error("key is there")
		}
	})
}

func TestWrongPassword(t *testing.T) {
	addr := processtest.Redis(t, "requirepass right")
	if client, err := lock.Open(t.Context(), lock.Config{Primary: addr, Password: "wrong"}); err == nil {
		client.Close()
		t.Error("opened")
	} else if kind := lock.Kind(err); kind != "redis-noauth" {
		t.Errorf("got %v (%s), want redis-noauth", err, kind)
	}
	client := open(t, lock.Config{Primary: addr, Password: "right", PoolSize: 1})
	if err := lock.Check(t.Context(), client, lock.Needs{Path: "setnx", Prefix: prefix}); err != nil {
		t.Error(err)
	}
}
