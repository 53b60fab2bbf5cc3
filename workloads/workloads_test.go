package workloads

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"lockcost/env"
)

func TestFindSetsOptions(t *testing.T) {
	for spec, label := range map[string]string{
		"setnx":                           "setnx",
		" setnx-wait ":                    "setnx-wait",
		"setnx-wait:round-trips=2":        "setnx-wait:round-trips=2",
		"setnx:pool=4:form=script":        "setnx:form=script:pool=4",
		"setnx-wait:round-trips=2:pool=9": "setnx-wait:pool=9:round-trips=2",
	} {
		p, err := Find(spec)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
		}
		if p.Label() != label {
			t.Errorf("%s: label %s, want %s", spec, p.Label(), label)
		}
	}
	if p, _ := Find("setnx"); p.value("form") != "command" {
		t.Errorf("the default form is %q", p.value("form"))
	}
}

func TestFindRefusesAndNames(t *testing.T) {
	for spec, names := range map[string]string{
		"":                         "unknown path",
		"redis":                    "setnx-wait", // the paths there are
		"null:pool=1":              "no options",
		"setnx:round-trips=2":      "form",
		"setnx:form=other":         "command",
		"setnx:form":               "value",
		"setnx:pool=-1":            "pool",
		"setnx:pool=many":          "pool",
		"setnx:pool=1:pool=2":      "twice",
		"setnx-wait:round-trips=3": "round-trips",
	} {
		if _, err := Find(spec); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%q: the error does not name %q: %v", spec, names, err)
		}
	}
}

func TestEachPathNeedsWhatItUses(t *testing.T) {
	want := map[string]env.Spec{
		"null":                         {NoRedis: true},
		"ping":                         {},
		"setnx":                        {},
		"watchdog:notify=yes":          {},
		"setnx-wait":                   {Replicas: 2},
		"setnx-wait:connection=shared": {Replicas: 2},
		"waitaof":                      {Replicas: 2},
		"redlock":                      {NoRedis: true, Independents: 5},
		"etcd":                         {NoRedis: true, Etcd: 3},
		"etcd:guard=token":             {NoRedis: true, Etcd: 3, Ledger: true},
		"zookeeper":                    {NoRedis: true, ZooKeeper: 3},
		"fencing":                      {Ledger: true},
		"fencing:token=etcd":           {Ledger: true, Etcd: 3},
		"fencing:token=zookeeper":      {Ledger: true, ZooKeeper: 3},
		"fencing:token=ledger":         {Ledger: true},
		"idempotent":                   {Ledger: true},
		"optimistic":                   {NoRedis: true, Ledger: true},
		"combined":                     {Replicas: 2, Ledger: true},
		"combined:token=zookeeper":     {Replicas: 2, Ledger: true, ZooKeeper: 3},
	}
	seen := map[string]bool{}
	for spec, want := range want {
		p, err := Find(spec)
		if err != nil {
			t.Fatal(err)
		}
		seen[p.Name] = true
		if got := p.Needs(Settings{WaitReplicas: 2, WaitTimeout: time.Second}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s needs %+v, want %+v", spec, got, want)
		}
		if p.Guarded() != want.Ledger {
			t.Errorf("%s: guarded %v", spec, p.Guarded())
		}
	}
	for _, p := range Catalogue() {
		if !seen[p.Name] || p.Summary == "" || p.Kind == "" {
			t.Errorf("%s: needs not stated here, or without a summary or a kind", p.Name)
		}
	}
	if floors := Floors(); len(floors) != 2 || floors[0].Name != "null" || floors[1].Name != "ping" || len(All()) != len(Catalogue())-2 {
		t.Errorf("floors: %v", floors)
	}
}

// What a lock has survived follows from how the servers are set, and not from
// how they usually are.
func TestDurabilityIsReadFromTheServers(t *testing.T) {
	redis := map[string]string{"appendonly": "no", "appendfsync": "everysec"}
	always := map[string]string{"appendonly": "yes", "appendfsync": "always"}
	yes, no := map[string]string{"fsync": "yes"}, map[string]string{"fsync": "no"}
	servers := func(redis, quorum map[string]string) []env.Server {
		all := []env.Server{{Name: "primary", Settings: redis}, {Name: "replica-1", Settings: redis}, {Name: "sentinel-1"}, {Name: "ledger"}}
		for _, name := range []string{"etcd-1", "etcd-2", "etcd-3", "zookeeper-1", "zookeeper-2", "zookeeper-3"} {
			all = append(all, env.Server{Name: name, Settings: quorum})
		}
		for _, name := range []string{"independent-1", "independent-2", "independent-3", "independent-4", "independent-5"} {
			all = append(all, env.Server{Name: name, Settings: redis})
		}
		return all
	}
	asTheyCome, strict, relaxed := servers(redis, yes), servers(always, yes), servers(redis, no)
	for _, c := range []struct {
		spec    string
		servers []env.Server
		want    Durability
	}{
		{"setnx", asTheyCome, Durability{Memory: 1, Nodes: 2}},
		{"setnx", strict, Durability{Memory: 1, Disk: 1, Nodes: 2}},
		{"setnx-wait", asTheyCome, Durability{Memory: 2, Nodes: 2}},
		{"setnx-wait", strict, Durability{Memory: 2, Disk: 2, Nodes: 2}},
		{"waitaof", asTheyCome, Durability{Memory: 2, Disk: 2, Nodes: 2}}, // set so for it alone
		{"redlock", asTheyCome, Durability{Memory: 3, Nodes: 5}},
		{"redlock", strict, Durability{Memory: 3, Disk: 3, Nodes: 5}},
		{"etcd", asTheyCome, Durability{Memory: 2, Disk: 2, Nodes: 3}},
		{"zookeeper", relaxed, Durability{Memory: 2, Nodes: 3}},
		{"fencing:token=etcd", asTheyCome, Durability{Memory: 1, Nodes: 2}},
		{"combined", asTheyCome, Durability{Memory: 2, Nodes: 2}},
	} {
		p, err := Find(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := p.Durability(c.servers, Settings{WaitReplicas: 1}); !ok || got != c.want {
			t.Errorf("%s: %+v %v, want %+v", c.spec, got, ok, c.want)
		}
	}
	for _, spec := range []string{"null", "ping", "optimistic"} {
		if p, _ := Find(spec); p.Name == "" {
			t.Fatal(spec)
		} else if _, ok := p.Durability(strict, Settings{}); ok {
			t.Errorf("%s has no lock, and yet a durability", spec)
		}
	}
}
