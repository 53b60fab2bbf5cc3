package capacity

import (
	"math/rand/v2"
	"slices"
	"testing"

	"lockcost/results"
)

var madeUp = results.Search{FromPerS: 250, ToPerS: 64000, LeastPerS: 10, PrecisionRatio: precision, Runs: 6}

// searched searches a made-up system: each run of a step comes to what run
// says, and a step passes when all its runs have. It returns the steps and the
// number of runs.
func searched(t *testing.T, s results.Search, run func(rate float64) results.StepOutcome) ([]results.Step, int) {
	t.Helper()
	var steps []results.Step
	runs := 0
	measure := func(rate float64) {
		if runs++; runs > 500 {
			t.Fatalf("no end after %d runs: %+v", runs, steps)
		}
		i := slices.IndexFunc(steps, func(step results.Step) bool { return step.RatePerS == rate })
		if i < 0 {
			steps = append(steps, results.Step{RatePerS: rate, Outcome: results.StepPassed})
			slices.SortFunc(steps, func(a, b results.Step) int { return int(a.RatePerS*10 - b.RatePerS*10) })
			i = slices.IndexFunc(steps, func(step results.Step) bool { return step.RatePerS == rate })
		}
		steps[i].Runs++
		if outcome := run(rate); outcome != results.StepPassed {
			steps[i].Outcome = outcome
		}
	}
	for {
		for rate, ok := explore(steps, s); ok; rate, ok = explore(steps, s) {
			measure(rate)
		}
		again := confirm(steps, s, 0)
		if len(again) == 0 {
			return steps, runs
		}
		for _, rate := range again {
			measure(rate)
		}
	}
}

func TestTheSearchFindsALimitTo5PercentWhereverItLies(t *testing.T) {
	for _, limit := range []float64{11, 60, 249, 250, 251, 1000, 1410, 3333, 40000, 63999} {
		steps, runs := searched(t, madeUp, func(rate float64) results.StepOutcome {
			if rate > limit {
				return results.StepFailed
			}
			return results.StepPassed
		})
		low, high := results.Boundary(steps)
		if low == nil || high == nil || low.RatePerS > limit || high.RatePerS <= limit || high.RatePerS > low.RatePerS*(1+precision) {
			t.Errorf("limit %v: between %+v and %+v", limit, low, high)
			continue
		}
		if low.Runs < madeUp.Runs || high.Runs < madeUp.Runs {
			t.Errorf("limit %v: the boundary has %d and %d runs", limit, low.Runs, high.Runs)
		}
		if runs > 40 {
			t.Errorf("limit %v: took %d runs", limit, runs)
		}
	}
}

func TestTheSearchEndsAtItsOwnBounds(t *testing.T) {
	steps, _ := searched(t, madeUp, func(float64) results.StepOutcome { return results.StepPassed })
	if low, high := results.Boundary(steps); high != nil || low.RatePerS != madeUp.ToPerS || low.Runs < madeUp.Runs {
		t.Errorf("all passes: %+v, %+v", low, high)
	}
	steps, _ = searched(t, madeUp, func(float64) results.StepOutcome { return results.StepFailed })
	if low, high := results.Boundary(steps); low != nil || high.RatePerS != madeUp.LeastPerS || high.Runs < madeUp.Runs {
		t.Errorf("nothing passes: %+v, %+v", low, high)
	}
	odd := madeUp
	odd.ToPerS = 777
	steps, _ = searched(t, odd, func(float64) results.StepOutcome { return results.StepPassed })
	if low, _ := results.Boundary(steps); low.RatePerS != 777 {
		t.Errorf("the highest rate to try is 777, and %v was", low.RatePerS)
	}
}

func TestTheSearchKeepsTheInstrumentsLimitApart(t *testing.T) {
	steps, _ := searched(t, madeUp, func(rate float64) results.StepOutcome {
		if rate > 5000 {
			return results.StepInstrument
		}
		return results.StepPassed
	})
	if low, high := results.Boundary(steps); high.Outcome != results.StepInstrument || low.RatePerS > 5000 {
		t.Errorf("%+v, %+v", low, high)
	}
}

// A step that fails by chance must not keep the search from its end, nor have
// it call a rate passed that a run has failed.
func TestTheSearchEndsInNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		steps, _ := searched(t, madeUp, func(rate float64) results.StepOutcome {
			if random.Float64() < rate/8000 {
				return results.StepFailed
			}
			return results.StepPassed
		})
		low, high := results.Boundary(steps)
		if high == nil {
			t.Fatal("nothing failed")
		}
		if low != nil && (low.Runs < madeUp.Runs || high.RatePerS > low.RatePerS*(1+precision)) {
			t.Errorf("%+v, %+v", low, high)
		}
	}
}

func TestAnUndecidedStepIsMeasuredAgainFirst(t *testing.T) {
	steps := []results.Step{
		{RatePerS: 250, Outcome: results.StepPassed},
		{RatePerS: 500, Outcome: results.StepUndecided, Invalid: 1},
		{RatePerS: 1000, Outcome: results.StepFailed},
	}
	if rate, ok := explore(steps, madeUp); !ok || rate != 500 {
		t.Errorf("%v, %v", rate, ok)
	}
}

// What is expected is shown as the time left: it must be about right, and come
// to nothing at the end.
func TestTheRunsExpectedAreAboutThoseTaken(t *testing.T) {
	steps, runs := searched(t, madeUp, func(rate float64) results.StepOutcome {
		if rate > 3000 {
			return results.StepFailed
		}
		return results.StepPassed
	})
	if first := expected(nil, madeUp); first < runs/2 || first > 2*runs {
		t.Errorf("%d were expected, and it took %d", first, runs)
	}
	if left := expected(steps, madeUp); left != 0 {
		t.Errorf("%d are expected at the end", left)
	}
}

// A machine that disturbs the driver at the first rate does at lower ones: the
// search does not go there.
func TestTheSearchDoesNotFleeFromADisturbedMachine(t *testing.T) {
	steps, runs := searched(t, madeUp, func(float64) results.StepOutcome { return results.StepInstrument })
	if len(steps) != 1 || runs != madeUp.Runs {
		t.Errorf("%d steps, %d runs", len(steps), runs)
	}
}
