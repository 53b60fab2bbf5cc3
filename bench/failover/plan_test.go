package failover

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"lockcost/workloads"
)

func find(t *testing.T, path string) workloads.Path {
	t.Helper()
	p, err := workloads.Find(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func planOf(t *testing.T, change func(*Plan)) Plan {
	p := DefaultPlan()
	p.Paths = []workloads.Path{find(t, "setnx")}
	p.Scenarios = For(p.Paths)
	if change != nil {
		change(&p)
	}
	return p
}

func TestBadPlansAreRefusedInTheWordsOfTheFlags(t *testing.T) {
	if err := planOf(t, nil).Check(); err != nil {
		t.Fatalf("the defaults: %v", err)
	}
	for flag, change := range map[string]func(*Plan){
		"--scenario":       func(p *Plan) { p.Scenarios = nil },
		"--paths":          func(p *Plan) { p.Paths = nil },
		"--paths ping":     func(p *Plan) { p.Paths = append(p.Paths, find(t, "ping")) },
		"--trials":         func(p *Plan) { p.Trials = 0 },
		"--trials 1001":    func(p *Plan) { p.Trials = 1001 },
		"--rate NaN":       func(p *Plan) { p.Rate = math.NaN() },
		"--rate 1":         func(p *Plan) { p.Rate = 1 },
		"--down-after":     func(p *Plan) { p.DownAfter = nil },
		"named twice":      func(p *Plan) { p.DownAfter = append(p.DownAfter, p.DownAfter[0]) },
		"--down-after 1ms": func(p *Plan) { p.DownAfter[0] = time.Millisecond },
		"--replica-rtt":    func(p *Plan) { p.ReplicaRTTs[0] = -1 },
		"--hold 1s":        func(p *Plan) { p.Hold = time.Second },
		"--ttl 4s":         func(p *Plan) { p.TTL = 4 * time.Second },
		"--sentinels":      func(p *Plan) { p.Sentinels = 0 },
		"--wait-timeout":   func(p *Plan) { p.WaitTimeout = 500 * time.Microsecond },
		"WAIT for 0":       func(p *Plan) { p.WaitReplicas = 0 },
		"--op-timeout":     func(p *Plan) { p.OpTimeout = p.WaitTimeout },
		"--side-by-side":   func(p *Plan) { p.SideBySide = -1 },
	} {
		if err := planOf(t, change).Check(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestScenariosAreFoundByNameAndVariant(t *testing.T) {
	for name, want := range map[string]int{"crash-steady": 1, "paused-holder": 3, "replica-loss": 6, "partition:min-replicas": 1, " manual ": 1} {
		if found, err := Find(name); err != nil || len(found) != want {
			t.Errorf("%s: %d scenarios, want %d: %v", name, len(found), want, err)
		}
	}
	for name, names := range map[string]string{"crash": "crash-steady", "partition:total": "min-replicas", "": "crash-steady"} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%q: %v, which does not name %s", name, err, names)
		}
	}
	labels := map[string]bool{}
	for _, s := range Catalogue() {
		if labels[s.Label()] {
			t.Errorf("%s is in the catalogue twice", s.Label())
		}
		labels[s.Label()] = true
		if s.Summary == "" || s.Inject == nil || s.Needs.Replicas < 1 && s.applies(find(t, "setnx")) {
			t.Errorf("%s lacks a summary, an injection or a replica", s.Label())
		}
	}
}

// Every order must be asked for twice, by two clients, the second time within
// the first's hold.
func TestEveryOrderIsAskedForByTwoClients(t *testing.T) {
	p := planOf(t, nil)
	for _, rate := range []float64{10, 99, 100, 1000, 1001} {
		c := p.cell(Catalogue()[0], p.Paths[0], time.Second, 0)
		c.rate = rate
		type asked struct {
			client int
			at     time.Duration
		}
		first, second := map[int64]asked{}, map[int64]asked{}
		for slot := range int64(rate * 20) {
			a, ok := c.ask(slot)
			if !ok {
				continue
			}
			where := second
			if a.first {
				where = first
			}
			if _, twice := where[a.order]; twice {
				t.Fatalf("rate %v: order %d is asked for twice as the first, or as the second", rate, a.order)
			}
			where[a.order] = asked{a.client, c.due(slot)}
		}
		for order, s := range second {
			f, ok := first[order]
			if !ok {
				t.Fatalf("rate %v: order %d has a second ask and no first", rate, order)
			}
			if f.client == s.client {
				t.Errorf("rate %v: client %d asks for order %d twice", rate, f.client, order)
			}
			if after := s.at - f.at; after >= c.hold || after < c.second-time.Duration(4/rate*float64(time.Second)) {
				t.Errorf("rate %v: the second ask comes %v after the first, which holds for %v", rate, after, c.hold)
			}
		}
		if len(second) < len(first)/2 {
			t.Errorf("rate %v: %d orders were asked for, and %d of them twice", rate, len(first), len(second))
		}
	}
}

func TestOnlyCrashSteadyIsVaried(t *testing.T) {
	p := planOf(t, func(p *Plan) {
		p.DownAfter = []time.Duration{time.Second, 2 * time.Second}
		p.ReplicaRTTs = []time.Duration{0, time.Millisecond, 5 * time.Millisecond}
	})
	steady := 0
	var settings []time.Duration
	for _, c := range p.cells() {
		if c.scenario.Name == steadyName {
			steady++
			settings = append(settings, c.downAfter, c.rtt)
		} else if c.downAfter != max(time.Second, c.scenario.Needs.DownAfter) || c.rtt != 0 {
			t.Errorf("%s at a down-after of %v, the replica %v away", c.label(), c.downAfter, c.rtt)
		}
		if c.hold > p.hold(2*time.Second) || c.second >= c.hold {
			t.Errorf("%s: held for %v, asked for again after %v", c.label(), c.hold, c.second)
		}
	}
	if want := len(p.Scenarios) + 3; len(p.cells()) != want || steady != 4 {
		t.Errorf("%d cells, %d of them of %s, want %d and 4: %v", len(p.cells()), steady, steadyName, want, settings)
	}
	if !slices.IsSortedFunc(p.DownAfter, func(a, b time.Duration) int { return int(a - b) }) {
		t.Error("the plan's own values were moved")
	}
}

func TestScenariosAreRunForThePathsThatTheyConcern(t *testing.T) {
	for _, c := range []struct {
		scenario, path string
		applies        bool
	}{
		{"crash-steady", "setnx", true},
		{"crash-steady", "combined", true},
		{"crash-steady", "fencing:token=etcd", true}, // its locks are Redis's
		{"crash-steady", "etcd", false},
		{"crash-steady", "optimistic", false},
		{"leader-killed", "etcd", true},
		{"leader-killed", "fencing:token=etcd", false},
		{"leader-paused", "zookeeper", true},
		{"leader-killed", "redlock", false},
		{"node-empty", "redlock", true},
		{"no-majority:cut-off", "etcd", true},
		{"no-majority:cut-off", "zookeeper", false},
		{"holder-cut-off", "setnx", true},
		{"holder-cut-off", "zookeeper", true},
		{"holder-cut-off", "optimistic", false},
		{"paused-holder", "optimistic", true},
		{"paused-holder", "redlock", true},
	} {
		paths := []workloads.Path{find(t, c.path)}
		found, err := FindFor(c.scenario, paths)
		if (err == nil) != c.applies {
			t.Errorf("%s for %s: %v", c.scenario, c.path, err)
		}
		if err != nil && !strings.Contains(err.Error(), "is made for") {
			t.Errorf("%s for %s: the error does not say for which paths it is: %v", c.scenario, c.path, err)
		}
		p := planOf(t, func(p *Plan) { p.Paths, p.Scenarios = paths, found })
		for _, cell := range p.cells() {
			if spec := cell.spec(); spec.Ledger || spec.NoRedis == slices.Contains(paths[0].Services(), workloads.Redis) {
				t.Errorf("%s starts %+v", cell.label(), spec)
			}
		}
	}
	p := planOf(t, func(p *Plan) { p.Paths = append(p.Paths, find(t, "optimistic")) })
	p.Scenarios = slices.DeleteFunc(p.Scenarios, func(s Scenario) bool { return s.Name == "paused-holder" })
	if err := p.Check(); err == nil || !strings.Contains(err.Error(), "optimistic") {
		t.Errorf("a path that no scenario concerns: %v", err)
	}
}

// What locks promise must hold for as long as nobody ends the session, or the
// checkers would accuse a service of what it never promised.
func TestASessionPromisesLessThanItsLength(t *testing.T) {
	p := planOf(t, nil)
	for _, c := range []struct {
		scenario, path string
		ttl, promised  time.Duration
	}{
		{"holder-cut-off", "setnx", holderTTL, holderTTL},
		{"holder-cut-off", "etcd", shortSession, shortSession / 3},
		{"leader-killed", "zookeeper", p.TTL, p.TTL / 3},
		{"node-killed", "redlock", p.TTL, p.TTL},
		{"paused-holder", "optimistic", holderTTL, 0},
	} {
		found, err := Find(c.scenario)
		if err != nil {
			t.Fatal(err)
		}
		cell := p.cell(found[0], find(t, c.path), p.DownAfter[0], 0)
		if cell.ttl() != c.ttl || cell.promised() != c.promised {
			t.Errorf("%s: a TTL of %v, of which %v are promised; want %v and %v", cell.label(), cell.ttl(), cell.promised(), c.ttl, c.promised)
		}
	}
}
