package results

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func failoverText(t *testing.T, f *Failover) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteFailoverTable(&out, f); err != nil {
		t.Fatal(err)
	}
	keepsForm(t, out.String())
	return out.String()
}

// squeezed has one blank where text has several or a new line, so that a
// test does not depend on columns.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestFailoverTableSaysWhatMustBeSaid(t *testing.T) {
	f := &Failover{Plan: FailoverPlan{Trials: 10, Env: "process"}, Environment: Environment{Topology: "1 primary, 1 replica", CPU: "Xeon"}}
	add := func(scenario, path string, events map[Event][]int64) *Scenario {
		f.Scenarios = append(f.Scenarios, Scenario{Scenario: scenario, Path: path, Replicas: 1, DownAfterNS: 1e9, HoldNS: 3e9,
			Summary: "the primary is killed", Timed: true, Runs: trialsOf(10, events)})
		return &f.Scenarios[len(f.Scenarios)-1]
	}
	s := add("crash", "setnx", map[Event][]int64{DoubleGrant: {1, 0, 0, 4, 0, 0, 0, 0, 0, 0}, DoubleCharge: {0}, LostCharge: {0}})
	for i := range s.Runs {
		s.Runs[i].Times[FirstGrant] = int64(1200+i) * 1e6
		s.Runs[i].Facts = map[string]int64{"writes_before_refusal": int64(190 + i)}
		s.Runs[i].Errors = map[string]int64{"redis-timeout": 3}
	}
	s.Runs[1].Void, s.Runs[0].Reason = "the key was on the candidate", "no good replica"
	s.Phases = map[Phase]Span{Before: {Count: 500, P50NS: pointer(int64(214_000))}}
	add("crash", "fencing", map[Event][]int64{DoubleGrant: {0}, RepeatedToken: {0}, DoubleCharge: {0}, LostCharge: {0}})
	add("pause", "setnx", map[Event][]int64{DoubleGrant: {0}})
	f.Summarize()
	text := failoverText(t, f)
	wants(t, squeezed(text),
		"10 trials of each scenario and path 1 primary, 1 replica Xeon",
		"crash: the primary is killed (1 replica, down-after 1s, held for 3s)",
		"double path void grants setnx 1/10 2/9 [2.8–60 %] 5× fencing 0 0/10 ≤31 %",
		"Never, in 9 to 10 trials of each path, ≤34 % of trials: double charges, lost charges, repeated tokens (fencing).",
		"pause: the primary is killed (1 replica, down-after 1s, held for 3s) Never, in 10 trials of each path (setnx), ≤31 % of trials: double grants.",
		"first grant 1205 [1202, 1208]",
		"setnx 500 214 µs – 0 – –",
		"setnx writes before refusal 195 190 199 9",
		"27: redis-timeout 27",
		"void (setnx 1): the key was on the candidate.",
		"said (setnx 1): no good replica.",
		"setnx 1/2 0/1 0/1 – fencing 0/1 0/1 0/1 0/1",
		"setnx: double grants in crash",
		"fencing: no harm was seen; the bounds above",
		"no production layout")
	for _, heading := range []string{"INTERRUPTED", "SHOWS NOTHING", "Replication window", "trials ran beside"} {
		if strings.Contains(text, heading) {
			t.Errorf("%q is said without cause:\n%s", heading, text)
		}
	}
}

func TestFailoverTableOfTheExample(t *testing.T) {
	text := squeezed(failoverText(t, exampleFailover(10)))
	wants(t, text, "lost-write, down-after 500ms", "lost-write, down-after 5s", "partition, min-replicas",
		"trials ran beside others", "second failover", "setnx 1ms 500 5000 0 % 600 µs 560 µs 900 µs 26 % –")
}

func TestVoidEntriesAreSaid(t *testing.T) {
	f := exampleFailover(3)
	for i := range f.Scenarios[1].Runs {
		f.Scenarios[1].Runs[i].Void = fmt.Sprintf("reason %d", i)
		f.Scenarios[1].Runs[i].FalseFailovers = 1
	}
	f.Interrupted = true
	f.Summarize()
	wants(t, squeezed(failoverText(t, f)), "INTERRUPTED", "SHOWS NOTHING: every trial was void in 1 of 16 entries",
		"setnx-wait 3/3 – –", "void (setnx-wait 3): reason 0 (with other numbers elsewhere).", "failovers that began before anything was injected: 3.")
}

// Many paths with long names, all events and moments, large numbers and long
// texts do not break the form.
func TestHardFailoversKeepTheirForm(t *testing.T) {
	f := &Failover{Plan: FailoverPlan{Trials: 200}}
	events := map[Event][]int64{}
	for i, event := range Events {
		events[event] = []int64{0, 0, int64(i) * 123_456, 7}
	}
	for i := range 9 {
		s := Scenario{Scenario: "a-scenario-with-a-long-name", Variant: "and-a-long-variant-of-it", Summary: strings.Repeat("long words ", 20),
			Path: "setnx-wait", Options: map[string]string{"round-trips": fmt.Sprint(i)}, Runs: trialsOf(200, events), Timed: true}
		for j := range s.Runs {
			for k, moment := range Moments {
				s.Runs[j].Times[moment] = int64(j*k) * 987_654_321
			}
			s.Runs[j].Errors = map[string]int64{"an-error-of-a-very-long-kind": 1, "another-error-of-a-very-long-kind": 2, "a-third": 9}
			s.Runs[j].Reason = fmt.Sprintf("%s %s", strings.Repeat("said ", 30), string(rune(0x4e00+j)))
			s.Runs[j].Facts = map[string]int64{"a_fact_with_a_rather_long_name_ns": int64(j) * 1e9, "count": int64(j) << 40}
		}
		s.Runs[3].Void = "void"
		s.Phases = map[Phase]Span{Before: {Count: 12_345_678, P50NS: pointer(int64(1e9)), P99NS: pointer(int64(999e9))}}
		f.Scenarios = append(f.Scenarios, s)
		f.Windows = append(f.Windows, Window{Path: s.PathLabel(), RatePerS: 12_345.678, ReplicaRTT: 1_234_567,
			Visible: Span{Count: 123_456_789, MeanNS: 123e9}, Early: 1, Measured: pointer(ShareOf(100, 1000))})
	}
	f.Summarize()
	text := failoverText(t, f)
	wants(t, squeezed(text), "196 texts more", "49/199")
	for _, event := range Events {
		_, below := twoLines(event.words())
		if !strings.Contains(text, below) {
			t.Errorf("no column for %s", event)
		}
	}
	failoverText(t, &Failover{})
	failoverText(t, &Failover{Scenarios: []Scenario{{Scenario: "planned", Path: "setnx"}}})
}
