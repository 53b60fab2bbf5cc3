// Package capacity finds out how much paths can take: for each the highest
// rate that keeps an SLO, and how its cost answers to the conditions it runs
// under.
//
// The search doubles the rate until a step fails, bisects between the highest
// passing and the lowest failing step, and measures the steps at that boundary
// again, those of all paths in shuffled order. It keeps no state but the
// record: what is measured next follows from what was measured before, so that
// a search that was interrupted goes on from its folder.
package capacity

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"lockcost/bench"
	"lockcost/bench/load"
	"lockcost/results"
	"lockcost/workloads"
)

// Plan is what to find out. Its embedded plan has the conditions, and the
// rate, the runs and the duration of what is varied.
type Plan struct {
	bench.Plan
	SLOs []results.SLO // none: no search
	// From is the rate of the first step, To the highest and Least the lowest
	// to try, per second.
	From, To, Least float64
	// Step is the least length of a step's measured window. Where the rate is
	// too low for the SLOs' percentiles, a step is longer.
	Step   time.Duration
	Repeat int // runs of each of the two steps at the boundary
	Vary   []Variation
	Down   []string // nodes to end before anything is measured
	// Arguments are kept in the record for a start that goes on.
	Arguments []string
}

// precision is how far the first failing rate may be above the highest
// passing one, as a share of it.
const precision = 0.05

// DefaultPlan has the defaults of `lockcost sweep`, without paths, SLOs and
// what to vary.
func DefaultPlan() Plan {
	p := Plan{Plan: bench.DefaultPlan(), From: 500, To: 64000, Least: 10, Step: time.Second, Repeat: 6}
	p.Warmup, p.Duration = 500*time.Millisecond, 2*time.Second
	return p
}

// Check tells what is wrong with the plan, if anything, in the words of the
// command's flags.
func (p Plan) Check() error {
	switch {
	case len(p.SLOs) == 0 && len(p.Vary) == 0:
		return errors.New("nothing to find out: give --slo, such as p99=5ms, or --vary")
	case math.IsNaN(p.From) || p.From < 1 || p.From > load.MaxRate:
		return fmt.Errorf("--from %v: must be from 1 to %d per second", p.From, load.MaxRate)
	case math.IsNaN(p.To) || p.To < p.From || p.To > load.MaxRate:
		return fmt.Errorf("--to %v: must be from --from %v to %d per second", p.To, p.From, load.MaxRate)
	case math.IsNaN(p.Least) || p.Least < 0.1 || p.Least > p.From:
		return fmt.Errorf("--least %v: must be from 0.1 to --from %v per second", p.Least, p.From)
	case p.Step < 500*time.Millisecond || p.Step > 5*time.Minute:
		return fmt.Errorf("--step %v: must be from 500ms to 5m", p.Step)
	case p.Repeat < 1:
		return fmt.Errorf("--repeat %d: must be at least 1", p.Repeat)
	case p.Clients != 0:
		return errors.New("a sweep drives its own closed loops")
	case slices.ContainsFunc(p.Paths, func(path workloads.Path) bool { return path.Floor }):
		return errors.New("--paths: the floors have no lock and no limit of their own; they are run beside what is varied")
	}
	for i, slo := range p.SLOs {
		if slices.Contains(p.SLOs[:i], slo) {
			return fmt.Errorf("--slo %s: is given twice", slo)
		}
		if err := p.checkSLO(slo); err != nil {
			return err
		}
	}
	for i, v := range p.Vary {
		if slices.ContainsFunc(p.Vary[:i], func(o Variation) bool { return o.Name == v.Name }) {
			return fmt.Errorf("--vary %s: is given twice", v.Name)
		}
		if err := p.checkVariation(v); err != nil {
			return err
		}
	}
	for _, node := range p.Down {
		if role, _, _ := strings.Cut(node, "-"); role == "primary" || role == "ledger" {
			return fmt.Errorf("--down %s: without it there is nothing to measure; what becomes of locks then is for lockcost failover to tell", node)
		}
	}
	first := p.Plan
	if len(p.SLOs) > 0 {
		first = p.at(p.From)
	}
	return first.Check()
}

func (p Plan) checkSLO(slo results.SLO) error {
	switch {
	case slo.Span != results.SpanAcquire && slo.Span != results.SpanRelease && !p.Ledger:
		return fmt.Errorf("--slo %s: without a ledger there is no whole job and no effect", slo)
	case slo.LimitNS >= int64(p.OpTimeout):
		return fmt.Errorf("--slo %s: must be below --op-timeout %v, at which an operation is given up on", slo, p.OpTimeout)
	}
	return nil
}

// longestStep bounds a step, whatever its percentile would need: of a rate
// that is so low, a percentile is not worth the wait.
const longestStep = 2 * time.Minute

// sampleFactor is how many times the samples that a percentile needs at least
// a step is to have.
const sampleFactor = 2

// at is the plan of a step at a rate, long enough for the SLOs' percentiles. It
// is judged at these, and no lower than P99: one pause of the driver's is as
// long as many a P50, and makes none up.
func (p Plan) at(rate float64) bench.Plan {
	step := p.Plan
	step.Rate, step.Duration, step.Runs, step.Highest = rate, p.Step, 1, results.P99
	for _, slo := range p.SLOs {
		need := time.Duration(sampleFactor * float64(results.SamplesFor(slo.Percentile)) / rate * float64(time.Second))
		step.Duration = max(step.Duration, min(need, longestStep))
		if slo.Percentile.Quantile() > step.Highest.Quantile() {
			step.Highest = slo.Percentile
		}
	}
	return step
}

// search is the plan for the record.
func (p Plan) search() results.Search {
	s := results.Search{
		SLOs: p.SLOs, FromPerS: p.From, ToPerS: p.To, LeastPerS: p.Least, PrecisionRatio: precision,
		Runs: p.Repeat, StepNS: int64(p.Step), Varied: []results.Vary{},
	}
	if s.SLOs == nil {
		s.SLOs = []results.SLO{}
	}
	for _, v := range p.Vary {
		s.Varied = append(s.Varied, v.record())
	}
	return s
}
