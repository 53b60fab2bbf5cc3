package capacity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockcost/bench"
	"lockcost/results"
)

// drive does one run and keeps it.
func (s *sweep) drive(ctx context.Context, j job) error {
	began := time.Now()
	p := s.progress(j)
	s.watch(p)
	run, err := s.ground.Drive(ctx, j.plan, j.variant, j.block, s.spool, func(in bench.Second) {
		p.PerS, p.P99 = 0, time.Duration(in.P99)
		if in.Length > 0 {
			p.PerS = float64(in.Completed) / in.Length.Seconds()
		}
		s.watch(p)
	})
	if run == nil || run.Interrupted {
		if ctx.Err() != nil {
			return s.spool.Forget() // half a run would not be told from a whole one by what it came to
		}
		return err
	}
	run.Index = s.nextIndex(j.point.FileName())
	logged := s.spool.Encode(j.point.Label(), run.Index, j.variant.Distance, run.StartedAt)
	point := s.found(j.point)
	if len(point.Runs) == 0 {
		s.record.Points = append(s.record.Points, j.point)
		point = &s.record.Points[len(s.record.Points)-1]
		point.DurationNS = int64(j.plan.Duration)
	}
	point.Runs = append(point.Runs, *run)
	point.Blocks = append(point.Blocks, j.block)
	s.done++
	s.spent += time.Since(began)
	return errors.Join(err, logged, s.keep())
}

// point is the place of a path's runs at a rate in the record.
func (s *sweep) point(v bench.Variant, rate float64) results.Point {
	return results.Point{Path: s.ground.Entry(v), RatePerS: rate}
}

// found is the point in the record that has the same path, rate and
// conditions, or an empty one.
func (s *sweep) found(p results.Point) *results.Point {
	for i := range s.record.Points {
		if s.record.Points[i].Same(p) {
			return &s.record.Points[i]
		}
	}
	return &p
}

// nextIndex is the number of the next run in an interval log. A start that was killed while
// it kept a run may have left one in the log that is not in the record: its
// number is left out.
func (s *sweep) nextIndex(log string) int {
	last := -1
	for _, p := range s.record.Points {
		if p.FileName() != log {
			continue
		}
		for _, run := range p.Runs {
			last = max(last, run.Index)
		}
	}
	if s.done == 0 && last >= 0 {
		last++
	}
	return last + 1
}

// steps are a path's steps, held against an SLO, by rate.
func (s *sweep) steps(v bench.Variant, slo results.SLO) (steps []results.Step) {
	entry := s.ground.Entry(v)
	for _, p := range s.record.Points {
		if p.IsStep() && p.Label() == entry.Label() {
			steps = append(steps, s.record.Step(p, slo))
		}
	}
	slices.SortFunc(steps, func(a, b results.Step) int {
		if a.RatePerS < b.RatePerS {
			return -1
		}
		return 1
	})
	return steps
}

// answers tells whether the answer is about the variant.
func (s *sweep) answers(a results.Answer, v bench.Variant) bool {
	entry := s.ground.Entry(v)
	return results.Path{Path: a.Path, Options: a.Options, ReplicaRTTNS: a.ReplicaRTTNS, ClientRTTNS: a.ClientRTTNS}.Label() == entry.Label()
}

// keep writes the record as it stands.
func (s *sweep) keep() error {
	s.record.EndedAt = time.Now().UTC()
	s.record.Conclude()
	if err := s.folder.Save(s.record); err != nil {
		return fmt.Errorf("keeping the results: %w", err)
	}
	return nil
}

// runs is how many there are.
func (s *sweep) runs() (n int) {
	for _, p := range s.record.Points {
		n += len(p.Runs)
	}
	return n
}

// progress tells what a run is for, what is known, and what is left.
func (s *sweep) progress(j job) Progress {
	p := Progress{Step: j.what, Done: s.runs()}
	left := 0
	if len(s.plan.SLOs) > 0 {
		for _, v := range s.measured() {
			most := 0
			for _, slo := range s.plan.SLOs {
				most = max(most, expected(s.steps(v, slo), s.record.Search))
			}
			left += most + min(closedRuns, s.plan.Repeat) - s.closedDone(v)
		}
		if !j.variant.Path.Floor {
			p.Known = known(s.steps(j.variant, s.plan.SLOs[0]))
		}
	}
	if len(s.plan.Vary) > 0 {
		for _, t := range s.plan.targets(s.ground.Variants()) {
			point := s.found(s.target(t, 0).point)
			for block := range s.plan.Runs {
				if _, counts := point.InBlock(block); !counts {
					left++
				}
			}
		}
	}
	left = max(left, 1)
	p.Total = p.Done + left
	each := s.plan.Warmup + max(s.plan.Step, s.plan.Duration) + time.Second
	if s.done > 0 {
		each = s.spent / time.Duration(s.done)
	}
	p.Left = each * time.Duration(left)
	return p
}

// closedDone is how many closed loops of a path there are, at most as many as
// there are to be.
func (s *sweep) closedDone(v bench.Variant) (n int) {
	label := s.ground.Entry(v).Label()
	for _, p := range s.record.Points {
		if p.Clients > 0 && p.Label() == label {
			n = max(n, len(p.Runs))
		}
	}
	return min(n, closedRuns, s.plan.Repeat)
}

// known is what the steps say so far.
func known(steps []results.Step) string {
	low, high := results.Boundary(steps)
	switch {
	case low == nil && high == nil:
		return ""
	case high == nil:
		return "passes " + results.FormatRate(low.RatePerS) + "/s"
	case low == nil:
		return "fails at " + results.FormatRate(high.RatePerS) + "/s"
	}
	return fmt.Sprintf("passes %s/s, fails at %s/s", results.FormatRate(low.RatePerS), results.FormatRate(high.RatePerS))
}

// Differs tells in words what keeps a sweep from going on with a record that
// was begun otherwise, or on other servers; "" for nothing.
func Differs(before, now *results.Capacity) string {
	same := func(a, b any) bool {
		first, errA := json.Marshal(a)
		second, errB := json.Marshal(b)
		return errA == nil && errB == nil && string(first) == string(second)
	}
	plan := now.Plan
	plan.Blocks, plan.Seed = before.Plan.Blocks, before.Plan.Seed
	switch {
	case !same(before.Search, now.Search):
		return "--slo, --vary or the rates to try are others"
	case !same(before.Down, now.Down):
		return "--down is another"
	case !same(before.Plan, plan):
		return "the paths or their conditions are others"
	case before.Environment.CPU != now.Environment.CPU || before.Environment.CPUs != now.Environment.CPUs:
		return fmt.Sprintf("the machine was %d × %s", before.Environment.CPUs, before.Environment.CPU)
	case before.Environment.Topology != now.Environment.Topology:
		return fmt.Sprintf("the servers were %s, and are %s", before.Environment.Topology, now.Environment.Topology)
	}
	return ""
}
