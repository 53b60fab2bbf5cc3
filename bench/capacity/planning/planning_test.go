package planning

import (
	"math"
	"testing"

	"lockcost/results"
)

func TestPoissonQuantile(t *testing.T) {
	for _, c := range []struct {
		mean, q float64
		want    int
	}{{0, 0.999, 0}, {0.001, 0.5, 0}, {1, 0.5, 1}, {1, 0.999, 5}, {10, 0.5, 10}, {10, 0.999, 21}, {100, 0.999, 132}} {
		if got := PoissonQuantile(c.mean, c.q); got != c.want {
			t.Errorf("mean %v, q %v: %d, want %d", c.mean, c.q, got, c.want)
		}
	}
}

func TestLittle(t *testing.T) {
	if got := Little(3000, 40e6); got != 120 {
		t.Errorf("3000/s of 40 ms: %v at once, want 120", got)
	}
}

func exampleCurve() curve {
	at := func(rate float64, ns int64) knot {
		low, high := ns*9/10, ns*11/10
		return knot{ratePerS: rate, level: results.Level{N: 6, MedianNS: ns, LowNS: &low, HighNS: &high}}
	}
	return curve{at(1000, 1e6), at(2000, 2e6), at(4000, 8e6)}
}

func TestCurve(t *testing.T) {
	c := exampleCurve()
	for _, k := range c {
		if e, err := c.at(k.ratePerS); err != nil || e.MedianNS != k.level.MedianNS || e.Extrapolated {
			t.Errorf("at the measured %v/s: %+v, %v", k.ratePerS, e, err)
		}
	}
	before := int64(0)
	for rate := 1000.0; rate <= 4000; rate += 50 {
		e, err := c.at(rate)
		if err != nil || e.MedianNS <= before || *e.LowNS > e.MedianNS || *e.HighNS < e.MedianNS {
			t.Fatalf("at %v/s: %+v after %d, %v", rate, e, before, err)
		}
		before = e.MedianNS
	}
	if e, _ := c.at(1000 * math.Sqrt2); math.Abs(float64(e.MedianNS)-1e6*math.Sqrt2) > 1 {
		t.Errorf("midway in the logarithm: %d ns", e.MedianNS)
	}
}

func TestCurveOutside(t *testing.T) {
	for _, c := range []struct {
		rate    float64
		refused bool
	}{{4399, false}, {4401, true}, {901, false}, {899, true}} {
		e, err := exampleCurve().at(c.rate)
		if (err != nil) != c.refused || err == nil && !e.Extrapolated {
			t.Errorf("%v/s: %+v, %v", c.rate, e, err)
		}
	}
	if _, err := exampleCurve()[:1].at(1001); err == nil {
		t.Error("one rate has no slope, and was extrapolated")
	}
}
