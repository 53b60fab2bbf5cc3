package results

import (
	"math"
	"testing"
)

// The values are those of R's binom.test.
func TestShareOf(t *testing.T) {
	cases := []struct {
		happened, of int
		low, high    float64
	}{
		{0, 10, 0, 0.3085}, {10, 10, 0.6915, 1}, {3, 10, 0.0667, 0.6525}, {1, 20, 0.0013, 0.2487},
		{50, 100, 0.3983, 0.6017}, {0, 1, 0, 0.975}, {1, 1, 0.025, 1}, {5, 2000, 0.0008, 0.0058}, {0, 0, 0, 1},
	}
	for _, c := range cases {
		s := ShareOf(c.happened, c.of)
		if s.Trials != c.happened || s.Of != c.of || math.Abs(s.Low-c.low) > 5e-5 || math.Abs(s.High-c.high) > 5e-5 {
			t.Errorf("%d of %d: %+v, want %v to %v", c.happened, c.of, s, c.low, c.high)
		}
	}
}

func TestShareOfAgreesWithTheBoundOfZero(t *testing.T) {
	for _, n := range []int{1, 2, 9, 10, 300, 5000} {
		if got, want := ShareOf(0, n).High, UpperBoundZero(int64(n)); math.Abs(got-want) > 1e-9*want {
			t.Errorf("0 of %d: up to %v, want %v", n, got, want)
		}
	}
}

// The interval's ends are where a result so extreme has 2.5 %, its coverage
// is never below 95 %, and it mirrors when what happened is what did not.
func TestShareOfIsExact(t *testing.T) {
	const n = 17
	var shares [n + 1]Share
	for k := range n + 1 {
		shares[k] = ShareOf(k, n)
		s, mirrored := shares[k], ShareOf(n-k, n)
		if math.Abs(s.Low+mirrored.High-1) > 1e-12 {
			t.Errorf("%d of %d from %v, and %d up to %v", k, n, s.Low, n-k, mirrored.High)
		}
		if k > 0 && math.Abs(atLeast(k, n, s.Low)-boundTail) > 1e-12 {
			t.Errorf("%d or more of %d have %v at the lower end", k, n, atLeast(k, n, s.Low))
		}
	}
	for p := 0.01; p < 1; p += 0.01 {
		covered := 0.0
		for k := range n + 1 {
			if s := shares[k]; s.Low <= p && p <= s.High {
				covered += math.Exp(logChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
			}
		}
		if covered < 0.95 {
			t.Errorf("a chance of %.2f is covered in %v of cases", p, covered)
		}
	}
}
