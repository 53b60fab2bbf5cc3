package plots

import (
	"maps"
	"math"
	"slices"

	"lockcost/results"
)

// point is one point of a percentile curve.
type point struct {
	quantile float64 // 0 to less than 1
	ns       int64
}

// second is what one second of the measured window looked like, over all
// runs of a series together. A percentile without the samples that it needs
// is 0.
type second struct {
	startNS, lengthNS int64
	p50, p99          int64 // of the acquire's response
	lagP99            int64
	achievedPerS      float64 // operations answered, whatever the answer
}

// condensed is what the figures need of a path's interval log. The log's
// histograms take some 270 KB each and are dropped once they are read.
type condensed struct {
	curves  map[results.SpanName][]point
	seconds []second
}

// curved are the spans that the percentiles figure draws.
var curved = []results.SpanName{results.SpanAcquire, results.SpanTotal}

// condense reduces the intervals of a series' runs.
func condense(intervals []results.Interval, runs []results.Run, plan results.Plan) condensed {
	c := condensed{
		curves:  map[results.SpanName][]point{},
		seconds: secondsOf(slices.Concat(inWindow(intervals, plan), plannedSeconds(intervals, runs, plan))),
	}
	for _, span := range curved {
		pooled := results.Pool(intervals, func(i results.Interval) bool { return i.Span == span })
		if pooled.Count() > 0 {
			c.curves[span] = curveOf(pooled)
		}
	}
	return c
}

// curveOf reads a distribution from its minimum to the highest percentile
// that its samples support, in steps that are equal on a nines axis.
func curveOf(h *results.Histogram) []point {
	const perNine = 60
	end := highestQuantile(h.Count())
	steps := int(math.Ceil(nines(end) * perNine))
	curve := []point{{quantile: 0, ns: h.Min()}}
	for i := 1; i < steps; i++ {
		q := quantileAt(float64(i) / perNine)
		curve = append(curve, point{quantile: q, ns: h.Quantile(q)})
	}
	return append(curve, point{quantile: end, ns: h.Quantile(end)})
}

// highestQuantile is the highest quantile that n samples bound above at 95 %,
// two-sided: all n lie below the true quantile q with a chance of qⁿ, and
// that is to be 2.5 % or less. It is the rule of results.SamplesFor, between
// the percentiles that have names.
func highestQuantile(n int64) float64 {
	return math.Pow(0.025, 1/float64(n))
}

// plannedSeconds are intervals without samples for every second of the runs'
// windows. The log has no entry for a second in which nothing completed, and
// it must be drawn as that: a run that stood still counts with its length.
// A run of which the log has nothing at all is not known to have stood still.
func plannedSeconds(intervals []results.Interval, runs []results.Run, plan results.Plan) []results.Interval {
	logged := map[int]int64{} // end of the run's log
	for _, i := range intervals {
		logged[i.Run] = max(logged[i.Run], i.StartNS+i.LengthNS)
	}
	var seconds []results.Interval
	for _, run := range runs {
		if logged[run.Index] == 0 {
			continue
		}
		window := windowOf(run, plan, logged[run.Index])
		for start := int64(0); start < window; start += 1e9 {
			seconds = append(seconds, results.Interval{Run: run.Index, StartNS: start, LengthNS: min(1e9, window-start)})
		}
	}
	return seconds
}

// windowOf is the length of a run's measured window in nanoseconds: the
// planned one. A run that was cut short went on for as long as operations
// fell due, or completed.
func windowOf(run results.Run, plan results.Plan, loggedNS int64) int64 {
	if !run.Interrupted || plan.RatePerS <= 0 {
		return plan.DurationNS
	}
	due := int64(float64(run.Offered) / plan.RatePerS * 1e9)
	return min(plan.DurationNS, max(due, loggedNS))
}

// inWindow leaves out what completed after the measured window.
func inWindow(intervals []results.Interval, plan results.Plan) []results.Interval {
	return slices.DeleteFunc(slices.Clone(intervals), func(i results.Interval) bool { return i.StartNS >= plan.DurationNS })
}

// secondsOf adds up the runs' intervals second by second: histograms are
// merged, and counts and lengths added.
func secondsOf(intervals []results.Interval) []second {
	byStart := map[int64][]results.Interval{}
	for _, i := range intervals {
		byStart[i.StartNS/1e9] = append(byStart[i.StartNS/1e9], i)
	}
	seconds := make([]second, 0, len(byStart))
	for _, start := range slices.Sorted(maps.Keys(byStart)) {
		seconds = append(seconds, secondOf(start*1e9, byStart[start]))
	}
	return seconds
}

// secondOf merges the intervals of one second.
func secondOf(startNS int64, intervals []results.Interval) second {
	lengths := map[int]int64{} // of the second, by run
	var answered int64
	for _, i := range intervals {
		lengths[i.Run] = max(lengths[i.Run], i.LengthNS)
		switch i.Span {
		case results.SpanAcquire, results.SpanRefused, results.SpanFailed:
			answered += i.Histogram.Count()
		}
	}
	of := func(span results.SpanName) *results.Histogram {
		return results.Pool(intervals, func(i results.Interval) bool { return i.Span == span })
	}
	s := second{startNS: startNS}
	var allNS int64
	for _, ns := range lengths {
		s.lengthNS = max(s.lengthNS, ns)
		allNS += ns
	}
	acquire := of(results.SpanAcquire)
	s.p50, _ = acquire.At(results.P50)
	s.p99, _ = acquire.At(results.P99)
	s.lagP99, _ = of(results.SpanLag).At(results.P99)
	if allNS > 0 {
		s.achievedPerS = float64(answered) / (float64(allNS) / 1e9)
	}
	return s
}
