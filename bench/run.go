package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lockcost/bench/doctor"
	"lockcost/env"
	"lockcost/env/placement"
	"lockcost/results"
	"lockcost/workloads"
	"lockcost/workloads/lock"
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
	r := &runner{plan: plan, folder: folder, watch: watch, variants: plan.variants(), notRun: plan.NotRun}
	r.total = plan.Runs * len(r.variants)
	if r.site, err = newSite(ctx, plan, stack); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.site.leave(ctx)) }()
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	if err := r.site.reach(ctx, results.Distance{}); err != nil {
		return nil, err
	}
	if err := r.site.sync(ctx, false); err != nil { // as the servers are described
		return nil, err
	}
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
	site     *site
	folder   *results.Folder
	spool    *results.Spool
	watch    func(Progress)
	variants []variant
	record   *results.Record

	notRun      []string // variants that were left out, and why
	total, done int
	began       time.Time // of the first run
}

// check checks every variant, and leaves those out that a lenient plan can do
// without.
func (r *runner) check(ctx context.Context) error {
	var able []variant
	for _, v := range r.variants {
		r.watch(Progress{Step: "checking what the paths need: " + v.label(), Total: r.total})
		err := r.site.check(ctx, v)
		switch {
		case err == nil:
			able = append(able, v)
		case r.plan.Lenient && errors.Is(err, lock.ErrUnsupported):
			r.notRun = append(r.notRun, err.Error())
		default:
			return err
		}
	}
	r.variants = able
	r.total = r.plan.Runs * len(able)
	return nil
}

// openings measures what opening a session takes on each variant.
func (r *runner) openings(ctx context.Context) error {
	for i, v := range r.variants {
		r.watch(Progress{Step: "measuring what it takes to open a session: " + v.label(), Total: r.total})
		opening, err := r.site.measureOpenings(ctx, v)
		if err != nil {
			return err
		}
		r.record.Paths[i].SessionOpen = opening
	}
	return nil
}

// begin records everything that is known before the first run.
func (r *runner) begin(ctx context.Context) error {
	r.watch(Progress{Step: "looking at the machine and the instrument", Total: r.total})
	environment, err := Describe(ctx, r.site.stack)
	if err != nil {
		return err
	}
	examined, err := r.examine(ctx)
	if err != nil {
		return err
	}
	r.record = &results.Record{
		Schema: results.Schema, StartedAt: time.Now().UTC(),
		Environment: environment, Doctor: examined, Plan: r.plan.record(),
	}
	r.record.Plan.Env = r.site.stack.Provider
	r.record.Plan.Replicas = len(r.site.stack.Redis.Replicas)
	r.record.Plan.Sentinels = len(r.site.stack.Redis.Sentinels)
	r.record.Plan.NotRun = r.notRun
	for _, v := range r.variants {
		entry := v.entry()
		entry.Durability = r.site.durability(v.path, environment)
		r.record.Paths = append(r.record.Paths, entry)
	}
	if err := r.openings(ctx); err != nil {
		return err
	}
	if r.plan.Uses(workloads.ZooKeeper) && r.site.stack.Ours {
		r.watch(Progress{Step: fmt.Sprintf("warming up ZooKeeper's JVMs for %v", heatFor), Total: r.total})
		if err := r.site.heat(ctx); err != nil {
			return err
		}
		r.record.Environment.Notes = append(r.record.Environment.Notes,
			fmt.Sprintf("ZooKeeper had been started for this: its JVMs were warmed up with locks for %v before the first run.", heatFor))
	}
	return r.keep()
}

// examine measures the instrument, on the servers that it is to measure.
func (r *runner) examine(ctx context.Context) (results.Doctor, error) {
	return doctor.Examine(ctx, doctor.Options{
		Redis: r.site.stack.Redis, Prefix: r.site.settings.Prefix, CPUs: placement.Current().Pin(), Shared: r.site.stack.Unplaced(),
		Samples: int64(r.plan.Rate * r.plan.Duration.Seconds()),
		Watch: func(step string, done, total int) {
			r.watch(Progress{Step: fmt.Sprintf("measuring the instrument: %d %% done", 100*done/total/10*10), Total: r.total})
		},
	})
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

func labels(variants []variant, order []int) []string {
	names := make([]string, len(order))
	for i, j := range order {
		names[i] = variants[j].label()
	}
	return names
}

// run drives one path once and keeps what came out.
func (r *runner) run(ctx context.Context, block, i int) error {
	v, entry := r.variants[i], &r.record.Paths[i]
	plan := r.plan.load(r.plan.Seed + uint64(block)) // the paths of a block have the same arrivals
	ready, err := r.site.prepare(ctx, v, plan)
	if err != nil {
		return err
	}
	defer ready.close()
	m, err := r.site.drive(ctx, ready, func(in second) error {
		r.report(v, in)
		return r.spool.Add(in.Start, in.Length, in.Samples)
	})
	if m == nil {
		return err
	}
	run := &m.run
	if run.Interrupted && run.Offered == 0 {
		return err // stopped in its warm-up
	}
	run.Index = block
	run.Verdict, run.Reasons = results.Judge(*run, *entry, r.record.Plan, r.record.Doctor)
	if drift := results.Drift(m.medians); drift != "" && !entry.Floor {
		run.Warnings = append(run.Warnings, drift)
	}
	if audited := r.site.audit(ctx, ready, *run); audited != "" {
		run.Warnings = append(run.Warnings, audited)
	}
	entry.Runs = append(entry.Runs, *run)
	logged := r.spool.Encode(entry.Label(), run.Index, entry.Distance(), run.StartedAt)
	err = errors.Join(err, logged, r.keep())
	r.done++
	r.report(v, second{})
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
func (r *runner) report(v variant, in second) {
	p := Progress{Step: "measuring", Done: r.done, Total: r.total, Path: v.label(), P99: time.Duration(in.p99)}
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
