package results

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func filled(samples map[int64]int) *Histogram {
	h := NewHistogram()
	for ns, times := range samples {
		for range times {
			h.Record(ns)
		}
	}
	return h
}

// near says whether got is within the histogram's precision of want.
func near(got, want int64) bool {
	return math.Abs(float64(got-want)) <= float64(want)/1000
}

func TestPercentilesAreMergedNotAveraged(t *testing.T) {
	const fast, slow = 10_000_000, 2_000_000_000 // 10 ms, 2 s
	merged := NewHistogram()
	var sum int64
	for run := range 10 { // 1000 samples in all, 11 of them slow, all in the last run
		one := filled(map[int64]int{fast: 100})
		if run == 9 {
			one = filled(map[int64]int{fast: 89, slow: 11})
		}
		sum += one.Quantile(0.99)
		merged.Merge(one)
	}
	got, ok := merged.At(P99)
	if !ok || !near(got, slow) {
		t.Errorf("P99 = %d, %v; rank 990 of 1000 is the first slow one, 2 s", got, ok)
	}
	if near(sum/10, got) {
		t.Fatal("the case does not tell merging from averaging")
	}
	exactly := filled(map[int64]int{fast: 990, slow: 10})
	if got, _ := exactly.At(P99); got != fast && !near(got, fast) {
		t.Errorf("P99 = %d with 10 slow of 1000; rank 990 is still 10 ms", got)
	}
}

func TestSamplesFor(t *testing.T) {
	want := map[Percentile]int64{P50: 6, P90: 36, P99: 368, P999: 3688}
	for p, n := range want {
		if got := SamplesFor(p); got != n {
			t.Errorf("SamplesFor(%s) = %d, want %d", p, got, n)
		}
		h := filled(map[int64]int{1000: int(n) - 1})
		if _, ok := h.At(p); ok {
			t.Errorf("%s from %d samples", p, n-1)
		}
		h.Record(1000)
		if _, ok := h.At(p); !ok {
			t.Errorf("no %s from %d samples", p, n)
		}
	}
	if _, ok := filled(map[int64]int{1: 10}).At("p95"); ok {
		t.Error("a percentile that is not reported was answered")
	}
}

func TestTwoHundredSamplesHaveNoP99(t *testing.T) {
	span := filled(map[int64]int{1_000_000: 200}).Span()
	text, err := json.Marshal(span)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"p99_ns":null`, `"p99_9_ns":null`, `"p50_ns":1000000`, `"p90_ns":1000000`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
}

func TestExactEdges(t *testing.T) {
	h := filled(map[int64]int{1_234_567: 1, 7_654_321: 1})
	if h.Min() != 1_234_567 || h.Max() != 7_654_321 || h.Mean() != 4_444_444 {
		t.Errorf("minimum %d, maximum %d, mean %v", h.Min(), h.Max(), h.Mean())
	}
	if h.Quantile(0) != h.Min() || h.Quantile(1) != h.Max() {
		t.Errorf("quantiles 0 and 1 are %d and %d, beyond the exact edges", h.Quantile(0), h.Quantile(1))
	}
	if got := filled(map[int64]int{0: 3}); got.Count() != 3 || got.Max() != 0 || got.Overflow() != 0 {
		t.Error("0 is a sample like another")
	}
}

func TestNothingIsLostInSilence(t *testing.T) {
	h := filled(map[int64]int{-1: 2, math.MaxInt64: 3, 1000: 4})
	if h.Count() != 4 || h.Overflow() != 5 || h.Max() != 1000 || h.Min() != 1000 {
		t.Errorf("count %d, overflow %d, from %d to %d", h.Count(), h.Overflow(), h.Min(), h.Max())
	}
	var sum Histogram
	sum.Merge(h)
	sum.Merge(h)
	sum.Merge(nil)
	if sum.Count() != 8 || sum.Overflow() != 10 {
		t.Errorf("merged: count %d, overflow %d", sum.Count(), sum.Overflow())
	}
	sum.Reset()
	if sum.Count() != 0 || sum.Overflow() != 0 || sum.Max() != 0 || sum.Mean() != 0 || sum.Quantile(0.5) != 0 {
		t.Error("Reset left something behind")
	}
}

func TestMergeKeepsEdges(t *testing.T) {
	a := filled(map[int64]int{2000: 1})
	a.Merge(filled(map[int64]int{1000: 1, 3000: 1}))
	if a.Min() != 1000 || a.Max() != 3000 || a.Mean() != 2000 {
		t.Errorf("from %d to %d, mean %v", a.Min(), a.Max(), a.Mean())
	}
	a.Merge(NewHistogram())
	if a.Min() != 1000 {
		t.Error("an empty histogram has no minimum to merge")
	}
}
