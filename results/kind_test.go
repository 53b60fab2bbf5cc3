package results

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// kindShapes are as many entries as a run of all paths has at two distances,
// in an order that is not the one in which they are shown.
var kindShapes = []struct {
	path    string
	options map[string]string
	rttNS   int64
	kind    Kind
	lock    *Durability
	acquire float64
}{
	{"null", nil, 0, KindFloor, nil, 300},
	{"ping", nil, 0, KindFloor, nil, 180_000},
	{"fencing", nil, 0, KindDownstream, &Durability{Memory: 1, Nodes: 2}, 233_000},
	{"fencing", map[string]string{"token": "etcd"}, 0, KindDownstream, &Durability{Memory: 3, Disk: 2, Nodes: 3}, 2_900_000},
	{"watchdog", nil, 0, KindOneServer, &Durability{Memory: 1, Nodes: 2}, 216_000},
	{"watchdog", map[string]string{"notify": "yes"}, 0, KindOneServer, &Durability{Memory: 1, Nodes: 2}, 218_000},
	{"setnx", nil, 0, KindOneServer, &Durability{Memory: 1, Nodes: 2}, 214_000},
	{"setnx-wait", nil, 0, KindServers, &Durability{Memory: 2, Nodes: 2}, 226_000},
	{"setnx-wait", nil, 1_000_000, KindServers, &Durability{Memory: 2, Nodes: 2}, 1_290_000},
	{"setnx-wait", map[string]string{"connection": "shared"}, 0, KindServers, &Durability{Memory: 2, Nodes: 2}, 260_000},
	{"setnx-wait", map[string]string{"connection": "shared"}, 1_000_000, KindServers, &Durability{Memory: 2, Nodes: 2}, 1_330_000},
	{"waitaof", nil, 0, KindServers, &Durability{Memory: 2, Disk: 2, Nodes: 2}, 3_400_000},
	{"redlock", nil, 0, KindServers, &Durability{Memory: 3, Nodes: 5}, 520_000},
	{"etcd", nil, 0, KindServers, &Durability{Memory: 2, Disk: 2, Nodes: 3}, 2_700_000},
	{"zookeeper", nil, 0, KindServers, &Durability{Memory: 2, Disk: 2, Nodes: 3}, 3_100_000},
	{"idempotent", nil, 0, KindDownstream, &Durability{Memory: 1, Nodes: 2}, 214_500},
	{"optimistic", nil, 0, KindDownstream, nil, 310},
	{"combined", nil, 0, KindDownstream, &Durability{Memory: 2, Nodes: 2}, 240_000},
}

// kindRecord is a run of all of them, made up.
func kindRecord(runs int) *Record {
	r := exampleRecord(runs)
	base := r.Paths[2]
	r.Paths = nil
	for _, s := range kindShapes {
		p := Path{Path: s.path, Options: s.options, ReplicaRTTNS: s.rttNS, Kind: s.kind, Floor: s.kind == KindFloor, Durability: s.lock,
			SessionOpen: &Opening{Count: 20, MinNS: 400_000, P50NS: 900_000, MaxNS: 12_000_000}}
		for _, run := range base.Runs {
			run.Spans = map[SpanName]Span{}
			for name, span := range base.Runs[run.Index].Spans {
				run.Spans[name] = span
			}
			run.Spans[SpanAcquire] = spanOf(int64(s.acquire) + int64(1000*run.Index))
			p.Runs = append(p.Runs, run)
		}
		r.Paths = append(r.Paths, p)
	}
	r.Summarize()
	return r
}

func TestTableGroupsByKind(t *testing.T) {
	r := kindRecord(6)
	r.Plan.NotRun = []string{"waitaof: this Redis has no WAITAOF (7.2 and later have it)"}
	text := tableText(t, r)
	block := text[strings.Index(text, "Acquire, as"):strings.Index(text, "Cost of the lock")]
	var order []string
	for _, line := range strings.Split(block, "\n") {
		if field := strings.Fields(line); len(field) > 0 && line[0] == ' ' {
			order = append(order, field[0])
		}
	}
	want := []string{"path", "--", "setnx", "watchdog", "watchdog:notify=yes", "--", "setnx-wait", "setnx-wait@1ms",
		"setnx-wait:connection=shared", "setnx-wait:connection=shared@1ms", "waitaof", "redlock", "etcd", "zookeeper",
		"--", "fencing", "fencing:token=etcd", "idempotent", "optimistic", "combined"}
	order = slices.DeleteFunc(order, func(s string) bool { return s == "memory" || s == "disk" })
	if !slices.Equal(order, want) {
		t.Errorf("rows are %q, want %q", order, want)
	}
	wants(t, text, "-- one server's word", "-- granted by several servers", "-- checked by the ledger",
		"lock is in", "memory of 1/2", "disk of 2/3", "disk of 2, memory of 3/3",
		"all runs valid [96.9 % interval]", "216 µs [214, 219]",
		"Not run", "waitaof: this Redis has no WAITAOF", "Opening a session", "900 µs  400 µs  12.0 ms  20")
}

func TestNoLockHasNoAcquire(t *testing.T) {
	r := kindRecord(6)
	text := tableText(t, r)
	wants(t, squeezed(text), "optimistic no lock 1000/s nothing to acquire: see the whole job",
		"optimistic takes no lock: there is nothing to acquire")
	for _, p := range r.Paths {
		_, acquire := p.Cost[SpanAcquire]
		_, total := p.Cost[SpanTotal]
		if p.Path == "optimistic" && (acquire || !total) {
			t.Errorf("cost of acquire: %v, of the whole job: %v", acquire, total)
		}
	}
	if strings.Contains(text, "310 ns") {
		t.Errorf("a call that does nothing stands as an acquire:\n%s", text)
	}
}

func TestContendedRunsSayWhatWasRefused(t *testing.T) {
	r := kindRecord(6)
	r.Plan.Orders, r.Plan.AcquireTimeoutNS = 4, 1e9
	for i := range r.Paths {
		for j := range r.Paths[i].Runs {
			run := &r.Paths[i].Runs[j]
			run.Granted, run.Held = run.Completed/4, run.Completed-run.Completed/4
			run.Spans[SpanRefused] = spanOf(777_000)
		}
	}
	r.Summarize()
	text := tableText(t, r)
	wants(t, squeezed(text), "; 4 hot orders; tried for up to 1s", "path granted granted/s held errors expired refused P50 refused P99",
		"setnx 25.0 % 250 75.0 % 0 0 777 µs")
	if strings.Contains(text, "unreplicated") {
		t.Errorf("what did not happen has a column:\n%s", text)
	}
}

func TestOlderRecordsHaveNoHeadings(t *testing.T) {
	text := tableText(t, exampleRecord(6))
	for _, not := range []string{"--", "lock is in", "Opening", "Not run"} {
		if strings.Contains(text, not) {
			t.Errorf("%q in\n%s", not, text)
		}
	}
}

func TestFailoverTableGroupsByKind(t *testing.T) {
	f := exampleFailover(3)
	for i := range f.Scenarios {
		f.Scenarios[i].Kind = map[string]Kind{"setnx": KindOneServer, "setnx-wait": KindServers}[f.Scenarios[i].Path]
		if f.Scenarios[i].Kind == "" {
			f.Scenarios[i].Kind = KindDownstream
		}
	}
	slices.Reverse(f.Scenarios)
	text := squeezed(failoverText(t, f))
	overall := text[strings.Index(text, "Over all scenarios"):]
	at := -1
	for _, part := range []string{"-- one server's word setnx ", "-- granted by several servers setnx-wait ", "-- checked by the ledger idempotent "} {
		next := strings.Index(overall, part)
		if next <= at {
			t.Errorf("%q stands at %d, after %d:\n%s", part, next, at, overall)
		}
		at = next
	}
}

func TestKindOrder(t *testing.T) {
	groups := GroupByKind([]Kind{"", "new", KindDownstream, KindFloor, KindDownstream, KindServers}, func(k Kind) Kind { return k })
	if got, want := fmt.Sprint(groups), "[{floor [floor]} {servers [servers]} {downstream [downstream downstream]} {new [new]} { []}]"; got != want {
		t.Errorf("groups %s, want %s", got, want)
	}
}

func TestRenewalsAreAddedUpOverTheRuns(t *testing.T) {
	r := &Record{Paths: []Path{{Path: "watchdog", Runs: []Run{
		{Renewals: &Renewals{Count: 10, Lost: 1, MeanNS: 100_000}},
		{Renewals: &Renewals{Count: 30, Failed: 2, MeanNS: 200_000}},
	}}, {Path: "setnx", Runs: []Run{{}}}, {Path: "watchdog", Runs: []Run{{Renewals: &Renewals{}}}}}}
	notes := r.renewalNotes()
	if len(notes) != 1 {
		t.Fatalf("%d notes: %q", len(notes), notes)
	}
	for _, want := range []string{"40 times", "175 µs", "1 times the lock was found lost", "2 times there was no answer"} {
		if !strings.Contains(notes[0], want) {
			t.Errorf("%q lacks %q", notes[0], want)
		}
	}
}
