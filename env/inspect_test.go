package env_test

import (
	"strings"
	"testing"

	"lockcost/env"
	"lockcost/env/process/processtest"
)

// The servers that are started keep their own defaults, durability above
// all, and Inspect says so.
func TestInspect(t *testing.T) {
	s := processtest.Start(t, env.Spec{Replicas: 1, Sentinels: 1, Ledger: true})
	servers, err := env.Inspect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{
		"primary":   {"appendonly": "no", "repl-diskless-sync-delay": "0", "min-replicas-to-write": "0", "maxmemory-policy": "noeviction"},
		"replica-1": {"appendonly": "no", "appendfsync": "everysec"},
		"sentinel-1": {
			"down-after-milliseconds": "5000", "failover-timeout": "60000", "quorum": "1",
		},
		"ledger": {"innodb_flush_log_at_trx_commit": "1", "log_bin": "OFF"},
	}
	if len(servers) != len(want) {
		t.Errorf("%d servers, want %d", len(servers), len(want))
	}
	for i, v := range servers {
		if v.Version == "" || v.Name != s.Nodes[i].Name || v.Address != s.Nodes[i].Addr {
			t.Errorf("server %d: %+v", i, v)
		}
		for name, value := range want[v.Name] {
			if v.Settings[name] != value {
				t.Errorf("%s: %s is %q, want %q", v.Name, name, v.Settings[name], value)
			}
		}
	}
	if save := servers[0].Settings["save"]; !strings.HasPrefix(save, "3600 1") {
		t.Errorf("the primary's save is %q, not its default", save)
	}
	ledger := servers[len(servers)-1]
	if ledger.Kind != "MariaDB" || ledger.Settings["tx_isolation"]+ledger.Settings["transaction_isolation"] != "REPEATABLE-READ" {
		t.Errorf("ledger: %+v", ledger)
	}
}

func TestInspectNamesWhoDoesNotAnswer(t *testing.T) {
	s := processtest.Start(t, env.Spec{})
	if err := s.Faults.Kill("primary"); err != nil {
		t.Fatal(err)
	}
	if _, err := env.Inspect(t.Context(), s); err == nil || !strings.Contains(err.Error(), "primary at "+s.Redis.Primary) {
		t.Errorf("without its only server: %v", err)
	}
}
