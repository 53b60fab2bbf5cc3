package results

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

// Seven trials, of which one is void and one does not report tokens.
func summedScenario() Scenario {
	s := Scenario{Scenario: "lost-write", Path: "fencing", Runs: trialsOf(7, map[Event][]int64{
		DoubleGrant: {0, 2, 0, 1, 0, 5, 9}, DoubleCharge: {0}, RepeatedToken: {1, 1, 1, 1, 1, 1, 1}})}
	for i := range s.Runs {
		t := &s.Runs[i]
		t.Granted, t.Held, t.Unreplicated, t.Expired, t.FalseFailovers = 10, 4, 3, 2, 1
		t.Errors = map[string]int64{"redis-timeout": 2}
		t.Times[Noticed] = int64(1000 + i)
	}
	s.Runs[2].Errors["ledger-timeout"] = 5
	delete(s.Runs[3].Events, RepeatedToken)
	s.Runs[0].Times[FirstGrant] = 2000
	s.Runs[6].Void = "the key was on the candidate"
	s.Runs[6].Times[Elected] = 1500
	return s
}

func TestFailoverSums(t *testing.T) {
	f := &Failover{Scenarios: []Scenario{summedScenario()}}
	f.Summarize()
	once, _ := json.Marshal(f)
	f.Summarize()
	if twice, _ := json.Marshal(f); string(twice) != string(once) {
		t.Error("summing up twice gives other sums")
	}
	s := f.Scenarios[0]
	got := []int64{int64(s.Trials), int64(s.Void), s.DoubleGrants, s.DoubleCharges, s.RepeatedTokens,
		s.Granted, s.Held, s.Unreplicated, s.Expired, s.FalseFailovers}
	if want := []int64{7, 1, 8, 0, 5, 60, 24, 18, 12, 7}; !reflect.DeepEqual(got, want) {
		t.Errorf("sums %v, want %v", got, want)
	}
	if want := map[string]int64{"redis-timeout": 12, "ledger-timeout": 5}; !reflect.DeepEqual(s.Errors, want) {
		t.Errorf("errors %v, want %v", s.Errors, want)
	}
	want := map[Event]Share{DoubleGrant: ShareOf(3, 6), DoubleCharge: ShareOf(0, 6), RepeatedToken: ShareOf(5, 5)}
	if !reflect.DeepEqual(s.Shares, want) {
		t.Errorf("shares %v, want %v", s.Shares, want)
	}
	if f.Count() != 7 || f.Doubtful() != 0 {
		t.Errorf("%d trials, %d doubtful", f.Count(), f.Doubtful())
	}
}

func TestFailoverTimes(t *testing.T) {
	s := summedScenario()
	s.summarize()
	noticed := s.Times[Noticed]
	if noticed.N != 6 || noticed.MedianNS != 1003 || *noticed.LowNS != 1000 || *noticed.HighNS != 1005 || math.Abs(noticed.Confidence-0.96875) > 1e-9 {
		t.Errorf("noticed %+v", noticed)
	}
	first := s.Times[FirstGrant]
	if first.N != 1 || first.MedianNS != 2000 || first.LowNS != nil || first.HighNS != nil {
		t.Errorf("first grant %+v", first)
	}
	if l, ok := s.Times[Elected]; ok {
		t.Errorf("a void trial's time counts: %+v", l)
	}
}

func TestEveryEventHasItsSum(t *testing.T) {
	events := map[Event][]int64{}
	for i, event := range Events {
		events[event] = []int64{int64(i + 1)}
	}
	s := Scenario{Runs: trialsOf(1, events)}
	s.summarize()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for i, event := range Events {
		if fields[string(event)] != float64(i+1) {
			t.Errorf("%s: %v, want %d", event, fields[string(event)], i+1)
		}
	}
}

func TestDoubtfulEntries(t *testing.T) {
	void := trialsOf(2, nil)
	void[0].Void, void[1].Void = "a", "b"
	half := trialsOf(2, nil)
	half[0].Void = "a"
	f := &Failover{Scenarios: []Scenario{{Runs: void}, {Runs: half}, {Runs: trialsOf(2, nil)}, {}}}
	f.Summarize()
	if f.Doubtful() != 1 || f.Count() != 6 {
		t.Errorf("%d doubtful of %d trials, want 1 of 6", f.Doubtful(), f.Count())
	}
	if len(f.Scenarios[0].Shares) != 0 {
		t.Errorf("void trials have shares: %v", f.Scenarios[0].Shares)
	}
}

func TestWindowsArePredictedAndMeasured(t *testing.T) {
	steady := func(change func(*Scenario), losses ...int64) Scenario {
		s := Scenario{Scenario: "crash-steady", Path: "setnx", RatePerS: 1000, DownAfterNS: 1e9,
			Runs: trialsOf(len(losses), map[Event][]int64{LostGrant: losses})}
		change(&s)
		return s
	}
	f := &Failover{
		Scenarios: []Scenario{
			steady(func(s *Scenario) {}, 0, 3, 1, 0),
			steady(func(s *Scenario) { s.DownAfterNS = 5e8 }, 0, 1), // the same window
			steady(func(s *Scenario) { s.RatePerS = 500 }, 1),
			steady(func(s *Scenario) { s.ReplicaRTT = 1e6 }, 1),
			steady(func(s *Scenario) { s.Variant = "two-replicas" }, 1),
			steady(func(s *Scenario) { s.Scenario = "lost-write" }, 1),
			steady(func(s *Scenario) { s.Path, s.Options = "setnx-wait", map[string]string{"round-trips": "2"} }, 0, 0),
		},
		Windows: []Window{
			{Path: "setnx", RatePerS: 500, Visible: Span{Count: 10, MeanNS: 1e6}},
			{Path: "setnx", RatePerS: 1000, Visible: Span{Count: 10, MeanNS: 1e6}, Measured: &Share{Of: 4}},
			{Path: "setnx-wait:round-trips=2", RatePerS: 500},
		},
	}
	f.Summarize()
	for i, want := range []struct {
		predicted float64
		measured  *Share
	}{
		{1 - math.Exp(-0.5), pointer(ShareOf(3, 6))},
		{1 - math.Exp(-1), nil},
		{0, pointer(ShareOf(0, 2))},
	} {
		w := f.Windows[i]
		if math.Abs(w.PredictedLoss-want.predicted) > 1e-12 || !reflect.DeepEqual(w.Measured, want.measured) {
			t.Errorf("window %d: %v, %v; want %v, %v", i, w.PredictedLoss, w.Measured, want.predicted, want.measured)
		}
	}
}

func TestFailoverLabels(t *testing.T) {
	f := &Failover{Scenarios: []Scenario{
		{Scenario: "crash", DownAfterNS: 5e8, Path: "setnx"},
		{Scenario: "crash", DownAfterNS: 1e9, Path: "setnx"},
		{Scenario: "crash", DownAfterNS: 1e9, ReplicaRTT: 1e6, Path: "setnx"},
		{Scenario: "partition", Variant: "min-replicas", DownAfterNS: 1e9, Path: "setnx", Options: map[string]string{"a": "1"}},
		{Scenario: "partition", DownAfterNS: 5e8, Path: "setnx"},
	}}
	want := []string{"crash, down-after 500ms, replica RTT 0s", "crash, down-after 1s, replica RTT 0s",
		"crash, down-after 1s, replica RTT 1ms", "partition, min-replicas", "partition"}
	for i, s := range f.Scenarios {
		if got := f.Label(s); got != want[i] {
			t.Errorf("label %q, want %q", got, want[i])
		}
		for j, other := range f.Scenarios {
			if s.SameAs(other) != (i == j) {
				t.Errorf("entries %d and %d: the same is %v", i, j, s.SameAs(other))
			}
		}
	}
	if got := f.Scenarios[3].PathLabel(); got != "setnx:a=1" {
		t.Errorf("path %q", got)
	}
}
