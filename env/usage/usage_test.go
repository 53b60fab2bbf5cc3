package usage

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockcost/env"
	"lockcost/env/container/containertest"
	"lockcost/env/process/processtest"
)

var whole = env.Spec{Replicas: 1, Sentinels: 1, Ledger: true, Independents: 1, Etcd: 1, ZooKeeper: 1}

// What a known number of commands takes is what the readings say: reading
// itself leaves nothing in them.
func TestWhatWasUsedIsCounted(t *testing.T) {
	s := processtest.Start(t, whole)
	m := NewMeter(s)
	defer m.Close()
	client := redis.NewClient(s.Redis.Options(s.Redis.Primary))
	defer client.Close()
	db, err := sql.Open("mysql", s.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	const n, size = 2000, 100
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE used (id INT NOT NULL PRIMARY KEY) ENGINE=InnoDB"); err != nil {
		t.Fatal(err)
	}
	value := make([]byte, size)
	before := m.Read(t.Context())
	for i := range n {
		if err := client.Set(t.Context(), fmt.Sprintf("key:%06d", i), value, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO used VALUES (%d)", i)); err != nil {
			t.Fatal(err)
		}
	}
	used := m.Read(t.Context()).Since(before)

	between := func(node string, c Counter, low, high float64) {
		t.Helper()
		v, ok := used[node].Values[c]
		if !ok || v < low || v > high {
			t.Errorf("%s of %s: %v (%v: %q), want %v to %v", c, node, v, ok, used[node].Unknown[c], low, high)
		}
	}
	between("primary", Commands, n, n+100) // a Sentinel and the replica ask it too
	between("primary", BytesIn, n*size, n*(size+80))
	between("primary", BytesOut, 5*n, 8*n)
	between("primary", Replication, n*size, n*(size+80))
	between("primary", Fsyncs, 0, 0)
	between("replica-1", Replication, n*size, n*(size+80))
	between("replica-1", Commands, n, n+100)
	between("ledger", Commands, 50, 60)
	between("ledger", Fsyncs, 25, 200)
	between("ledger", BytesIn, 50*25, 50*60)
	between("independent-1", Commands, 0, 10)
	for _, node := range s.Nodes {
		between(node.Name, CPU, 0, 60e9)
	}
	if used["primary"].Values[CPU] <= used["sentinel-1"].Values[CPU] {
		t.Errorf("2000 writes took %v ns of the primary, and a Sentinel %v", used["primary"].Values[CPU], used["sentinel-1"].Values[CPU])
	}
	for _, node := range []string{"etcd-1", "zookeeper-1"} {
		for _, c := range []Counter{BytesIn, Commands, Fsyncs} {
			if _, ok := used[node].Values[c]; !ok {
				t.Errorf("%s of %s: %s", c, node, used[node].Unknown[c])
			}
		}
	}
}

// A server that is gone, or was started anew, is named, and the others are
// read all the same.
func TestAServerThatIsGoneIsNamed(t *testing.T) {
	s := processtest.Start(t, env.Spec{Replicas: 1})
	m := NewMeter(s)
	defer m.Close()
	before := m.Read(t.Context())
	if err := s.Faults.Kill("replica-1"); err != nil {
		t.Fatal(err)
	}
	used := m.Read(t.Context()).Since(before)
	if why := used["replica-1"].Unknown[Commands]; why == "" {
		t.Errorf("of a dead server: %+v", used["replica-1"])
	}
	if _, ok := used["primary"].Values[Commands]; !ok {
		t.Errorf("of its primary: %+v", used["primary"])
	}
	if _, err := s.Faults.Restart(t.Context(), "replica-1"); err != nil {
		t.Fatal(err)
	}
	again := m.Read(context.WithoutCancel(t.Context())).Since(before)
	if _, ok := again["replica-1"].Values[BytesOut]; ok && again["replica-1"].Values[BytesOut] < 0 {
		t.Errorf("of one that was started anew: %+v", again["replica-1"])
	}
}

// Of servers that are not ours nobody knows the processor time but they
// themselves.
func TestServersOfTheUsersTellWhatTheyDo(t *testing.T) {
	s := processtest.Start(t, env.Spec{Ledger: true, Etcd: 1})
	for i := range s.Nodes {
		s.Nodes[i].PID = 0
	}
	m := NewMeter(s)
	defer m.Close()
	u := m.Read(t.Context())
	used := m.Read(t.Context()).Since(u)
	for _, node := range []string{"primary", "etcd-1"} {
		if _, ok := used[node].Values[CPU]; !ok {
			t.Errorf("%s tells its own: %q", node, used[node].Unknown[CPU])
		}
	}
	if _, ok := used["ledger"].Values[CPU]; ok || used["ledger"].Unknown[CPU] == "" {
		t.Errorf("the ledger's: %+v", used["ledger"])
	}
}

// The processor time of a container is that of all its processes.
func TestContainersAreReadByTheirControlGroup(t *testing.T) {
	s := containertest.Start(t, env.Spec{Ledger: true})
	m := NewMeter(s)
	defer m.Close()
	u := m.Read(t.Context())
	for _, node := range s.Nodes {
		used, ok := groupTime(node.PID)
		if !ok || used <= 0 {
			t.Errorf("%s has no control group of its own: %v, %v", node.Name, used, ok)
		}
		if u[node.Name].Values[CPU] <= 0 {
			t.Errorf("%s: %+v", node.Name, u[node.Name])
		}
	}
}
