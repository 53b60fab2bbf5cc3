package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lockcost/env"
	"lockcost/results"
)

// Progress is what is going on, for whoever watches. Done counts runs of
// Total.
type Progress struct {
	Step        string // in words
	Done, Total int
	Path        string        // being driven, "" between runs
	PerS        float64       // completed in the last second
	P99         time.Duration // of the acquire response in the last second; 0 for none
	Left        time.Duration // to the end of the last run, as far as known
}

// Run measures the plan's paths and their floors on the stack, in randomized
// interleaved blocks, and keeps each run in the folder as soon as it is
// done. When ctx ends, what was measured is kept and marked. An error comes
// with the record of what was measured before, nil where there is nothing.
func Run(ctx context.Context, plan Plan, stack *env.Stack, folder *results.Folder, watch func(Progress)) (record *results.Record, err error) {
	r := &runner{plan: plan, folder: folder, watch: watch, total: plan.Runs * len(plan.variants())}
	r.ground, err = NewGround(ctx, plan, stack, func(step string) { watch(Progress{Step: step, Total: r.total}) })
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.ground.Leave(ctx)) }()
	r.variants = r.ground.variants
	r.total = plan.Runs * len(r.variants)
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	if err := r.blocks(ctx); err != nil {
		r.record.Interrupted = true
		return r.record, errors.Join(err, r.keep())
	}
	return r.record, nil
}

// runner is one Run under way.
type runner struct {
	plan     Plan
	ground   *Ground
	folder   *results.Folder
	spool    *results.Spool
	watch    func(Progress)
	variants []Variant
	record   *results.Record

	total, done int
	began       time.Time // of the first run
}

// begin records everything that is known before the first run.
func (r *runner) begin(ctx context.Context) error {
	r.record = &results.Record{
		Schema: results.Schema, StartedAt: time.Now().UTC(),
		Environment: r.ground.Environment, Doctor: r.ground.Doctor, Plan: r.ground.Plan(),
	}
	for _, v := range r.variants {
		r.record.Paths = append(r.record.Paths, r.ground.Entry(v))
	}
	return r.keep()
}

// blocks runs every path once in each block, in an order of its own.
func (r *runner) blocks(ctx context.Context) (err error) {
	if r.spool, err = r.folder.Spool(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.spool.Close()) }()
	shuffle := rand.New(rand.NewPCG(r.plan.Seed, 0))
	r.began = time.Now()
	for block := range r.plan.Runs + r.plan.RepeatInvalid {
		if block >= r.plan.Runs {
			if !r.lacking() {
				break
			}
			r.total += len(r.variants)
		}
		if err := r.block(ctx, block, shuffle.Perm(len(r.variants))); err != nil {
			return err
		}
		if ctx.Err() != nil {
			r.record.Interrupted = true
			break
		}
	}
	return r.keep()
}

// block runs every path once, in the given order. That ctx ends is no
// error: what there is stands.
func (r *runner) block(ctx context.Context, block int, order []int) error {
	r.record.Plan.Blocks = append(r.record.Plan.Blocks, labels(r.variants, order))
	for _, i := range order {
		if ctx.Err() != nil {
			return nil
		}
		if err := r.run(ctx, block, i); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// lacking tells whether a path has fewer runs that count than were planned.
func (r *runner) lacking() bool {
	for _, path := range r.record.Paths {
		count := 0
		for _, run := range path.Runs {
			if run.Verdict != results.Invalid {
				count++
			}
		}
		if count < r.plan.Runs {
			return true
		}
	}
	return false
}

func labels(variants []Variant, order []int) []string {
	names := make([]string, len(order))
	for i, j := range order {
		names[i] = variants[j].Label()
	}
	return names
}

// run drives one path once and keeps what came out.
func (r *runner) run(ctx context.Context, block, i int) error {
	v, entry := r.variants[i], &r.record.Paths[i]
	run, err := r.ground.Drive(ctx, r.plan, v, block, r.spool, func(in Second) { r.report(v, in) })
	if run == nil {
		return err
	}
	run.Index = block
	entry.Runs = append(entry.Runs, *run)
	logged := r.spool.Encode(entry.Label(), run.Index, entry.Distance(), run.StartedAt)
	err = errors.Join(err, logged, r.keep())
	r.done++
	r.report(v, Second{})
	return err
}

// keep writes the record as it stands.
func (r *runner) keep() error {
	r.record.EndedAt = time.Now().UTC()
	r.record.Summarize()
	if err := r.folder.Save(r.record); err != nil {
		return fmt.Errorf("keeping the results: %w", err)
	}
	return nil
}

// report tells how far the run of path has come.
func (r *runner) report(v Variant, in Second) {
	p := Progress{Step: "measuring", Done: r.done, Total: r.total, Path: v.Label(), P99: time.Duration(in.P99)}
	if in.Length > 0 {
		p.PerS = float64(in.Completed) / in.Length.Seconds()
	}
	each := r.plan.Warmup + r.plan.Duration
	if r.done > 0 {
		each = time.Since(r.began) / time.Duration(r.done)
	}
	p.Left = max(0, each*time.Duration(r.total-r.done)-(in.Start+in.Length))
	r.watch(p)
}
