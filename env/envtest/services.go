package envtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockcost/env"
)

// Services is a stack with all kinds of servers, each as many as there usually
// are of it.
var Services = env.Spec{Replicas: 1, Sentinels: 3, Ledger: true, Independents: 5, Etcd: 3, ZooKeeper: 3}

// RunServices runs what there is beside Run for independent Redis servers,
// etcd and ZooKeeper. linked is as there.
func RunServices(t *testing.T, start Start, linked bool) {
	t.Run("all kinds", func(t *testing.T) {
		began := time.Now()
		s := start(t, Services)
		t.Logf("%d servers were ready after %v", len(s.Nodes), time.Since(began).Round(time.Millisecond))
		t.Run("are ready", func(t *testing.T) { servicesServe(t, s) })
		t.Run("can be inspected", func(t *testing.T) { servicesInspected(t, s) })
		t.Run("come back", func(t *testing.T) { servicesComeBack(t, s) })
		t.Run("close", func(t *testing.T) { servicesClose(t, s) })
	})
	t.Run("leaders", func(t *testing.T) { leadersFail(t, start) })
	t.Run("one of each", func(t *testing.T) { oneOfEach(t, start) })
	t.Run("durability", func(t *testing.T) { durabilities(t, start) })
	t.Run("append-only file", func(t *testing.T) { appendFsync(t, start) })
	if linked {
		t.Run("network", func(t *testing.T) { servicesNetwork(t, start) })
		t.Run("distance", func(t *testing.T) { servicesDistance(t, start) })
	}
}

// serve checks that every member of etcd and every ZooKeeper serves.
func serve(t *testing.T, s *env.Stack) error {
	t.Helper()
	var errs []error
	for _, at := range s.Etcd.Endpoints {
		if err := s.Etcd.Serves(t.Context(), at); err != nil {
			errs = append(errs, fmt.Errorf("etcd at %s: %w", at, err))
		}
	}
	for _, at := range s.ZooKeeper.Servers {
		if _, err := s.ZooKeeper.Mode(t.Context(), at); err != nil {
			errs = append(errs, fmt.Errorf("ZooKeeper at %s: %w", at, err))
		}
	}
	return errors.Join(errs...)
}

func servicesServe(t *testing.T, s *env.Stack) {
	if len(s.Independents) != 5 || len(s.Etcd.Endpoints) != 3 || len(s.ZooKeeper.Servers) != 3 || len(s.Nodes) != 17 {
		t.Fatalf("nodes: %+v", s.Nodes)
	}
	if err := serve(t, s); err != nil {
		t.Error(err)
	}
	if a, b := etcdLeader(t, s), zooLeader(t, s); a == "" || b == "" {
		t.Errorf("leaders: %q and %q", a, b)
	}
	for i, at := range s.Independents {
		c := Client(t, s, at)
		if n, err := c.DBSize(t.Context()).Result(); n != 0 || err != nil {
			t.Errorf("independent-%d has %d keys: %v", i+1, n, err)
		}
		if err := c.Set(t.Context(), "key", i, 0).Err(); err != nil {
			t.Error(err)
		}
	}
	for _, at := range append(s.Redis.Replicas, s.Redis.Primary) {
		if n, err := Client(t, s, at).DBSize(t.Context()).Result(); n != 0 || err != nil {
			t.Errorf("what independent servers were told is known at %s (%d keys): %v", at, n, err)
		}
	}
}

func servicesInspected(t *testing.T, s *env.Stack) {
	servers, err := env.Inspect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	expectSettings(t, s, servers, map[string]map[string]string{
		"independent": {"appendonly": "no"},
		"etcd":        {"fsync": "yes", "heartbeat-interval": "100", "election-timeout": "1000"},
		"zookeeper":   {"fsync": "yes", "tickTime": "2000", "initLimit": "10", "syncLimit": "5", "minSessionTimeout": "4000", "maxSessionTimeout": "40000"},
	})
	for i, v := range servers {
		onDisk := v.Kind == "etcd" || v.Kind == "ZooKeeper"
		if onDisk && s.Nodes[i].PID != 0 && v.Settings["datadir_filesystem"] == "" {
			t.Errorf("the file system of %s is not known: %v", v.Name, v.Settings)
		}
	}
}

// expectSettings checks the settings of servers, by their names without the
// number.
func expectSettings(t *testing.T, s *env.Stack, servers []env.Server, want map[string]map[string]string) {
	t.Helper()
	if len(servers) != len(s.Nodes) {
		t.Errorf("%d servers of %d nodes", len(servers), len(s.Nodes))
	}
	seen := map[string]bool{}
	for _, v := range servers {
		name, _, _ := strings.Cut(v.Name, "-")
		seen[name] = true
		if v.Version == "" || strings.Trim(v.Version[:1], "0123456789") != "" {
			t.Errorf("%s is of version %q", v.Name, v.Version)
		}
		for setting, value := range want[name] {
			if v.Settings[setting] != value {
				t.Errorf("%s: %s is %q, want %q", v.Name, setting, v.Settings[setting], value)
			}
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("no %s was inspected", name)
		}
	}
}

// servicesComeBack kills one of each kind, and starts it again.
func servicesComeBack(t *testing.T, s *env.Stack) {
	for _, name := range []string{"independent-2", "etcd-2", "zookeeper-2"} {
		n := nodeOf(t, s, name)
		if err := s.Faults.Kill(name); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(Gone(n.PID), Silent(n.Addr)); err != nil {
			t.Errorf("%s was killed: %v", name, err)
		}
		if err := s.Faults.Pause(name); err == nil {
			t.Errorf("%s was paused while it did not run", name)
		}
		again, err := s.Faults.Restart(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if again.Addr != n.Addr || again.Name != name {
			t.Errorf("%+v came back as %+v", n, again)
		}
	}
	// At once: a member answers only when it is of its cluster again.
	if err := serve(t, s); err != nil {
		t.Error(err)
	}
	if n, err := Client(t, s, s.Independents[1]).DBSize(t.Context()).Result(); n != 0 || err != nil {
		t.Errorf("an independent server that was killed came back with %d keys: %v", n, err)
	}
}

func servicesClose(t *testing.T, s *env.Stack) {
	for _, name := range []string{"etcd-1", "zookeeper-1"} {
		if err := s.Faults.Pause(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range s.Nodes {
		if err := errors.Join(Gone(n.PID), Silent(n.Addr)); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
}

// nodeOf is the node of a name.
func nodeOf(t testing.TB, s *env.Stack, name string) env.Node {
	t.Helper()
	i := slices.IndexFunc(s.Nodes, func(n env.Node) bool { return n.Name == name })
	if i < 0 {
		t.Fatalf("no %s among %+v", name, s.Nodes)
	}
	return s.Nodes[i]
}
