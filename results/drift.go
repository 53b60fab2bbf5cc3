package results

import (
	"fmt"
	"math"
	"slices"
)

const (
	driftRatio   = 0.10 // of the first third's level
	driftSeconds = 6    // fewer are two points or less a third
)

// Drift looks at the medians of the seconds of one run, in nanoseconds, and
// returns a warning if they went one way: the last third's level over 10 %
// from the first's, and the middle third's between the two. It returns ""
// otherwise, and for fewer than 6 seconds. A second without samples has 0, and
// is passed over. What drifts is flagged and never
// trimmed.
func Drift(perSecondMedians []int64) (warning string) {
	perSecondMedians = slices.DeleteFunc(slices.Clone(perSecondMedians), func(ns int64) bool { return ns == 0 })
	n := len(perSecondMedians)
	if n < driftSeconds {
		return ""
	}
	first := middleOf(perSecondMedians[:n/3])
	middle := middleOf(perSecondMedians[n/3 : n-n/3])
	last := middleOf(perSecondMedians[n-n/3:])
	oneWay := first <= middle && middle <= last || first >= middle && middle >= last
	change := math.Abs(float64(last - first))
	if !oneWay || change <= driftRatio*float64(first) {
		return ""
	}
	return fmt.Sprintf("drift: the median went from %s in the first third of the window to %s in the last",
		FormatDuration(first), FormatDuration(last))
}

func middleOf(values []int64) int64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
