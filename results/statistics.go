package results

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// intervalConfidence is the least coverage of an interval that is reported.
const intervalConfidence = 0.95

// testRunsMin is the least number of runs on either side for which a
// Mann–Whitney test can reach p < 0.05 at all: with 4 and 4 it is 0.029.
const testRunsMin = 4

// median is a sample's median with its interval. bounded is false where the
// sample is too small for one.
type median struct {
	center, low, high float64
	confidence        float64 // 0 to 1; 0 where not bounded
	bounded           bool
}

// medianOf returns the median of the values, which must not be empty, with
// the narrowest symmetric interval between two of them that covers the true
// median with a chance of at least 95 %, whatever their distribution, so
// long as they are independent: [min, max] of 6 covers it with 96.9 %. See
// David and Nagaraja, Order Statistics, 7.1. (benchmath takes intervals that
// lean to the left; a cost should lean neither way.)
func medianOf(values []float64) median {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	m := median{center: (sorted[(n-1)/2] + sorted[n/2]) / 2}
	k, confidence := orderInterval(n)
	if k > 0 {
		m.low, m.high = sorted[k-1], sorted[n-k]
		m.confidence, m.bounded = confidence, true
	}
	return m
}

// orderInterval returns the greatest k for which the interval from the k-th
// least to the k-th greatest of n values covers the median with at least
// intervalConfidence, and that coverage: 1 − 2·P(Binomial(n, ½) < k). k is 0
// where even the whole range does not.
func orderInterval(n int) (k int, confidence float64) {
	chance := math.Ldexp(1, -n) // of exactly `below` values under the median
	tail := 0.0
	for below := 0; below < n/2; below++ {
		tail += chance
		if 1-2*tail < intervalConfidence {
			break
		}
		k, confidence = below+1, 1-2*tail
		chance *= float64(n-below) / float64(below+1)
	}
	return k, confidence
}

// mannWhitney is the p-value for the hypothesis that a and b come from one
// distribution; ok is false where there are too few runs for a test.
func mannWhitney(a, b []float64) (p float64, ok bool) {
	if min(len(a), len(b)) < testRunsMin {
		return 0, false
	}
	sample := func(v []float64) *benchmath.Sample {
		return benchmath.NewSample(slices.Clone(v), &benchmath.DefaultThresholds)
	}
	return benchmath.AssumeNothing.Compare(sample(a), sample(b)).P, true
}

// leastP is the least p-value that n values against n others can come to:
// that of one of the two orders in which they do not mix.
func leastP(n int) float64 {
	orders := 1.0 // 2n over n
	for i := 1; i <= n; i++ {
		orders *= float64(n+i) / float64(i)
	}
	return 2 / orders
}

// Holm corrects the p-values of one family for their number, so that the
// chance of even one false alarm stays below the level they are read at. The
// results stand in the order of pValues. See Holm, A simple sequentially
// rejective multiple test procedure, 1979.
func Holm(pValues []float64) []float64 {
	order := make([]int, len(pValues))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pValues[a], pValues[b]) })
	corrected := make([]float64, len(pValues))
	greatest := 0.0
	for rank, i := range order {
		greatest = max(greatest, min(1, float64(len(order)-rank)*pValues[i]))
		corrected[i] = greatest
	}
	return corrected
}

// UpperBoundZero is the greatest probability, 0 to 1, that n trials without
// one event leave possible: the upper end of the two-sided 95 % interval of
// Clopper and Pearson (1934), 1 − 0.025^(1/n). 0 of 10 still allows 31 %. It
// is 1 where there were no trials.
func UpperBoundZero(n int64) float64 {
	if n <= 0 {
		return 1
	}
	return 1 - math.Pow(boundTail, 1/float64(n))
}
