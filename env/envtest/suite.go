// Package envtest is what every provider that starts servers must pass, and
// what tests of stacks share.
package envtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/placement"

	_ "github.com/go-sql-driver/mysql" // the ledger's
	"github.com/redis/go-redis/v9"
)

// Everything is a stack with all kinds of servers.
var Everything = env.Spec{Replicas: 2, Sentinels: 3, Ledger: true, DownAfter: 500 * time.Millisecond}

// Start starts a stack that ends with the test, or fails it, or skips it
// where what the provider needs is not installed.
type Start func(t testing.TB, spec env.Spec) *env.Stack

// Run runs the suite. linked is whether the provider's stacks can have links:
// be put at a distance, or have a network that can be broken.
func Run(t *testing.T, start Start, linked bool) {
	t.Run("whole stack", func(t *testing.T) {
		s := start(t, Everything)
		t.Run("is ready", func(t *testing.T) { isReady(t, s) })
		t.Run("can be inspected", func(t *testing.T) { isInspected(t, s) })
		t.Run("ledger has no other user", func(t *testing.T) { hasNoOtherUser(t, s) })
		t.Run("fails over", func(t *testing.T) { failsOver(t, s) })
	})
	t.Run("paused replica acknowledges nothing", func(t *testing.T) { pausedReplica(t, start) })
	t.Run("killed node comes back", func(t *testing.T) { killedNode(t, start) })
	t.Run("CPUs", func(t *testing.T) { cpus(t, start) })
	t.Run("two at once", func(t *testing.T) { twoAtOnce(t, start) })
	t.Run("close", func(t *testing.T) { closes(t, start) })
	if linked {
		t.Run("distance", func(t *testing.T) { distances(t, start) })
		t.Run("network", func(t *testing.T) { networks(t, start) })
	}
}

func isReady(t *testing.T, s *env.Stack) {
	ctx := t.Context()
	if len(s.Nodes) != 7 || len(s.Redis.Replicas) != 2 || len(s.Redis.Sentinels) != 3 {
		t.Errorf("nodes: %+v", s.Nodes)
	}
	conn := Client(t, s, s.Redis.Primary).Conn()
	defer conn.Close()
	if err := conn.Set(ctx, "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Wait(ctx, 2, 2*time.Second).Result(); n != 2 || err != nil {
		t.Errorf("WAIT 2 right after the start: %d, %v", n, err)
	}
	db, err := sql.Open("mysql", s.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB"); err != nil {
		t.Errorf("the ledger's user: %v", err)
	}
	for _, n := range s.Nodes {
		if n.PID == 0 {
			continue
		}
		used, err := env.CPUTime(n.PID)
		if (err != nil || used <= 0) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("CPU time of %s: %v, %v", n.Name, used, err)
		}
	}
}

func isInspected(t *testing.T, s *env.Stack) {
	servers, err := env.Inspect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range servers {
		if v.Version == "" || v.Name != s.Nodes[i].Name || len(v.Settings) == 0 {
			t.Errorf("%+v", v)
		}
	}
	ledger := servers[len(servers)-1]
	if ledger.Settings["innodb_flush_log_at_trx_commit"] != "1" {
		t.Errorf("a commit of the ledger is not durable: %v", ledger.Settings)
	}
	if node := s.Nodes[len(s.Nodes)-1]; node.PID != 0 && ledger.Settings["datadir_filesystem"] == "" {
		t.Errorf("the file system of the ledger's data is not known: %v", ledger.Settings)
	}
}

func hasNoOtherUser(t *testing.T, s *env.Stack) {
	_, addr, _ := strings.Cut(s.Ledger, "@")
	for _, user := range []string{"root", "lockcost", "nobody", "mariadb.sys"} {
		db, err := sql.Open("mysql", user+"@"+addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Ping(); err == nil || !strings.Contains(err.Error(), "denied") && !strings.Contains(err.Error(), "locked") {
			t.Errorf("%s without a password: %v", user, err)
		}
		_ = db.Close()
	}
}

// A primary that is killed loses its place, and takes its new one when it
// comes back. A client that asks the Sentinels follows.
func failsOver(t *testing.T, s *env.Stack) {
	if testing.Short() {
		t.Skip("a Sentinel takes its time with an old primary, 8 s at least")
	}
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	if err := s.Faults.Kill("primary"); err != nil {
		t.Fatal(err)
	}
	sentinel := redis.NewSentinelClient(s.Redis.SentinelOptions(s.Redis.Sentinels[0]))
	defer sentinel.Close()
	Eventually(t, "a replica is promoted", func() error {
		at, err := sentinel.GetMasterAddrByName(ctx, s.Redis.MasterName).Result()
		if err != nil {
			return err
		}
		now := at[0] + ":" + at[1]
		if way, ok := s.Redis.Via[now]; ok {
			now = way
		}
		if !slices.Contains(s.Redis.Replicas, now) {
			return fmt.Errorf("the primary is %s, which is none of %v", now, s.Redis.Replicas)
		}
		return nil
	})
	if _, err := s.Faults.Restart(ctx, "primary"); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the old primary follows the new one", func() error {
		text, err := Client(t, s, s.Redis.Primary).Info(ctx, "replication").Result()
		if err != nil {
			return err
		}
		if info := env.ParseInfo(text); info["role"] != "slave" || info["master_link_status"] != "up" {
			return fmt.Errorf("it is a %s with its link %s", info["role"], info["master_link_status"])
		}
		return nil
	})
}

func cpus(t *testing.T, start Start) {
	cpus, err := placement.Allowed()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	spec := Everything
	spec.Pin = cpus[len(cpus)-1:]
	s := start(t, spec)
	if !slices.Equal(s.Pinned, spec.Pin) {
		t.Errorf("pinned to %v, asked for %v", s.Pinned, spec.Pin)
	}
	for _, n := range s.Nodes {
		if on, err := placement.Of(n.PID); err != nil || !slices.Equal(on, spec.Pin) {
			t.Errorf("%s may run on %v (%v), asked for %v", n.Name, on, err, spec.Pin)
		}
	}
	if now, _ := placement.Allowed(); !slices.Equal(now, cpus) {
		t.Errorf("the driver was on %v and is on %v", cpus, now)
	}
}

func twoAtOnce(t *testing.T, start Start) {
	const n = 2
	spec := env.Spec{Replicas: 1, Sentinels: 1, Ledger: true}
	started := make(chan *env.Stack, n)
	t.Run("start", func(t *testing.T) {
		for i := range n {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				s := start(t, spec)
				isAnswering(t, s)
				started <- s
			})
		}
	})
	close(started)
	addrs := map[string]bool{}
	for s := range started {
		for _, node := range s.Nodes {
			addrs[node.Addr] = true
		}
	}
	if !t.Failed() && len(addrs) != 4*n {
		t.Errorf("%d stacks have %d addresses", n, len(addrs))
	}
}

func isAnswering(t *testing.T, s *env.Stack) {
	if err := Client(t, s, s.Redis.Primary).Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

func closes(t *testing.T, start Start) {
	s := start(t, Everything)
	if err := s.Faults.Pause("replica-2"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range s.Nodes {
		if err := errors.Join(Gone(n.PID), Silent(n.Addr)); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
	if _, err := s.Faults.Restart(t.Context(), "primary"); err == nil {
		t.Error("a closed stack restarted a server")
	}
}
