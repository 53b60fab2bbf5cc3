package planning

import "math"

// PoissonQuantile is the least n that a Poisson count of the mean reaches or
// stays below with a chance of at least q; 0 < q < 1. How many operations are
// under way at once is such a count where arrivals are Poisson and none has to
// wait, whatever the distribution of their lengths (Palm's theorem, M/G/∞).
func PoissonQuantile(mean, q float64) int {
	if mean <= 0 {
		return 0
	}
	// Summed outward from far below the mean, where a term is not yet 0.
	first := max(0, int(mean-12*math.Sqrt(mean)-12))
	logFactorial, _ := math.Lgamma(float64(first) + 1)
	term := math.Exp(float64(first)*math.Log(mean) - mean - logFactorial)
	sum, last := term, int(mean+40*math.Sqrt(mean)+40)
	n := first
	for ; sum < q && n < last; n++ {
		term *= mean / float64(n+1)
		sum += term
	}
	return n
}

// Little is the mean number under way at once, of rate a second that take ns
// each (Little's law).
func Little(ratePerS, ns float64) float64 { return ratePerS * ns / 1e9 }
