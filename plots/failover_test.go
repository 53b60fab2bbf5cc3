package plots

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockcost/results"
)

// failoverInputs are the records that every figure must cope with.
func failoverInputs() map[string]*results.Failover {
	full := madeUpFaults(fourPaths, faultCases, 10)

	wide := madeUpFaults(allPaths, faultCases[:6], 10)
	hundred := madeUpFaults(allPaths, faultCases[4:7], 120)

	once := madeUpFaults(fourPaths[:1], faultCases[:1], 1)
	once.Interrupted, once.Windows = true, once.Windows[:1]
	once.Windows[0].Path = "setnx-wait:round-trips=2:wait-timeout=250ms"

	sparse := madeUpFaults(fourPaths, slices.Concat(faultCases[4:6], faultCases[14:16], faultCases[18:19]), 10)
	sparse.Windows = nil
	sparse.Scenarios = slices.DeleteFunc(sparse.Scenarios, func(s results.Scenario) bool {
		return s.Path == "fencing" && s.Scenario == "pause-holder"
	})
	sparse.Scenarios[0].Options = map[string]string{"round-trips": "2", "a-name-that-does-not-fit-a-column": "something"}

	stuck := madeUpFaults(fourPaths[1:2], faultCases[:3], 10) // no grant ever comes back
	for i := range stuck.Scenarios {
		for _, trial := range stuck.Scenarios[i].Runs {
			delete(trial.Times, results.FirstGrant)
		}
		for j := range stuck.Scenarios[i].Timeline {
			if slice := &stuck.Scenarios[i].Timeline[j]; slice.AtNS >= 0 {
				slice.Granted, slice.P50NS, slice.P99NS = 0, nil, nil
			}
		}
	}
	stuck.Summarize()
	stuck.Windows[0].Visible = results.Span{}
	stuck.Windows[1].Measured = nil

	few := everyFault(3) // kinds, but no more paths than one grid holds in words
	few.Scenarios = slices.DeleteFunc(few.Scenarios, func(s results.Scenario) bool {
		return s.Path != "setnx" && s.Path != "setnx-wait" && s.Path != "idempotent" || s.Scenario == "freeze"
	})
	apart := everyFault(3) // services without Sentinel
	apart.Scenarios = slices.DeleteFunc(apart.Scenarios, func(s results.Scenario) bool { return s.Path != "etcd" && s.Path != "zookeeper" })

	return map[string]*results.Failover{
		"full": full, "wide": wide, "hundred": hundred, "one trial": once, "sparse": sparse, "no grant": stuck,
		"empty": {Schema: results.FailoverSchema}, "no scenario": {Windows: full.Windows},
		"all kinds": everyFault(6), "few kinds": few, "no primary": apart,
	}
}

// drawnFaults are the figures that are drawn of each input.
var drawnFaults = map[string][]string{
	"full":        {"safety", "timeline", "failover-time", "window"},
	"wide":        {"safety", "timeline", "failover-time", "window"},
	"hundred":     {"safety", "timeline", "window"},
	"one trial":   {"safety", "timeline", "failover-time", "window"},
	"sparse":      {"safety"},
	"no grant":    {"safety", "timeline", "failover-time", "window"},
	"empty":       {"safety"},
	"no scenario": {"safety", "window"},
	"all kinds": {"safety", "safety-2", "safety-3", "safety-4", "safety-5", "safety-6", "safety-7",
		"timeline", "timeline-2", "timeline-3", "timeline-4", "failover-time", "failover-time-2", "window"},
	"few kinds":  {"safety", "timeline", "timeline-2", "timeline-3", "failover-time", "failover-time-2", "window"},
	"no primary": {"safety", "timeline", "failover-time", "window"},
}

// expectedFaults are words that a figure of an input must carry.
var expectedFaults = map[string]map[string][]string{
	"full": {
		"safety": {"10 trials of each scenario and path, 52 void in all", "3 sentinels", "no production layout",
			"double charges", "10/10", "0/10", "10 void", "at most 31 %", "0/8: at most 37 %", "min-replicas, max-lag 1 s",
			"crash-steady: the primary is killed under a steady load of both clients.",
			"freeze: the primary stands still", "freeze, holder frozen with it: the same, and the holder.", "down-after 500 ms",
			"Sentinel promoted nobody: no good replica (52)", "Not marked: lost grants (in 1 of 748 trials)"},
		"timeline": {"crash-steady: setnx-wait", "freeze: idempotent", "fault", "noticed", "elected", "promoted", "first write",
			"announced", "first grant", "granted", "held", "failed", "P50", "P99", "per second", "response", "time from the fault (s)",
			"−1 s", "1 ms", "10 trials", "200 acquisitions/s",
			"Not drawn, for want of room for more than 8: manual-failover, down-after 1 s (setnx, setnx-wait, fencing, idempotent)",
			"crash-steady, down-after 5 s (setnx, setnx-wait, fencing, idempotent)"},
		"failover-time": {"noticed, 5.0", "first grant, 5.", "floor: down-after", "500 ms", "5 s", "Sentinel's down-after",
			"through the path setnx.", "Also run: setnx-wait, fencing, idempotent", "+100 ms", "10 trials at each down-after"},
		"window": {"100 grants/s, replica at 0 ms", "1000 grants/s, replica at 10 ms", "predicted 99 %", "measured 1/29",
			"measured 3/10", "not measured", "P90", "10 %", "1 ms", "6,000 grants a row", "51 of 36,000 grants"},
	},
	"wide":    {"safety": {"0/10", "orphaned locks"}, "timeline": {"zookeeper, waitaof, optimistic, null, ping"}},
	"hundred": {"safety": {"In how many trials it happened.", "0/120: at most 3 %", "There is no figure failover-time: no crash-steady"}},
	"one trial": {
		"safety":        {"INTERRUPTED", "1 trial of each", "at most 98 %|1/1", "×"},
		"timeline":      {"INTERRUPTED", "1 trial"},
		"failover-time": {"INTERRUPTED", "Only one value of down-after was run", "noticed, 1.0"},
		"window":        {"INTERRUPTED", "round-trips=2, wait-timeout=250ms", "measured 0/1"},
	},
	"sparse": {"safety": {"round-trips=2", "There is no figure timeline: no timed scenario", "There is no figure failover-time",
		"There is no figure window: the replication window was not measured"}},
	"all kinds": {
		"safety":          {"all paths (1 of 7)", "one server's word", "granted by several", "checked by the ledger", "connection=shared", "crash-steady"},
		"safety-2":        {"all paths (2 of 7)", "session-expires"},
		"safety-3":        {"one server's word (3 of 7)", "notify=yes", "×"},
		"safety-5":        {"granted by several servers (5 of 7)", "node-restarted-empty: one of five nodes loses what it had."},
		"timeline":        {"one server's word (1 of 4)", "crash-steady: watchdog notify=yes", "Not drawn, for want of room for more than 5"},
		"timeline-2":      {"leader-killed: etcd"},
		"timeline-3":      {"leader-killed: zookeeper"},
		"failover-time":   {"through the path setnx."},
		"failover-time-2": {"How long no lock is granted", "leader-killed, down-after 1 s", "zookeeper", "token=etcd", "checked by the ledger"},
	},
	"few kinds":  {"safety": {"all paths", "crash-steady: the primary is killed"}, "failover-time-2": {"setnx-wait"}},
	"no primary": {"safety": {"leader-killed"}, "failover-time": {"How long no lock is granted", "leader-killed"}},
	"no grant":   {"timeline": {"Where nothing is shaded, no first grant"}, "failover-time": {"announced, 5"}, "window": {"not measured"}},
	"empty":      {"safety": {"Nothing to draw", "no trials", "There is no figure window"}},
}

func TestEveryFailoverFigureOfEveryInput(t *testing.T) {
	for name, record := range failoverInputs() {
		if raceEnabled && name != "one trial" && name != "empty" {
			continue // drawing is done in one goroutine
		}
		t.Run(name, func(t *testing.T) {
			drawn, err := faults{record}.draw(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, figure := range drawn {
				names = append(names, figure.Name)
				texts := textsOf(t, figure.Files[1])
				if name != "empty" && name != "no scenario" {
					checkPNG(t, figure.Files[0], texts)
				}
				checkTexts(t, figure.Name, texts)
				checkWords(t, figure.Name, texts, expectedFaults[name][figure.Name], []string{"NaN", "%!", "Inf"})
				for _, note := range figure.Notes {
					checkWords(t, figure.Name, texts, strings.Fields(note)[:1], nil)
				}
			}
			if !slices.Equal(names, drawnFaults[name]) {
				t.Errorf("drawn are %v, want %v", names, drawnFaults[name])
			}
		})
	}
}

func TestDrawFailoverReadsAFolder(t *testing.T) {
	folder, err := results.CreateFailover(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	record := madeUpFaults(fourPaths[:2], faultCases[:2], 2)
	for i := range record.Scenarios { // as a run that was killed leaves it
		record.Scenarios[i].Shares, record.Scenarios[i].Times, record.Scenarios[i].Trials = nil, nil, 0
	}
	if err := folder.Save(record); err != nil {
		t.Fatal(err)
	}
	first, second := filepath.Join(t.TempDir(), "made", "by", "draw"), t.TempDir()
	for _, out := range []string{first, second} {
		drawn, err := DrawFailover(folder.Dir(), out)
		if err != nil {
			t.Fatal(err)
		}
		if len(drawn) != len(failoverFigures) {
			t.Errorf("%d figures, want %d", len(drawn), len(failoverFigures))
		}
	}
	for _, f := range failoverFigures {
		for _, kind := range []string{".png", ".svg"} {
			a, errA := os.ReadFile(filepath.Join(first, f.name+kind))
			b, errB := os.ReadFile(filepath.Join(second, f.name+kind))
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Errorf("%s%s differs between two drawings (%v, %v)", f.name, kind, errA, errB)
			}
		}
	}
	checkWords(t, "safety", textsOf(t, filepath.Join(first, "safety.svg")), []string{"2 trials of each", "0/2|1/2|2/2"}, nil)

	empty := t.TempDir()
	if _, err := DrawFailover(empty, empty); err == nil || !strings.Contains(err.Error(), empty) {
		t.Errorf("drawing a folder without experiments: %v", err)
	}
}

func TestSafetyRowsHoldEveryScenarioOnce(t *testing.T) {
	all := madeUpFaults(fourPaths, faultCases, 1).Scenarios
	all = append(all, all[0]) // the same twice: nothing may hide the other
	columns, rows := safetyRows(all)
	if !slices.Equal(columns, fourPaths) {
		t.Errorf("columns %v", columns)
	}
	if want := len(faultCases) + 1; len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	cells := 0
	for _, row := range rows {
		for i, cell := range row.cells {
			if cell == nil {
				continue
			}
			cells++
			if cell.Scenario != row.scenario || columnOf(*cell) != columns[i] {
				t.Errorf("%s of %s stands in the row %s, column %s", cell.Scenario, cell.Path, row.scenario, columns[i])
			}
		}
	}
	if cells != len(all) {
		t.Errorf("%d cells of %d scenarios", cells, len(all))
	}
	if got := rows[0].detail; got != "down-after 1 s" {
		t.Errorf("the first row is told apart by %q", got)
	}
}

func TestQuietCells(t *testing.T) {
	none := results.Share{Of: 8}
	for _, c := range []struct {
		scenario results.Scenario
		want     []string
	}{
		{results.Scenario{Trials: 10, Void: 2, Shares: map[results.Event]results.Share{results.DoubleGrant: none}}, []string{"0/8", "2 void"}},
		{results.Scenario{Trials: 10, Void: 10}, []string{"10 void"}},
		{results.Scenario{Trials: 10}, []string{"not counted"}},
		{results.Scenario{Trials: 10, Shares: map[results.Event]results.Share{results.OrphanedLock: {Trials: 1, Of: 10}}}, nil},
	} {
		if got := quietLines(c.scenario); !slices.Equal(got, c.want) {
			t.Errorf("%+v says %q, want %q", c.scenario, got, c.want)
		}
	}
}

func TestTimelineRates(t *testing.T) {
	ns := int64(5)
	rates, latency := tracesOf([]results.Slice{
		{AtNS: -100e6, Trials: 10, Granted: 40, Held: 20, P50NS: &ns},
		{AtNS: 0, Trials: 0},
		{AtNS: 100e6, Trials: 5, Granted: 5, Held: 1},
	})
	if len(rates) != 2 || rates[0].value[0] != 40 || rates[1].value[0] != 20 || rates[0].value[2] != 10 {
		t.Errorf("rates %+v", rates)
	}
	if !math.IsNaN(rates[0].value[1]) || !math.IsNaN(latency[0].value[2]) || latency[0].value[0] != 5 {
		t.Errorf("gaps: %v, %v", rates[0].value, latency[0].value)
	}
	if at := rates[0].at; math.Abs(at[0]+0.05) > 1e-9 || math.Abs(at[2]-0.15) > 1e-9 {
		t.Errorf("slices stand at %v", at)
	}
}

func TestTimelineChoice(t *testing.T) {
	all := madeUpFaults(fourPaths, faultCases, 10).Scenarios
	slices.Reverse(all)
	shown, left := timelineChoice(all)
	if len(shown) != timelineMost || len(shown)+len(left) != len(only(all, func(s results.Scenario) bool { return len(s.Timeline) > 0 })) {
		t.Fatalf("%d shown, %d left", len(shown), len(left))
	}
	for i, s := range shown {
		if (s.Scenario == mainScenario) != (i < len(fourPaths)) {
			t.Errorf("panel %d is %s of %s", i, s.Scenario, s.Path)
		}
	}
}

func TestFailoverTimesAreOfOnePathAndInOrder(t *testing.T) {
	all := madeUpFaults(fourPaths, faultCases, 10).Scenarios
	shown, others := timesChoice(all)
	var at []time.Duration
	for _, s := range shown {
		at = append(at, time.Duration(s.DownAfterNS))
		if s.Path != "setnx" || s.Variant != "" {
			t.Errorf("%s of %s is drawn", s.Label(), s.Path)
		}
	}
	if !slices.Equal(at, []time.Duration{500 * time.Millisecond, time.Second, 5 * time.Second}) {
		t.Errorf("down-after %v", at)
	}
	if len(others) != 12 {
		t.Errorf("%d others, want four of each other path", len(others))
	}
	void := shown[2] // has a void trial
	first := stepTimes(void)[0]
	if len(first.trials) != 9 {
		t.Errorf("%d trials are drawn, want those that are not void", len(first.trials))
	}
	if floor := float64(void.DownAfterNS); first.since(floor).median != first.median-floor || first.since(floor).trials[0] != first.trials[0]-floor {
		t.Error("times beyond the floor are not the times less the floor")
	}
}
