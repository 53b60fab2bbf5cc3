package results

import "math"

// ShareOf is a share of trials with its exact two-sided interval at 95 %, of
// Clopper and Pearson (1934): its ends are the chances at which a result so
// high, or so low, would come about 2.5 times in 100. Of no trials nothing is
// known: the interval is 0 to 1.
func ShareOf(happened, of int) Share {
	s := Share{Trials: happened, Of: of, High: 1}
	if happened > 0 {
		s.Low = lowerEnd(happened, of)
	}
	if happened < of {
		s.High = 1 - lowerEnd(of-happened, of)
	}
	return s
}

// lowerEnd is the chance at which k or more of n trials have a probability
// of boundTail; 0 < k ≤ n. The probability rises with the chance, so halving
// finds it, down to the last bit of a float64.
func lowerEnd(k, n int) float64 {
	low, high := 0.0, 1.0
	for {
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			return middle
		}
		if atLeast(k, n, middle) < boundTail {
			low = middle
		} else {
			high = middle
		}
	}
}

// atLeast is the probability of k or more of n trials, each with the chance
// p; 0 < p < 1. It is summed from k upwards, which keeps a small one exact.
func atLeast(k, n int, p float64) float64 {
	sum := 0.0
	yes, no := math.Log(p), math.Log1p(-p)
	for i := k; i <= n; i++ {
		sum += math.Exp(logChoose(n, i) + float64(i)*yes + float64(n-i)*no)
	}
	return sum
}

// logChoose is the logarithm of n over k.
func logChoose(n, k int) float64 {
	gamma := func(m int) float64 {
		value, _ := math.Lgamma(float64(m + 1))
		return value
	}
	return gamma(n) - gamma(k) - gamma(n-k)
}
