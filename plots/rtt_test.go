package plots

import (
	"math"
	"testing"

	"lockcost/results"
)

func TestFormulaOfALine(t *testing.T) {
	low, high := 0.99, 1.0123
	from, to := -2e3, 26e3
	for name, c := range map[string]struct {
		line         results.SensitivityLine
		start, slope string
	}{
		"with intervals": {
			results.SensitivityLine{Slope: 1.004, SlopeLow: &low, SlopeHigh: &high, InterceptNS: 25e3, InterceptLow: &from, InterceptHigh: &to, R2Ratio: 0.999999},
			"25.0 µs [−2.00 µs to 26.0 µs]", "+ 1.004 [0.990 to 1.012] × RTT, R² 0.99999",
		},
		"falling": {results.SensitivityLine{Slope: -0.25, InterceptNS: -1e6, R2Ratio: 0.5}, "−1.00 ms", "− 0.250 × RTT, R² 0.500"},
		"flat":    {results.SensitivityLine{Slope: -0.00001, R2Ratio: 1}, "0 ns", "− 0.000 × RTT, R² 1.000"},
	} {
		if start, slope := formula(&c.line); start != c.start || slope != c.slope {
			t.Errorf("%s: %q %q, want %q %q", name, start, slope, c.start, c.slope)
		}
	}
	if got := slopeText(-0.0001); got != "0.000" {
		t.Errorf("a slope of hardly anything is %q", got)
	}
}

func TestDotsOfAValue(t *testing.T) {
	low, high := int64(90), int64(110)
	level := results.Level{N: 6, MedianNS: 100, LowNS: &low, HighNS: &high, LowerBound: true}
	cost := &results.Cost{N: 6, DeltaNS: -5, Bound: results.BoundUpper}
	for name, c := range map[string]struct {
		at       results.SensitivityAt
		cost, ok bool
		ns       float64
		bound    results.Bound
	}{
		"level":     {results.SensitivityAt{Level: level}, false, true, 100, results.BoundLower},
		"no level":  {results.SensitivityAt{}, false, false, 0, ""},
		"cost":      {results.SensitivityAt{Level: level, Cost: cost}, true, true, -5, results.BoundUpper},
		"no cost":   {results.SensitivityAt{Level: level}, true, false, 0, ""},
		"in doubts": {results.SensitivityAt{Level: results.Level{N: 1, MedianNS: 7}, Doubt: "saturated"}, false, true, 7, ""},
	} {
		dot, ok := dotOf(c.at, c.cost)
		if ok != c.ok || ok && (dot.ns != c.ns || dot.bound != c.bound || dot.doubtful != (c.at.Doubt != "")) {
			t.Errorf("%s: %+v, %v", name, dot, ok)
		}
		if bounded := !math.IsNaN(dot.low); ok && bounded != (name == "level") {
			t.Errorf("%s: interval from %v", name, dot.low)
		}
	}
}

func TestSetnxCostsNothingBeyondItself(t *testing.T) {
	panel := newSweep(usualSweep(3).record()).varied("replica-rtt", results.P50)
	if len(panel.curves) != 2 || panel.curves[0].name != "setnx-wait" || len(panel.values) != 7 || panel.values[6].Number != 10e6 {
		t.Errorf("%d curves, values %v", len(panel.curves), panel.values)
	}
}
