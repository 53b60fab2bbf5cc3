package load

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestVariationOfGaps(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		gap      func(int) float64
		low, top float64
	}{
		"even":      {func(int) float64 { return 1 }, 0, 1e-6},
		"Poisson":   {func(int) float64 { return random.ExpFloat64() }, 0.9, 1.1},
		"bursts":    {func(i int) float64 { return map[bool]float64{true: 20, false: 0}[i%20 == 0] }, 4, 5},
		"alternate": {func(i int) float64 { return float64(1 + i%2*2) }, 0.45, 0.55},
	} {
		var g spacing
		at := 0.0
		var starts []time.Duration
		for i := range 5000 {
			at += c.gap(i) * 1e6
			starts = append(starts, time.Duration(at))
		}
		// They come by worker, not in order, and a second at a time.
		for from := 0; from < len(starts); from += 1000 {
			for _, i := range random.Perm(1000) {
				g.add(int64(from+i), starts[from+i])
			}
			g.end()
		}
		if cv := g.variation(); cv < c.low || cv > c.top {
			t.Errorf("%s: %.3f, want %v to %v", name, cv, c.low, c.top)
		}
	}
	if cv := new(spacing).variation(); cv != 0 {
		t.Errorf("without gaps: %v", cv)
	}
}
