package capacity

import (
	"math"

	"lockcost/results"
)

// gridSteps is how many rates the search has in each doubling: 2^(1/16) is
// 4.4 % apart, within precision.
const gridSteps = 16

// failingRuns is how many runs a step has before it is taken to fail: one alone
// may have been disturbed.
const failingRuns = 3

// explore is the next rate to try for a path and an SLO, by the steps that
// have been measured, in order of rate; ok is false where the boundary is
// known to precision, or is beyond the rates that may be tried.
func explore(steps []results.Step, s results.Search) (rate float64, ok bool) {
	for _, step := range steps {
		if step.Outcome == results.StepUndecided {
			return step.RatePerS, true
		}
	}
	low, high := results.Boundary(steps)
	switch {
	case high != nil && high.Outcome == results.StepFailed && high.Runs < min(failingRuns, s.Runs) && high.Runs+high.Invalid < s.Tries():
		return high.RatePerS, true
	case low == nil && high == nil:
		return s.FromPerS, true
	case low == nil && high.Outcome == results.StepInstrument:
		return 0, false // a machine that disturbs the driver at one rate does at any
	case high == nil:
		return min(onGrid(2*low.RatePerS, s), s.ToPerS), low.RatePerS < s.ToPerS
	case low == nil:
		return max(onGrid(high.RatePerS/2, s), s.LeastPerS), high.RatePerS > s.LeastPerS
	case high.RatePerS <= low.RatePerS*(1+s.PrecisionRatio):
		return 0, false
	}
	middle := onGrid(math.Sqrt(low.RatePerS*high.RatePerS), s)
	return middle, middle > low.RatePerS && middle < high.RatePerS
}

// confirm are the steps at the boundary that have fewer runs than were asked
// for. One whose median meets the limit, and its upper bound does not, gets half
// as many more: of 6 runs the bound is the greatest, of 9 the second, so that
// one disturbed run does not decide. One that could not be driven is tried again
// too: what disturbed the machine may have ended.
func confirm(steps []results.Step, s results.Search, limitNS int64) (rates []float64) {
	low, high := results.Boundary(steps)
	for _, step := range []*results.Step{low, high} {
		if step == nil {
			continue
		}
		runs := s.Runs
		if step.Outcome == results.StepFailed && step.ValueNS != nil && *step.ValueNS <= limitNS {
			runs += s.Runs / 2
		}
		if step.Runs < runs && step.Runs+step.Invalid < s.Tries() {
			rates = append(rates, step.RatePerS)
		}
	}
	return rates
}

// onGrid is the nearest rate that the search uses, rounded to what can be
// said: whole operations from 100 a second on, tenths below.
func onGrid(rate float64, s results.Search) float64 {
	k := math.Round(gridSteps * math.Log2(rate/s.FromPerS))
	rate = s.FromPerS * math.Exp2(k/gridSteps)
	if rate >= 100 {
		return math.Round(rate)
	}
	return math.Round(10*rate) / 10
}

// expected is about how many runs the search of one path still takes, for
// whoever waits.
func expected(steps []results.Step, s results.Search) int {
	const bisections, doublings = 4, 5
	low, high := results.Boundary(steps)
	runs := 0
	switch {
	case low == nil && high == nil:
		runs += doublings + bisections + bisections/2*(failingRuns-1) + 2*(s.Runs-1)
	case high == nil || low == nil:
		runs += 2 + bisections + 2*(s.Runs-1)
	default:
		apart := math.Log2(high.RatePerS / low.RatePerS)
		runs += int(math.Max(0, math.Ceil(math.Log2(apart*gridSteps))))
		for _, step := range []*results.Step{low, high} {
			runs += max(0, s.Runs-step.Runs)
		}
	}
	return runs
}
