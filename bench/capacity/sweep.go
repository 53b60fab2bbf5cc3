package capacity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"lockcost/bench"
	"lockcost/env"
	"lockcost/results"
)

// Progress is what is going on, for whoever watches.
type Progress struct {
	Step  string // what is being done, in words
	Known string // what is known of the path so far, "" for nothing
	Done  int    // runs
	Total int    // runs that it will take in all, as far as can be said
	Left  time.Duration
	// PerS and P99 are of the last second of the run that goes on; 0 for none.
	PerS float64
	P99  time.Duration
}

// Sweep finds out what the plan asks for on the stack, and keeps every run in
// the folder as soon as it is done. before is the record of an earlier start
// in the same folder, from which it goes on; nil for none. When ctx ends, what
// is known is kept and marked. An error comes with the record of what was
// measured before it, nil where there is nothing.
func Sweep(ctx context.Context, plan Plan, stack *env.Stack, folder *results.CapacityFolder, before *results.Capacity, watch func(Progress)) (record *results.Capacity, err error) {
	s := &sweep{plan: plan, folder: folder, watch: watch, record: before}
	s.ground, err = bench.NewGround(ctx, plan.Plan, stack, func(step string) { watch(Progress{Step: step}) })
	if err != nil {
		return before, err
	}
	defer func() { err = errors.Join(err, s.ground.Leave(ctx)) }()
	if err := s.begin(before); err != nil {
		return before, err
	}
	if s.spool, err = folder.Spool(); err != nil {
		return before, err
	}
	defer func() { err = errors.Join(err, s.spool.Close()) }()
	if err := s.down(ctx, stack); err != nil {
		return before, err
	}
	err = s.all(ctx)
	s.record.Interrupted = err != nil || ctx.Err() != nil
	return s.record, errors.Join(err, s.keep())
}

// sweep is one Sweep under way.
type sweep struct {
	plan   Plan
	ground *bench.Ground
	folder *results.CapacityFolder
	spool  *results.Spool
	watch  func(Progress)
	record *results.Capacity

	done  int           // runs of this start
	spent time.Duration // on them
}

// begin makes the record, or goes on with one.
func (s *sweep) begin(before *results.Capacity) error {
	plan := s.ground.Plan()
	fresh := &results.Capacity{
		Schema: results.CapacitySchema, StartedAt: time.Now().UTC(), Interrupted: true,
		Environment: s.ground.Environment, Doctor: s.ground.Doctor, Plan: plan, Search: s.plan.search(), Down: s.plan.Down,
		Arguments: s.plan.Arguments,
		Points:    []results.Point{},
	}
	if before == nil {
		s.record = fresh
		return s.keep()
	}
	if different := Differs(before, fresh); different != "" {
		return fmt.Errorf("%s was begun otherwise: %s; start it again as it was, or name another folder", s.folder.Dir(), different)
	}
	s.record = before
	return nil
}

// settle is how long the other servers have to notice that one is gone.
const settle = 3 * time.Second

// down ends the nodes that are to be down.
func (s *sweep) down(ctx context.Context, stack *env.Stack) error {
	if len(s.plan.Down) == 0 {
		return nil
	}
	for _, node := range s.plan.Down {
		s.watch(Progress{Step: "ending " + node})
		if err := stack.Faults.Kill(node); err != nil {
			return fmt.Errorf("--down %s: %w", node, err)
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(settle):
	}
	return nil
}

// all measures until nothing more is asked for, or ctx ends.
func (s *sweep) all(ctx context.Context) error {
	for _, part := range []func(context.Context) error{s.search, s.closedLoops, s.vary} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// job is one run to do.
type job struct {
	variant bench.Variant
	plan    bench.Plan
	point   results.Point // which it belongs to, without runs
	block   int
	what    string // in words
}

// search explores every path, and then measures all boundaries again, until
// they stand.
func (s *sweep) search(ctx context.Context) error {
	if len(s.plan.SLOs) == 0 {
		return nil
	}
	for ctx.Err() == nil {
		for _, v := range s.measured() {
			if err := s.explore(ctx, v); err != nil {
				return err
			}
		}
		jobs := s.confirmations()
		if len(jobs) == 0 {
			return nil
		}
		if err := s.round(ctx, jobs); err != nil {
			return err
		}
	}
	return nil
}

// measured are the variants that have a limit.
func (s *sweep) measured() []bench.Variant {
	return slices.DeleteFunc(slices.Clone(s.ground.Variants()), func(v bench.Variant) bool { return v.Path.Floor })
}

// explore measures one path until the boundary of every SLO is known.
func (s *sweep) explore(ctx context.Context, v bench.Variant) error {
	for ctx.Err() == nil {
		more := false
		for _, slo := range s.plan.SLOs {
			if rate, ok := explore(s.steps(v, slo), s.record.Search); ok {
				more = true
				if err := s.drive(ctx, s.step(v, rate, "")); err != nil {
					return err
				}
				break
			}
		}
		if !more {
			return nil
		}
	}
	return nil
}

// step is a run of a path at a rate.
func (s *sweep) step(v bench.Variant, rate float64, again string) job {
	return job{
		variant: v, plan: s.plan.at(rate), point: s.point(v, rate), block: s.noBlock(),
		what: fmt.Sprintf("%s: %s %s/s", v.Label(), again+"trying", results.FormatRate(rate)),
	}
}

// noBlock is the block of a run that is in none: below 0, and another for each
// run, as random arrivals follow from it.
func (s *sweep) noBlock() int { return -1 - s.runs() }

// confirmations are the runs that the boundaries still need, one of each step,
// and the floors beside them, in shuffled order.
func (s *sweep) confirmations() (jobs []job) {
	for _, v := range s.measured() {
		var rates []float64
		for _, slo := range s.plan.SLOs {
			for _, rate := range confirm(s.steps(v, slo), s.record.Search, slo.LimitNS) {
				if !slices.Contains(rates, rate) {
					rates = append(rates, rate)
				}
			}
		}
		for _, rate := range rates {
			jobs = append(jobs, s.step(v, rate, "once more "))
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	for _, v := range s.ground.Variants() {
		if v.Path.Floor {
			jobs = append(jobs, s.step(v, s.plan.Rate, ""))
		}
	}
	return jobs
}

// round does the jobs in shuffled order.
func (s *sweep) round(ctx context.Context, jobs []job) error {
	shuffle := rand.New(rand.NewPCG(s.plan.Seed, uint64(s.runs())))
	shuffle.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	for _, j := range jobs {
		if ctx.Err() != nil {
			return nil
		}
		if err := s.drive(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// closedRuns is how often each closed loop is run, at most.
const closedRuns = 3

// closedLoops drives each path at its edge by as many clients as the open loop
// had operations in flight there.
func (s *sweep) closedLoops(ctx context.Context) error {
	for block := range min(closedRuns, s.plan.Repeat) {
		var jobs []job
		for _, v := range s.measured() {
			for _, j := range s.closed(v) {
				if len(s.found(j.point).Runs) <= block {
					jobs = append(jobs, j)
				}
			}
		}
		if err := s.round(ctx, jobs); err != nil {
			return err
		}
	}
	return nil
}

// spareOperations is how many times the operations of the open loop a closed
// one may do before it has used up what was prepared for it.
const spareOperations = 3

// closed is a path's closed loop at each of its highest passing rates.
func (s *sweep) closed(v bench.Variant) (jobs []job) {
	s.record.Conclude()
	for _, answer := range s.record.Paths {
		if answer.MaxRatePerS == nil || !s.answers(answer, v) {
			continue
		}
		edge := *answer.MaxRatePerS
		point := s.point(v, edge)
		point.Clients = inFlight(s.found(point))
		if point.Clients == 0 || slices.ContainsFunc(jobs, func(j job) bool { return j.point.RatePerS == edge }) {
			continue
		}
		plan := s.plan.at(edge)
		plan.Rate, plan.Clients = spareOperations*edge, point.Clients
		jobs = append(jobs, job{variant: v, plan: plan, point: point, block: s.noBlock(),
			what: fmt.Sprintf("%s: a closed loop of %d", v.Label(), point.Clients)})
	}
	return jobs
}

// inFlight is how many operations were in flight on average, by Little's law:
// rate × mean response, rounded up.
func inFlight(p *results.Point) int {
	var mean, n float64
	for _, run := range p.Usable() {
		if span, ok := run.Spans[results.SpanTotal]; ok {
			mean += float64(span.MeanNS)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return max(1, int(math.Ceil(p.RatePerS*mean/n/1e9)))
}

// blockTries is how often a path is driven in a block, at most, for a run that
// is not invalid.
const blockTries = 3

// vary measures what is varied, in blocks. What was invalid is measured again
// at the end of its block.
func (s *sweep) vary(ctx context.Context) error {
	if len(s.plan.Vary) == 0 {
		return nil
	}
	for block := range s.plan.Runs {
		for range blockTries {
			var jobs []job
			for _, t := range s.plan.targets(s.ground.Variants()) {
				j := s.target(t, block)
				tries := blockTries
				if t.variant.Path.Floor {
					tries = 1
				}
				if tried, counts := s.found(j.point).InBlock(block); !counts && tried < tries {
					jobs = append(jobs, j)
				}
			}
			if err := s.round(ctx, jobs); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sweep) target(t target, block int) job {
	j := job{variant: t.variant, plan: t.plan, point: s.point(t.variant, t.plan.Rate), block: block}
	j.point.Varied = t.varied
	j.what = t.variant.Label()
	if t.varied != nil {
		j.what = fmt.Sprintf("%s with %s=%s", t.variant.Path.Label(), t.varied.Name, t.varied.Text)
	}
	return j
}
