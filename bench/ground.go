package bench

import (
	"context"
	"errors"
	"fmt"

	"lockcost/bench/doctor"
	"lockcost/bench/load"
	"lockcost/env"
	"lockcost/env/placement"
	"lockcost/results"
	"lockcost/workloads"
	"lockcost/workloads/lock"
)

// Ground is a stack that has been looked at, with an instrument that has been
// measured on it: where paths are driven, one run at a time.
type Ground struct {
	Environment results.Environment
	Doctor      results.Doctor

	site     *site
	watch    func(step string)
	variants []Variant
	notRun   []string // variants that were left out, and why
	openings map[string]*results.Opening
	held     map[string]map[string]float64 // bytes by path and server
}

// NewGround checks that every path of the plan, at every distance, can be
// driven on the stack, describes the stack, measures the instrument and what
// it takes to open a session, and warms up what is cold. watch is told what
// is being done. The caller must Leave.
func NewGround(ctx context.Context, plan Plan, stack *env.Stack, watch func(step string)) (*Ground, error) {
	site, err := newSite(ctx, plan, stack)
	if err != nil {
		return nil, err
	}
	g := &Ground{site: site, watch: watch, notRun: plan.NotRun, openings: map[string]*results.Opening{}, held: map[string]map[string]float64{}}
	if err := g.look(ctx); err != nil {
		return nil, errors.Join(err, g.Leave(ctx))
	}
	return g, nil
}

func (g *Ground) look(ctx context.Context) error {
	if err := g.check(ctx); err != nil {
		return err
	}
	if err := g.site.reach(ctx, results.Distance{}); err != nil {
		return err
	}
	if err := g.site.sync(ctx, false); err != nil { // as the servers are described
		return err
	}
	g.watch("looking at the machine and the instrument")
	var err error
	if g.Environment, err = Describe(ctx, g.site.stack); err != nil {
		return err
	}
	if g.Doctor, err = g.examine(ctx); err != nil {
		return err
	}
	if err := g.open(ctx); err != nil {
		return err
	}
	if err := g.heat(ctx); err != nil {
		return err
	}
	return g.hold(ctx)
}

// Leave removes the keys and tables of what was driven, and nothing else.
func (g *Ground) Leave(ctx context.Context) error { return g.site.leave(ctx) }

// Variants are the plan's paths at their distances, floors first, without
// those that a lenient plan can do without.
func (g *Ground) Variants() []Variant { return g.variants }

// Plan is the plan for the record, and what is known of the stack.
func (g *Ground) Plan() results.Plan {
	plan := g.site.plan.record()
	plan.Env = g.site.stack.Provider
	plan.Replicas = len(g.site.stack.Redis.Replicas)
	plan.Sentinels = len(g.site.stack.Redis.Sentinels)
	plan.NotRun = g.notRun
	return plan
}

// Entry is the variant's place in a record, without runs.
func (g *Ground) Entry(v Variant) results.Path {
	entry := v.entry()
	entry.Durability = g.site.durability(v.Path, g.Environment)
	entry.SessionOpen = g.openings[v.Label()]
	entry.HeldLockBytes = g.held[v.Path.Label()]
	return entry
}

// check checks every variant, and leaves those out that a lenient plan can do
// without.
func (g *Ground) check(ctx context.Context) error {
	for _, v := range g.site.plan.variants() {
		g.watch("checking what the paths need: " + v.Label())
		err := g.site.check(ctx, v)
		switch {
		case err == nil:
			g.variants = append(g.variants, v)
		case g.site.plan.Lenient && errors.Is(err, lock.ErrUnsupported):
			g.notRun = append(g.notRun, err.Error())
		default:
			return err
		}
	}
	return nil
}

// examine measures the instrument, on the servers that it is to measure.
func (g *Ground) examine(ctx context.Context) (results.Doctor, error) {
	plan := g.site.plan
	return doctor.Examine(ctx, doctor.Options{
		Redis: g.site.stack.Redis, Prefix: g.site.settings.Prefix, CPUs: placement.Current().Pin(), Shared: g.site.stack.Unplaced(),
		Samples: int64(plan.Rate * plan.Duration.Seconds()),
		Watch: func(step string, done, total int) {
			g.watch(fmt.Sprintf("measuring the instrument: %d %% done", 100*done/total/10*10))
		},
	})
}

// open measures what opening a session takes on each variant.
func (g *Ground) open(ctx context.Context) error {
	for _, v := range g.variants {
		g.watch("measuring what it takes to open a session: " + v.Label())
		opening, err := g.site.measureOpenings(ctx, v)
		if err != nil {
			return err
		}
		g.openings[v.Label()] = opening
	}
	return nil
}

// hold measures the memory that a held lock takes, of each path once.
func (g *Ground) hold(ctx context.Context) error {
	for _, v := range g.variants {
		if _, done := g.held[v.Path.Label()]; done {
			continue
		}
		g.watch("measuring the memory that a held lock takes: " + v.Path.Label())
		bytes, err := g.site.heldBytes(ctx, v)
		if err != nil {
			return err
		}
		g.held[v.Path.Label()] = bytes
	}
	return nil
}

// heat warms up servers of ours that are slow when they are new.
func (g *Ground) heat(ctx context.Context) error {
	if !g.site.plan.Uses(workloads.ZooKeeper) || !g.site.stack.Ours {
		return nil
	}
	g.watch(fmt.Sprintf("warming up ZooKeeper's JVMs for %v", heatFor))
	if err := g.site.heat(ctx); err != nil {
		return err
	}
	g.Environment.Notes = append(g.Environment.Notes,
		fmt.Sprintf("ZooKeeper had been started for this: its JVMs were warmed up with locks for %v before the first run.", heatFor))
	return nil
}

// Drive drives the variant once, as plan says, which differs from the
// ground's in its conditions and not in its paths, and judges the run. Its
// samples are put into the spool second by second; watch is told of each.
// block is the seed of random arrivals, beside the plan's own: the runs of a
// block have the same. Nil with or without an error means that nothing was
// measured; a run beside an error stands.
func (g *Ground) Drive(ctx context.Context, plan Plan, v Variant, block int, spool *results.Spool, watch func(Second)) (*results.Run, error) {
	g.site.adopt(plan)
	ready, err := g.site.prepare(ctx, v, plan.load(plan.Seed+uint64(block)))
	if err != nil {
		return nil, err
	}
	defer ready.close()
	m, err := g.site.drive(ctx, ready, func(in Second) error {
		watch(in)
		return spool.Add(in.Start, in.Length, in.Samples)
	})
	if m == nil {
		return nil, err
	}
	run := &m.run
	if run.Interrupted && run.Offered == 0 {
		return nil, err // stopped in its warm-up
	}
	entry := v.entry()
	if plan.Highest != "" {
		for name, span := range run.Spans {
			run.Spans[name] = span.Upto(plan.Highest)
		}
	}
	run.Verdict, run.Reasons = results.Judge(*run, entry, plan.record(), g.Doctor)
	if drift := results.Drift(m.medians); drift != "" && !entry.Floor {
		run.Warnings = append(run.Warnings, drift)
	}
	if audited := g.site.audit(ctx, ready, *run); audited != "" {
		run.Warnings = append(run.Warnings, audited)
	}
	return run, err
}

// adopt has the next runs done under another plan's conditions.
func (s *site) adopt(plan Plan) {
	prefix, tables := s.settings.Prefix, s.settings.Tables
	s.plan, s.settings = plan, plan.settings()
	s.settings.Prefix, s.settings.Tables = prefix, tables
}

// Slots is how many operations a run of the plan has, warm-up included.
func (p Plan) Slots() int64 { return load.Slots(p.load(0)) }
