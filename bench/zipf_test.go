package bench

import (
	"math"
	"slices"
	"testing"
)

// The k-th key is drawn as often as 1/k^s, also for exponents below 1.
func TestKeysAreDrawnByZipf(t *testing.T) {
	const n, draws = 100, 200_000
	for _, s := range []float64{0.01, 0.5, 1, 1.2, 3} {
		popular := popularity(n, s)
		counts := make([]float64, n)
		for slot := range int64(draws) {
			counts[draw(popular, 7, slot)]++
		}
		chi, bins := 0.0, 0
		before := 0.0
		for k := range counts {
			expected := draws * (popular[k] - before)
			before = popular[k]
			if expected >= 5 {
				chi += (counts[k] - expected) * (counts[k] - expected) / expected
				bins++
			}
		}
		// Of a chi-square with d degrees of freedom the mean is d and the
		// standard deviation √2d.
		if d := float64(bins - 1); chi > d+6*math.Sqrt(2*d) {
			t.Errorf("exponent %v: chi-square of %.0f for %d keys", s, chi, bins)
		}
	}
}

func TestASlotAlwaysHasTheSameKey(t *testing.T) {
	popular := popularity(1000, 1.1)
	others := 0
	for slot := range int64(1000) {
		first := draw(popular, 1, slot)
		if again := draw(slices.Clone(popular), 1, slot); again != first {
			t.Fatal("another key at the second look")
		}
		if draw(popular, 1, slot) != draw(popular, 2, slot) {
			others++
		}
	}
	if others < 500 {
		t.Errorf("another seed draws other keys in %d of 1000 slots", others)
	}
}
