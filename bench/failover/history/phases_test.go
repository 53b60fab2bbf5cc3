package history

import (
	"math"
	"reflect"
	"testing"

	"lockcost/results"
)

const ms = int64(1_000_000)

// steady is n grants invoked from a moment on, one a millisecond, each with
// the same response.
func steady(n int, from, response int64) []Op {
	var ops []Op
	for i := range int64(n) {
		invoked := from + i*ms
		ops = append(ops, grant(i, invoked, invoked+response, 1000*ms, never))
	}
	return ops
}

// near tells whether got is within the histogram's precision of want.
func near(got *int64, want int64) bool {
	return got != nil && math.Abs(float64(*got-want)) <= float64(want)/1000
}

func TestPhasesAreMergedOverTrials(t *testing.T) {
	// Of 1,000 grants before the fault 11 are slow, all in one trial: rank 990
	// is the first of them. The mean of ten trials' P99 would be far below.
	var trials []Timed
	for i := range 10 {
		before := steady(100, 0, 2*ms)
		if i == 9 {
			before = append(steady(89, 0, 2*ms), steady(11, 100*ms, 500*ms)...)
		}
		trials = append(trials, Timed{Ops: before, FaultNS: 200 * ms, DuringEndNS: 300 * ms, EndNS: 1000 * ms})
	}
	got := Phases(trials)
	before := got[results.Before]
	if len(got) != 1 || before.Count != 1000 || !near(before.P50NS, 2*ms) || !near(before.P99NS, 500*ms) {
		t.Errorf("phases %+v, want 1000 grants before, with P50 2 ms and P99 500 ms", got)
	}
	if before.MinNS != 2*ms || before.MaxNS != 500*ms || before.P999NS != nil {
		t.Errorf("min %d, max %d, P99.9 %v, want 2 ms, 500 ms and none", before.MinNS, before.MaxNS, before.P999NS)
	}
}

func TestPhasesDivideByInvocation(t *testing.T) {
	ops := []Op{
		grant(1, 99, 400, 1, never),                                     // before, though it returned after
		grant(2, 100, 101, 1, never),                                    // at the fault
		grant(3, 199, 500, 1, never),                                    // during
		with(grant(4, 200, 203, 1, never), func(o *Op) { o.DueNS = 0 }), // at the end of during
		attempt(5, 50, 60, Held), attempt(5, 150, 160, "x"), attempt(5, 250, 260, Unreplicated),
	}
	got := Phases([]Timed{{Ops: ops, FaultNS: 100, DuringEndNS: 200, EndNS: 1000}})
	want := map[results.Phase][3]int64{ // count, least and greatest response
		results.Before: {1, 301, 301}, results.During: {2, 1, 301}, results.After: {1, 3, 3},
	}
	for phase, w := range want {
		if s := got[phase]; [3]int64{s.Count, s.MinNS, s.MaxNS} != w {
			t.Errorf("%s: %+v, want count, min, max %v", phase, s, w)
		}
	}
	if p := got[results.After].P50NS; p != nil {
		t.Errorf("P50 %d of one sample", *p)
	}
	if got := Phases([]Timed{{Ops: ops, FaultNS: -1, EndNS: 1000}}); len(got) != 1 || got[results.Before].Count != 4 {
		t.Errorf("without a fault: %+v, want all 4 before", got)
	}
	if got := Phases(nil); len(got) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestTimelineIsAlignedAtTheFault(t *testing.T) {
	trials := []Timed{
		{FaultNS: 150 * ms, EndNS: 350 * ms, Ops: []Op{
			grant(1, 0, 49*ms, 1, never),             // in the slice from −200 ms
			grant(1, 0, 50*ms, 1, never),             // −100 ms exactly
			attempt(1, 100*ms, 150*ms-1, Held),       // just before the fault
			attempt(1, 100*ms, 150*ms, "redis-x"),    // at the fault
			attempt(1, 100*ms, 349*ms, Unreplicated), // 199 ms
			grant(1, 100*ms, 350*ms, 1, never),       // when the trial had ended
		}},
		{FaultNS: 20 * ms, EndNS: 321 * ms, Ops: []Op{
			grant(1, 0, 5*ms, 1, never),
			grant(1, 0, 320*ms, 1, never), // 300 ms
		}},
		{FaultNS: -1, EndNS: 9000 * ms, Ops: []Op{grant(1, 0, 10, 1, never)}},
	}
	want := []results.Slice{
		{AtNS: -200 * ms, Trials: 1, Granted: 1},
		{AtNS: -100 * ms, Trials: 2, Granted: 2, Held: 1},
		{AtNS: 0, Trials: 2, Failed: 1},
		{AtNS: 100 * ms, Trials: 2, Failed: 1},
		{AtNS: 200 * ms, Trials: 1},
		{AtNS: 300 * ms, Trials: 1, Granted: 1},
	}
	if got := Timeline(trials); !reflect.DeepEqual(got, want) {
		t.Errorf("slices\n%+v\nwant\n%+v", got, want)
	}
	if got := Timeline(trials[2:]); got != nil {
		t.Errorf("slices %+v of a trial without a fault", got)
	}
	if got := Timeline(nil); got != nil {
		t.Errorf("slices %+v of nothing", got)
	}
}

func TestTimelineMergesResponses(t *testing.T) {
	trial := func(response int64) Timed {
		return Timed{Ops: steady(60, 101*ms-response, response), FaultNS: 0, EndNS: 300 * ms}
	}
	// 120 fast ones in two trials and 60 slow ones in a third return in the
	// same slice: the median is fast. The next slice has nothing of them.
	got := Timeline([]Timed{trial(2 * ms), trial(2 * ms), trial(90 * ms)})
	if len(got) != 3 || got[1].Granted != 180 || !near(got[1].P50NS, 2*ms) || got[1].P99NS != nil {
		t.Fatalf("slices %+v, want 180 grants in the second, P50 2 ms, too few for P99", got)
	}
	if got[2].P50NS != nil || got[0].P50NS != nil {
		t.Errorf("percentiles in slices without grants: %+v", got)
	}
	var many []Timed
	for range 10 {
		many = append(many, trial(90*ms))
	}
	if got := Timeline(many); !near(got[1].P99NS, 90*ms) {
		t.Errorf("P99 %v of 600 samples, want 90 ms", got[1].P99NS)
	}
}
