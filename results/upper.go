package results

import "math"

// UpperBounds are, for each percentile that has enough samples (SamplesFor),
// the upper end of its exact two-sided 95 % interval from order statistics:
// the value of the least rank r for which Binomial(n, q) reaches r with a
// chance of at most 2.5 %. See David and Nagaraja, Order Statistics, 7.1. It
// takes the samples for independent, which in a run with stalls they are not:
// it is a bound for want of several runs, and no substitute for them.
func (h *Histogram) UpperBounds() map[Percentile]int64 {
	bounds := map[Percentile]int64{}
	for _, p := range Percentiles {
		if rank, ok := upperRank(h.Count(), p.Quantile()); ok {
			bounds[p] = h.Quantile(float64(rank) / float64(h.Count()))
		}
	}
	return bounds
}

// upperRank is the least rank, from 1, whose value bounds the quantile from
// above; ok is false where even the greatest of n values does not.
func upperRank(n int64, q float64) (rank int64, ok bool) {
	logFactorial := func(k int64) float64 { v, _ := math.Lgamma(float64(k) + 1); return v }
	tail := 0.0 // P(Binomial(n, q) ≥ k)
	for k := n; k >= 0; k-- {
		log := logFactorial(n) - logFactorial(k) - logFactorial(n-k) + float64(k)*math.Log(q) + float64(n-k)*math.Log1p(-q)
		tail += math.Exp(log)
		if tail > boundTail {
			return k + 1, k < n
		}
	}
	return 0, false
}
