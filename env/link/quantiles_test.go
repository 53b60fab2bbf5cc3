package link

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestReservoirIsAFairSample(t *testing.T) {
	var r reservoir
	if q := r.quantiles(); q != (Quantiles{}) {
		t.Errorf("an empty one: %+v", q)
	}
	for range 3 {
		r.add(7)
	}
	if q := r.quantiles(); q != (Quantiles{7, 7, 7, 7, 7, 3}) {
		t.Errorf("of three: %+v", q)
	}
	r.reset()
	const n = 20 * reservoirSize
	for _, i := range rand.Perm(n) {
		r.add(time.Duration(i + 1))
	}
	q := r.quantiles()
	if q.Count != n || q.Max != n {
		t.Errorf("of %d: %+v", n, q)
	}
	for p, got := range map[float64]time.Duration{0.10: q.P10, 0.50: q.P50, 0.90: q.P90, 0.99: q.P99} {
		if off := float64(got)/n - p; off < -0.06 || off > 0.06 { // 8 standard errors
			t.Errorf("P%v of 1 to %d: %d", 100*p, n, got)
		}
	}
}
