package envtest

import (
	"testing"

	"lockcost/env"
)

// durabilities checks what each level makes of every kind of server.
func durabilities(t *testing.T, start Start) {
	for level, want := range map[env.Durability]map[string]map[string]string{
		env.Relaxed: {
			"primary": {"appendonly": "no"}, "independent": {"appendonly": "no"},
			"etcd": {"fsync": "no"}, "zookeeper": {"fsync": "no"},
			"ledger": {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"},
		},
		env.Strict: {
			"primary":     {"appendonly": "yes", "appendfsync": "always"},
			"replica":     {"appendonly": "yes", "appendfsync": "always"},
			"independent": {"appendonly": "yes", "appendfsync": "always"},
			"etcd":        {"fsync": "yes"}, "zookeeper": {"fsync": "yes"},
			"ledger": {"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1"},
		},
	} {
		t.Run(string(level), func(t *testing.T) {
			s := start(t, env.Spec{Replicas: 1, Ledger: true, Independents: 1, Etcd: 1, ZooKeeper: 1, Durability: level})
			if s.Durability != level {
				t.Errorf("the stack is %q", s.Durability)
			}
			if err := Client(t, s, s.Independents[0]).Set(t.Context(), "key", "value", 0).Err(); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"ledger", "independent-1"} {
				if err := s.Faults.Kill(name); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Faults.Restart(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
			servers, err := env.Inspect(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			expectSettings(t, s, servers, want)
			kept, err := Client(t, s, s.Independents[0]).Exists(t.Context(), "key").Result()
			if survives := level == env.Strict; (kept == 1) != survives || err != nil {
				t.Errorf("after a crash %d keys are left, strict: %v, %v", kept, survives, err)
			}
		})
	}
}

// appendFsync checks that a stack's Redis is switched to a synced append-only
// file and back, and that the file is there when the call returns.
func appendFsync(t *testing.T, start Start) {
	s := start(t, env.Spec{Replicas: 1, Independents: 1})
	primary := Client(t, s, s.Redis.Primary)
	survives := func(key string) int64 {
		t.Helper()
		if err := primary.Set(t.Context(), key, "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := s.Faults.Kill("primary"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Faults.Restart(t.Context(), "primary"); err != nil {
			t.Fatal(err)
		}
		n, err := Client(t, s, s.Redis.Primary).Exists(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	has := func(want map[string]map[string]string) {
		t.Helper()
		servers, err := env.Inspect(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		expectSettings(t, s, servers, want)
	}
	for range 2 { // the second time there is nothing to do
		if err := env.AppendFsync(t.Context(), s, true); err != nil {
			t.Fatal(err)
		}
	}
	synced := map[string]string{"appendonly": "yes", "appendfsync": "always"}
	has(map[string]map[string]string{"primary": synced, "replica": synced, "independent": {"appendonly": "no"}})
	if survives("synced") != 1 {
		t.Error("a write to a synced append-only file is lost in a crash")
	}
	has(map[string]map[string]string{"primary": synced})
	for range 2 {
		if err := env.AppendFsync(t.Context(), s, false); err != nil {
			t.Fatal(err)
		}
	}
	asItComes := map[string]string{"appendonly": "no", "appendfsync": "everysec"}
	has(map[string]map[string]string{"primary": asItComes, "replica": asItComes})
	if survives("unsynced") != 0 {
		t.Error("a write to memory survives a crash")
	}
	theirs := *s
	theirs.Ours = false
	if err := env.AppendFsync(t.Context(), &theirs, true); err == nil {
		t.Error("the append-only file of somebody else's servers was switched")
	}
	if err := env.AppendFsync(t.Context(), &env.Stack{Ours: true}, true); err == nil {
		t.Error("the append-only file of no Redis was switched")
	}
}
