package results

import (
	"fmt"
	"math"
	"slices"
)

// A run that the instrument was at fault in is measured again. A step is one
// that it could not drive when as many tries have not come to one run that
// counts, or as many for each run that was asked for not to half of these.
const (
	instrumentTries = 6
	triesForEach    = 3
)

// Tries is how many runs of a step there are at most, for runs that count.
func (s Search) Tries() int { return max(instrumentTries, triesForEach*s.Runs) }

// Step holds a point against an SLO. The runs that count are those that were
// not invalid and not cut short; the step passes when the upper bound of the
// SLO's percentile meets it and the rate was achieved. A saturated run has a
// percentile without a bound.
func (c *Capacity) Step(p Point, slo SLO) Step {
	s := Step{RatePerS: p.RatePerS}
	var counting []Run
	for _, run := range p.Runs {
		switch {
		case run.Interrupted:
		case run.Verdict == Invalid:
			s.Invalid++
		default:
			counting = append(counting, run)
		}
	}
	s.Runs = len(counting)
	s.AchievedPerS = middle(counting, func(r Run) float64 { return r.AchievedPerS })
	tried := s.Runs + s.Invalid
	switch {
	case s.Runs == 0 && s.Invalid >= instrumentTries, tried >= c.Search.Tries() && 2*s.Runs < c.Search.Runs:
		s.Outcome, s.Reason = StepInstrument, "the instrument could not drive it: "+firstReason(p.Runs, Invalid)
		return s
	case s.Runs == 0:
		s.Outcome = StepUndecided
		return s
	}
	span := p.spanOf(slo)
	lacking := s.bound(counting, span, slo.Percentile)
	s.Outcome, s.Reason = StepFailed, s.fault(counting, span, slo, lacking)
	if s.Reason == "" {
		s.Outcome = StepPassed
	}
	return s
}

// spanOf is the span that an SLO is held against: of a path without a lock the
// whole job in place of the acquire.
func (p Path) spanOf(slo SLO) SpanName {
	if slo.Span == SpanAcquire && p.Lockless() {
		return SpanTotal
	}
	return slo.Span
}

// bound fills in the percentile over the runs and its upper bound: the high end
// of the order-statistic interval of the median, which of 6 to 8 runs is the
// greatest and of 9 the second; with fewer runs than an interval needs the
// median of the runs' own upper bounds. A bound that a saturated run makes
// endless is nil. It returns how many runs lack the percentile.
func (s *Step) bound(runs []Run, span SpanName, p Percentile) (lacking int) {
	var values, own []float64
	for _, run := range runs {
		ns, ok := run.Spans[span].At(p)
		upper, okUpper := run.UpperNS[span][p]
		switch {
		case run.Verdict == Saturated:
			values, own = append(values, math.Inf(1)), append(own, math.Inf(1))
		case ok && okUpper:
			values, own = append(values, float64(ns)), append(own, float64(upper))
		default:
			lacking++
		}
	}
	if len(values) == 0 || lacking > 0 {
		return lacking
	}
	over := medianOf(values)
	s.ValueNS = finite(over.center)
	if over.bounded {
		s.UpperNS = finite(over.high)
	} else {
		slices.Sort(own)
		s.UpperNS = finite(own[len(own)/2])
	}
	return 0
}

// finite is the number rounded, nil for an endless one.
func finite(x float64) *int64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return pointer(round(x))
}

// fault says why the step does not pass, "" where it does.
func (s *Step) fault(runs []Run, span SpanName, slo SLO, lacking int) string {
	switch {
	case lacking > 0:
		return fmt.Sprintf("too few operations for an upper bound of the %s %s", span, slo.Percentile.Title())
	case s.UpperNS == nil:
		return "saturated: " + firstReason(runs, Saturated)
	case *s.UpperNS > slo.LimitNS:
		return fmt.Sprintf("%s %s was %s, at most %s, over %s",
			span, slo.Percentile.Title(), FormatDuration(*s.ValueNS), FormatDuration(*s.UpperNS), FormatDuration(slo.LimitNS))
	case s.AchievedPerS < rateShare*s.RatePerS:
		return fmt.Sprintf("%s/s of %s/s were achieved", FormatRate(s.AchievedPerS), FormatRate(s.RatePerS))
	}
	return ""
}

// firstReason is the first reason of the first run with the verdict; "" where
// there is none.
func firstReason(runs []Run, v Verdict) string {
	for _, run := range runs {
		if run.Verdict == v && !run.Interrupted {
			if len(run.Reasons) > 0 {
				return run.Reasons[0]
			}
			return string(v)
		}
	}
	return ""
}

// middle is the median of what of gives, 0 of no runs.
func middle(runs []Run, of func(Run) float64) float64 {
	if len(runs) == 0 {
		return 0
	}
	values := make([]float64, len(runs))
	for i, run := range runs {
		values[i] = of(run)
	}
	return medianOf(values).center
}

// knee is the rate with the greatest power, see KneeDefinition; nil where none
// shows. The steps are in order of rate.
func knee(steps []Step) *float64 {
	driven := slices.DeleteFunc(slices.Clone(steps), func(s Step) bool {
		return s.ValueNS == nil || *s.ValueNS <= 0 || s.Outcome != StepPassed && s.Outcome != StepFailed
	})
	const least = 4
	if len(driven) < least {
		return nil
	}
	best := 0
	power := func(i int) float64 { return driven[i].RatePerS / float64(*driven[i].ValueNS) }
	for i := range driven {
		if power(i) > power(best) {
			best = i
		}
	}
	if best == len(driven)-1 {
		return nil // it is still growing
	}
	return &driven[best].RatePerS
}
