package results

import (
	"math"
	"math/rand/v2"
	"testing"
)

func about(got, want float64) bool { return math.Abs(got-want) < 1e-9 }

// The coverages are sums of binomials at one half, by hand.
func TestOrderInterval(t *testing.T) {
	cases := []struct {
		n, k       int
		confidence float64
	}{
		{1, 0, 0}, {2, 0, 0}, {5, 0, 0},
		{6, 1, 1 - 2.0/64},
		{8, 1, 1 - 2.0/256},        // k = 2 would be 1 − 18/256 = 93 %
		{9, 2, 1 - 2.0*10/512},     // 1 + 9
		{10, 2, 1 - 2.0*11/1024},   // 1 + 10
		{12, 3, 1 - 2.0*79/4096},   // 1 + 12 + 66
		{15, 4, 1 - 2.0*576/32768}, // 1 + 15 + 105 + 455
	}
	for _, c := range cases {
		k, confidence := orderInterval(c.n)
		if k != c.k || !about(confidence, c.confidence) {
			t.Errorf("n = %d: k = %d at %v, want %d at %v", c.n, k, confidence, c.k, c.confidence)
		}
	}
}

func TestMedianOf(t *testing.T) {
	m := medianOf([]float64{6, 1, 5, 2, 4, 3})
	if m.center != 3.5 || m.low != 1 || m.high != 6 || !m.bounded {
		t.Errorf("%+v", m)
	}
	if m := medianOf([]float64{9, 7, 8}); m.center != 8 || m.bounded {
		t.Errorf("%+v", m)
	}
}

func TestMannWhitney(t *testing.T) {
	low, high := []float64{1, 2, 3, 4, 5, 6}, []float64{11, 12, 13, 14, 15, 16}
	if p, ok := mannWhitney(low, high); !ok || !about(p, 2.0/924) { // 2 of C(12, 6) orders
		t.Errorf("p = %v, %v", p, ok)
	}
	if p, ok := mannWhitney(low[:4], high[:4]); !ok || !about(p, 2.0/70) {
		t.Errorf("p = %v, %v", p, ok)
	}
	if _, ok := mannWhitney(low[:3], high); ok {
		t.Error("3 runs were tested: they cannot reach 0.05")
	}
	if low[0] != 1 || high[0] != 11 {
		t.Error("the test changed its input")
	}
}

// By hand: 0.005·4, 0.01·3, 0.03·2, and 0.04·1 raised to the one before.
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if !about(got[i], want) {
			t.Errorf("%v, want 0.03 0.06 0.06 0.02", got)
			break
		}
	}
	if got := Holm([]float64{0.9, 0.8}); got[0] != 1 || got[1] != 1 {
		t.Errorf("%v, want no more than 1", got)
	}
	if len(Holm(nil)) != 0 {
		t.Error("nothing in, something out")
	}
}

func TestUpperBoundZero(t *testing.T) {
	if got := UpperBoundZero(10); math.Abs(got-0.3085) > 0.0001 {
		t.Errorf("0 of 10: %v, want 30.85 %%", got)
	}
	if UpperBoundZero(0) != 1 || !about(UpperBoundZero(1), 0.975) {
		t.Error("0 of 0 and 0 of 1 bound next to nothing")
	}
}

func TestDrift(t *testing.T) {
	steady := []int64{100, 101, 99, 100, 102, 100}
	rising := []int64{100, 100, 106, 106, 112, 112}
	if got := Drift(rising); got == "" {
		t.Error("12 % up went unflagged")
	}
	for name, medians := range map[string][]int64{
		"steady": steady,
		"10 %":   {100, 100, 105, 105, 110, 110},
		"a hump": {100, 100, 150, 150, 112, 112},
		"short":  {100, 200, 300},
		"none":   nil,
	} {
		if got := Drift(medians); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if Drift([]int64{112, 112, 106, 106, 100, 99}) == "" {
		t.Error("12 % down went unflagged")
	}
}

// stalledRun draws a run of 1000 operations in which stalls hit stretches of
// them, so that the operations of one run are far from independent.
func stalledRun(rng *rand.Rand, h *Histogram, medianNS float64) Span {
	h.Reset()
	stalled := 0
	for range 1000 {
		ns := latency(rng, medianNS)
		if stalled == 0 && rng.Float64() < 0.001 {
			stalled = 10 + rng.IntN(20)
		}
		if stalled > 0 {
			ns += int64(stalled) * 1_000_000
			stalled--
		}
		h.Record(ns)
	}
	return h.Span()
}

// verdictsOf simulates the comparison of two paths, times over, and counts
// how often each way of looking calls them different.
func verdictsOf(rng *rand.Rand, times int, ratio float64, p Percentile) (byInterval, byTest int) {
	h := NewHistogram()
	for range times {
		r := Record{Paths: []Path{{Path: "setnx"}, {Path: "fencing"}}}
		for block := range 6 {
			for i, median := range []float64{200_000, 200_000 * ratio} {
				spans := map[SpanName]Span{SpanAcquire: stalledRun(rng, h, median)}
				r.Paths[i].Runs = append(r.Paths[i].Runs, Run{Index: block, Verdict: Valid, Spans: spans})
			}
		}
		r.Summarize()
		c := r.Paths[1].Cost[SpanAcquire][p]
		if *c.DeltaLowNS > 0 || *c.DeltaHighNS < 0 {
			byInterval++
		}
		if *c.PValue < 0.05 {
			byTest++
		}
	}
	return byInterval, byTest
}

// With no difference, an interval of 6 blocks excludes 0 in 2 of 64 cases by
// construction, 3.1 %, however the stalls fall; 6.5 % of 200 is almost
// three standard deviations above that.
func TestFalseAlarmsWithStalls(t *testing.T) {
	const times = 200
	for _, p := range []Percentile{P50, P99} {
		byInterval, byTest := verdictsOf(rand.New(rand.NewPCG(3, 4)), times, 1, p)
		t.Logf("%s: %d false alarms by interval, %d by test, of %d", p, byInterval, byTest, times)
		if limit := times * 65 / 1000; byInterval > limit || byTest > times*9/100 {
			t.Errorf("%s: %d and %d false alarms of %d", p, byInterval, byTest, times)
		}
	}
	byInterval, byTest := verdictsOf(rand.New(rand.NewPCG(5, 6)), 50, 1.2, P50)
	if byInterval < 45 || byTest < 45 {
		t.Errorf("a cost of 20 %% was seen in %d and %d of 50", byInterval, byTest)
	}
}
