package results

import "math"

// boundTail is the share of chance left on either side of a two-sided bound
// at 95 %.
const boundTail = 0.025

// Quantile is the percentile as a share from 0 to 1, and 0 for a name that
// is none of Percentiles.
func (p Percentile) Quantile() float64 {
	switch p {
	case P50:
		return 0.5
	case P90:
		return 0.9
	case P99:
		return 0.99
	case P999:
		return 0.999
	}
	return 0
}

func (p Percentile) known() bool { return p.Quantile() > 0 }

// Title is the percentile as people write it, such as P99.9.
func (p Percentile) Title() string {
	switch p {
	case P50:
		return "P50"
	case P90:
		return "P90"
	case P99:
		return "P99"
	case P999:
		return "P99.9"
	}
	return string(p)
}

// SamplesFor is the least number of samples from which the percentile can be
// bounded above at 95 %, two-sided: the smallest n for which all n samples
// lie below the true percentile q with a chance qⁿ of at most 2.5 %. That is
// 6 for P50, 36 for P90, 368 for P99 and 3,688 for P99.9. With fewer, the
// greatest sample may well be below it.
func SamplesFor(p Percentile) int64 {
	if !p.known() {
		return math.MaxInt64
	}
	return int64(math.Ceil(math.Log(boundTail) / math.Log(p.Quantile())))
}

// At returns percentile p of the span in nanoseconds; ok is false where the
// record has none.
func (s Span) At(p Percentile) (ns int64, ok bool) {
	var v *int64
	switch p {
	case P50:
		v = s.P50NS
	case P90:
		v = s.P90NS
	case P99:
		v = s.P99NS
	case P999:
		v = s.P999NS
	}
	if v == nil {
		return 0, false
	}
	return *v, true
}

// Upto is the span without the percentiles beyond p.
func (s Span) Upto(p Percentile) Span {
	for i, value := range []**int64{&s.P50NS, &s.P90NS, &s.P99NS, &s.P999NS} {
		if Percentiles[i].Quantile() > p.Quantile() {
			*value = nil
		}
	}
	return s
}

// Highest returns the farthest percentile into the tail that the span has,
// and its value in nanoseconds; ok is false where it has none.
func (s Span) Highest() (p Percentile, ns int64, ok bool) {
	for i := len(Percentiles) - 1; i >= 0; i-- {
		if ns, ok := s.At(Percentiles[i]); ok {
			return Percentiles[i], ns, true
		}
	}
	return "", 0, false
}
