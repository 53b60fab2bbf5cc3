package results

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var p99of5ms = SLO{SpanAcquire, P99, 5e6}

func madeUpSearch() *Capacity {
	return &Capacity{
		Schema: CapacitySchema,
		Plan:   Plan{Paths: []string{"null", "ping", "setnx", "setnx-wait"}, Effect: EffectCharge, Env: "process", OpTimeoutNS: 1e9},
		Search: Search{SLOs: []SLO{p99of5ms}, FromPerS: 250, ToPerS: 64000, LeastPerS: 10, PrecisionRatio: 0.05, Runs: 6, Varied: []Vary{}},
	}
}

// stepRun is a run at a rate that kept it, with that P99 and upper bound.
func stepRun(index int, rate float64, p99, upper int64) Run {
	return Run{
		Index: index, Verdict: Valid, Reasons: []string{}, AchievedPerS: rate, Offered: int64(2 * rate), Granted: int64(2 * rate), Completed: int64(2 * rate),
		Spans:   map[SpanName]Span{SpanAcquire: {Count: int64(2 * rate), MeanNS: p99 / 3, P50NS: pointer(p99 / 4), P90NS: pointer(p99 / 2), P99NS: &p99}, SpanTotal: {MeanNS: p99}},
		UpperNS: map[SpanName]map[Percentile]int64{SpanAcquire: {P99: upper}},
	}
}

func stepOf(rate float64, runs ...Run) Point {
	return Point{Path: Path{Path: "setnx", Options: map[string]string{}, Runs: runs}, RatePerS: rate, DurationNS: 2e9}
}

func repeated(n int, run Run) (runs []Run) {
	for i := range n {
		run.Index = i
		runs = append(runs, run)
	}
	return runs
}

func TestAStepPassesOnlyWhereItsUpperBoundDoes(t *testing.T) {
	saturated := stepRun(0, 1000, 1e6, 1e6)
	saturated.Verdict, saturated.Reasons = Saturated, []string{"900/s of 1000/s were achieved"}
	invalid := stepRun(0, 1000, 1e6, 1e6)
	invalid.Verdict, invalid.Reasons = Invalid, []string{"the driver stood still"}
	slow := stepRun(0, 980, 1e6, 1e6)
	unbounded := stepRun(0, 1000, 1e6, 1e6)
	unbounded.UpperNS = nil
	few := stepRun(0, 1000, 1e6, 1e6)
	few.Spans = map[SpanName]Span{SpanAcquire: {Count: 10}}
	good := stepRun(0, 1000, 4e6, 5e6)
	c := madeUpSearch()
	for name, s := range map[string]struct {
		runs    []Run
		outcome StepOutcome
		reason  string
	}{
		"bound at the limit":                 {[]Run{good}, StepPassed, ""},
		"bound just over it":                 {[]Run{stepRun(0, 1000, 4e6, 5e6+1)}, StepFailed, "over 5.00 ms"},
		"two of three over it":               {[]Run{good, stepRun(1, 1000, 4e6, 6e6), stepRun(2, 1000, 4e6, 7e6)}, StepFailed, "at most 6.00 ms"},
		"one of three over it":               {[]Run{good, stepRun(1, 1000, 9e6, 9e6), good}, StepPassed, ""},
		"nine runs, one over the limit":      {append(repeated(8, good), stepRun(8, 1000, 51e5, 6e6)), StepPassed, ""},
		"nine runs, two over the limit":      {append(repeated(7, good), stepRun(7, 1000, 51e5, 6e6), stepRun(8, 1000, 52e5, 6e6)), StepFailed, "at most 5.10 ms"},
		"six runs have an interval":          {repeated(6, stepRun(0, 1000, 4e6, 9e6)), StepPassed, ""},
		"six runs, one over the limit":       {append(repeated(5, good), stepRun(5, 1000, 51e5, 6e6)), StepFailed, "at most 5.10 ms"},
		"not achieved":                       {[]Run{slow}, StepFailed, "980/s of 1,000/s"},
		"one of seven saturated":             {append(repeated(6, good), saturated), StepFailed, "saturated: 900/s"},
		"one of nine saturated":              {append(repeated(8, good), saturated), StepPassed, ""},
		"saturated":                          {[]Run{saturated}, StepFailed, "saturated: 900/s"},
		"without an upper bound":             {[]Run{unbounded}, StepFailed, "too few operations"},
		"without the percentile":             {[]Run{few}, StepFailed, "too few operations"},
		"disturbed once":                     {[]Run{invalid}, StepUndecided, ""},
		"disturbed twice":                    {repeated(2, invalid), StepUndecided, ""},
		"disturbed five times":               {repeated(5, invalid), StepUndecided, ""},
		"not to be driven":                   {repeated(6, invalid), StepInstrument, "the driver stood still"},
		"disturbed, and then measured":       {[]Run{invalid, good}, StepPassed, ""},
		"mostly disturbed":                   {append(repeated(16, invalid), repeated(2, good)...), StepInstrument, "could not drive"},
		"not tried often enough":             {append(repeated(15, invalid), repeated(2, good)...), StepPassed, ""},
		"disturbed, and half of what counts": {append(repeated(15, invalid), repeated(3, good)...), StepPassed, ""},
		"interrupted only":                   {[]Run{{Interrupted: true, Verdict: Valid}}, StepUndecided, ""},
	} {
		step := c.Step(stepOf(1000, s.runs...), p99of5ms)
		if step.Outcome != s.outcome || !strings.Contains(step.Reason, s.reason) {
			t.Errorf("%s: %s (%s), want %s", name, step.Outcome, step.Reason, s.outcome)
		}
	}
}

func TestAPathWithoutALockIsHeldToItsWholeJob(t *testing.T) {
	run := stepRun(0, 1000, 1e6, 1e6)
	run.Spans = map[SpanName]Span{SpanTotal: {P99NS: pointer(int64(6e6))}}
	run.UpperNS = map[SpanName]map[Percentile]int64{SpanTotal: {P99: 6e6}}
	p := stepOf(1000, run)
	p.Path.Path = "optimistic"
	if step := madeUpSearch().Step(p, p99of5ms); step.Outcome != StepFailed || !strings.Contains(step.Reason, "total P99") {
		t.Errorf("%+v", step)
	}
}

// ladder is steps that pass up to a rate.
func ladder(runs int, rates ...float64) *Capacity {
	c := madeUpSearch()
	for i, rate := range rates {
		p99 := int64(1e6)
		if i == len(rates)-1 {
			p99 = 9e6
		}
		c.Points = append(c.Points, stepOf(rate, repeated(runs, stepRun(0, rate, p99, p99))...))
	}
	return c
}

func TestAnAnswerIsTheHighestRateBelowTheFirstThatFails(t *testing.T) {
	c := ladder(6, 250, 500, 1000, 1044)
	c.Points = append(c.Points, stepOf(4000, repeated(1, stepRun(0, 4000, 1e6, 1e6))...)) // passed by chance, above one that failed
	c.Conclude()
	a := c.Paths[0]
	if *a.MaxRatePerS != 1000 || *a.FirstFailingPerS != 1044 || a.Limit != LimitSystem || !a.Confirmed || len(a.Steps) != 5 {
		t.Errorf("%+v", a)
	}
	if len(c.Doubts()) != 0 {
		t.Errorf("%v", c.Doubts())
	}
	for name, other := range map[string]struct {
		c         *Capacity
		limit     Limit
		max       float64 // 0 for none
		confirmed bool
	}{
		"too few runs":         {ladder(5, 250, 1000, 1044), LimitSystem, 1000, false},
		"too far apart":        {ladder(6, 250, 1000, 1100), LimitSystem, 1000, false},
		"no rate":              {ladder(6, 10), LimitSystem, 0, true},
		"no rate as yet":       {ladder(6, 250), LimitSystem, 0, false},
		"all that were tried":  {passing(6, 250, 64000), LimitNone, 64000, true},
		"more could be tried":  {passing(6, 250, 500), LimitNone, 500, false},
		"the instrument's own": {undriven(1000, 1044), LimitInstrument, 1000, true},
	} {
		other.c.Conclude()
		a := other.c.Paths[0]
		if a.Limit != other.limit || a.Confirmed != other.confirmed || (a.MaxRatePerS == nil) != (other.max == 0) || a.MaxRatePerS != nil && *a.MaxRatePerS != other.max {
			t.Errorf("%s: %+v", name, a)
		}
		if doubts := other.c.Doubts(); (len(doubts) > 0) != (!other.confirmed || other.max == 0 || other.limit == LimitInstrument) {
			t.Errorf("%s: doubts %v", name, doubts)
		}
	}
}

func passing(runs int, rates ...float64) *Capacity {
	c := madeUpSearch()
	for _, rate := range rates {
		c.Points = append(c.Points, stepOf(rate, repeated(runs, stepRun(0, rate, 1e6, 1e6))...))
	}
	return c
}

func undriven(low, high float64) *Capacity {
	c := passing(6, low)
	run := stepRun(0, high, 1e6, 1e6)
	run.Verdict, run.Reasons = Invalid, []string{"lag"}
	c.Points = append(c.Points, stepOf(high, repeated(18, run)...)) // Search.Tries
	return c
}

func TestTheKneeIsWherePowerIsGreatest(t *testing.T) {
	steps := func(values ...float64) (steps []Step) { // rate, ms
		for i := 0; i < len(values); i += 2 {
			steps = append(steps, Step{RatePerS: values[i], ValueNS: pointer(int64(values[i+1] * 1e6)), Outcome: StepPassed})
		}
		return steps
	}
	if k := knee(steps(250, 1, 500, 1, 1000, 1.5, 2000, 9)); k == nil || *k != 1000 {
		t.Errorf("%v", k)
	}
	if k := knee(steps(250, 1, 500, 1, 1000, 1, 2000, 1)); k != nil {
		t.Errorf("power still grows, and the knee is %v", *k)
	}
	if k := knee(steps(250, 1, 500, 1, 1000, 9)); k != nil {
		t.Errorf("three steps show a knee at %v", *k)
	}
	undriven := steps(250, 1, 500, 1, 1000, 1.5, 2000, 9, 4000, 0.1)
	undriven[4].Outcome = StepInstrument
	if k := knee(undriven); k == nil || *k != 1000 {
		t.Errorf("%v", k)
	}
}

func TestClosedLoopsStandBesideTheEdge(t *testing.T) {
	c := ladder(6, 250, 1000, 1044)
	p := stepOf(1000, repeated(3, stepRun(0, 4000, 2e6, 2e6))...)
	p.Clients = 8
	c.Points = append(c.Points, p)
	c.Conclude()
	if closed := c.Paths[0].Closed; closed == nil || closed.Clients != 8 || closed.AchievedPerS != 4000 || *closed.ValueNS != 2e6 || closed.Open.RatePerS != 1000 {
		t.Errorf("%+v", closed)
	}
}

// varied is a point of what is varied: its P50 in each block.
func varied(path, name, text string, number float64, p50 ...int64) Point {
	p := Point{Path: Path{Path: path, Options: map[string]string{}}, RatePerS: 300, Varied: &Value{name, text, number}}
	for block, ns := range p50 {
		p.Runs = append(p.Runs, Run{Index: block, Verdict: Valid, Spans: map[SpanName]Span{SpanAcquire: {Count: 900, P50NS: &ns, P99NS: pointer(2 * ns)}}})
		p.Blocks = append(p.Blocks, block)
	}
	return p
}

// lined is WAIT at distances, costing 100 µs and a round trip more than setnx,
// give or take what noise says.
func lined(noise func() int64) *Capacity {
	c := madeUpSearch()
	c.Search.SLOs = []SLO{}
	c.Search.Varied = []Vary{{"replica-rtt", []string{"0", "1ms", "5ms"}}}
	base := []int64{200e3, 210e3, 220e3, 200e3, 190e3, 205e3}
	c.Points = append(c.Points, varied("setnx", "replica-rtt", "0", 0, base...))
	for _, at := range []struct {
		text string
		ns   int64
	}{{"0", 0}, {"1ms", 1e6}, {"5ms", 5e6}} {
		ours := slices.Clone(base)
		for i := range ours {
			ours[i] += 100e3 + at.ns + noise()
		}
		c.Points = append(c.Points, varied("setnx-wait", "replica-rtt", at.text, float64(at.ns), ours...))
	}
	return c
}

func TestTheLineThroughWaitIsFoundInBlocks(t *testing.T) {
	c := lined(func() int64 { return 0 })
	c.Conclude()
	var found bool
	for _, s := range c.Sensitivity {
		if s.Path == "setnx" && s.Line != nil {
			t.Errorf("setnx has a line of its own cost: %+v", s.Line)
		}
		if s.Path != "setnx-wait" || s.Percentile != P50 {
			continue
		}
		found = true
		l := s.Line
		if l == nil || l.N != 6 || l.Slope < 0.9999 || l.Slope > 1.0001 || l.InterceptNS < 99.9e3 || l.InterceptNS > 100.1e3 || l.R2Ratio < 0.9999 || l.WorstNS > 10 {
			t.Errorf("%+v", l)
		}
		if *l.SlopeLow > l.Slope || *l.SlopeHigh < l.Slope || l.Confidence < 0.95 {
			t.Errorf("%+v", l)
		}
		if at := s.Values[1]; at.Cost == nil || at.Cost.DeltaNS != 1100e3 || at.Level.N != 6 {
			t.Errorf("at 1 ms: %+v", at)
		}
		if text := s.LineText(); !strings.Contains(text, "100 µs [100 µs, 100 µs] plus 1 [1, 1] × replica-rtt") {
			t.Error(text)
		}
	}
	if !found {
		t.Error("nothing was concluded about setnx-wait")
	}
	random := rand.New(rand.NewPCG(3, 4))
	c = lined(func() int64 { return random.Int64N(60e3) - 30e3 })
	c.Conclude()
	l := c.Sensitivity[2].Line
	if l.Slope < 0.95 || l.Slope > 1.05 || *l.SlopeLow >= *l.SlopeHigh || l.WorstNS == 0 || l.R2Ratio > 1 {
		t.Errorf("with noise: %+v", l)
	}
}

func TestTwoValuesAreNoLine(t *testing.T) {
	c := lined(func() int64 { return 0 })
	c.Points = c.Points[:3]
	c.Conclude()
	for _, s := range c.Sensitivity {
		if s.Line != nil {
			t.Errorf("%s: %+v", s.Path, s.Line)
		}
	}
}

// Whatever order the points were measured in, and however often it is
// concluded, the answers are the same.
func TestConclusionsDependOnThePointsAlone(t *testing.T) {
	c := ladder(6, 250, 500, 1000, 1044)
	noisy := lined(func() int64 { return 7 })
	c.Search.Varied = noisy.Search.Varied
	c.Points = append(c.Points, noisy.Points...)
	c.Conclude()
	paths, sensitivity := c.Paths, c.Sensitivity
	for range 5 {
		rand.Shuffle(len(c.Points), func(i, j int) { c.Points[i], c.Points[j] = c.Points[j], c.Points[i] })
		c.Conclude()
		if !reflect.DeepEqual(c.Paths, paths) || !reflect.DeepEqual(c.Sensitivity, sensitivity) {
			t.Fatal("another order of the points came to something else")
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var again Capacity
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	again.Conclude()
	if !reflect.DeepEqual(again.Paths, paths) {
		t.Error("what was read back came to something else")
	}
}

func TestUpperBoundsAreOfOrderStatistics(t *testing.T) {
	for _, c := range []struct {
		n    int64
		q    float64
		rank int64 // by R's qbinom(0.975, n, q) + 1; 0 for none
	}{
		{367, 0.99, 0}, {368, 0.99, 368}, {1000, 0.99, 997}, {5, 0.5, 0}, {6, 0.5, 6}, {100, 0.5, 61}, {100_000, 0.999, 99_921},
	} {
		rank, ok := upperRank(c.n, c.q)
		if ok != (c.rank > 0) || ok && (rank < c.rank-1 || rank > c.rank+1) {
			t.Errorf("n %d, q %v: rank %d, %v, want %d", c.n, c.q, rank, ok, c.rank)
		}
	}
}
