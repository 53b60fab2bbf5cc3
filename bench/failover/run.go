package failover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"lockcost/bench/failover/history"
	"lockcost/env"
	"lockcost/results"
	"lockcost/workloads"

	"golang.org/x/sync/semaphore"
)

// Progress is how far the trials are.
type Progress struct {
	Step        string
	Done, Total int           // trials
	Last        string        // scenario and path of the trial that ended last; "" for none
	Left        time.Duration // as far as is known
}

// failuresMost is how many trials in a row, or rounds of those that run at
// once, may fail to run at all, before it is taken that none will.
const failuresMost = 3

// Run runs the plan's trials on stacks of the provider's, and keeps each in
// the folder as soon as it has ended. When ctx ends, what has ended by then is
// kept. An error comes with the record of what was kept before.
func Run(ctx context.Context, plan Plan, provider env.Provider, folder *results.FailoverFolder, watch func(Progress)) (record *results.Failover, err error) {
	r := &runner{plan: plan, folder: folder, watch: watch}
	watch(Progress{Step: "starting the ledger, and looking at the servers"})
	environment, err := r.settle(ctx, provider)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.ground.close()) }()
	r.record = &results.Failover{
		Schema: results.FailoverSchema, StartedAt: time.Now().UTC(), Environment: environment, Scenarios: []results.Scenario{},
		Interrupted: true, // until the end: a driver that is killed cannot say so
	}
	r.record.Plan = r.plan.record() // without the paths that were left out
	r.record.Plan.Env = r.ground.stack.Provider
	if err := r.trials(ctx); err != nil || ctx.Err() != nil {
		return r.interrupted(err)
	}
	if plan.Windows && plan.Uses(workloads.Redis) {
		if err := r.windows(ctx); err != nil || ctx.Err() != nil {
			return r.interrupted(err)
		}
	}
	r.record.Interrupted = false
	return r.record, r.keep()
}

// runner is one Run under way.
type runner struct {
	plan   Plan
	folder *results.FailoverFolder
	watch  func(Progress)
	ground *ground

	mu       sync.Mutex
	record   *results.Failover
	cells    []*cell
	times    map[*cell][]kept // of timed cells: their trials that count
	saved    time.Time
	done     int
	total    int
	failures int // in a row
	failure  error
	began    time.Time
	halt     context.CancelCauseFunc
}

// task is one trial to run.
type task struct {
	cell  int
	index int
}

// trials runs every trial: first those that time nothing, side by side, and of
// these first the light ones, whose Sentinels others would disturb; and then
// the others alone, each in shuffled order.
func (r *runner) trials(ctx context.Context) error {
	ctx, r.halt = context.WithCancelCause(ctx)
	defer r.halt(nil)
	r.cells = r.plan.cells()
	r.times = map[*cell][]kept{}
	for _, c := range r.cells {
		r.record.Scenarios = append(r.record.Scenarios, c.entry())
	}
	if err := r.keep(); err != nil {
		return err
	}
	shuffle := rand.New(rand.NewPCG(r.plan.Seed, 0))
	var light, heavy, alone []task
	for i, c := range r.cells {
		for index := range r.plan.Trials {
			switch {
			case c.scenario.Timed:
				alone = append(alone, task{i, index})
			case c.weight() > 1:
				heavy = append(heavy, task{i, index})
			default:
				light = append(light, task{i, index})
			}
		}
	}
	for _, tasks := range [][]task{light, heavy, alone} {
		shuffle.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	}
	r.total, r.began = len(light)+len(heavy)+len(alone), time.Now()
	r.watch(Progress{Step: "trials", Total: r.total})
	r.abreast(ctx, light, r.plan.sideBySide())
	r.abreast(ctx, heavy, r.plan.sideBySide())
	atOnce := 1
	if r.plan.Quick {
		atOnce = 2
	}
	r.abreast(ctx, alone, atOnce)
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.failure, r.keep())
}

// abreast runs tasks, so many at once. One that starts more counts for several.
func (r *runner) abreast(ctx context.Context, tasks []task, n int) {
	room := semaphore.NewWeighted(int64(n))
	var running sync.WaitGroup
	for _, k := range tasks {
		weight := int64(min(n, r.cells[k.cell].weight()))
		if room.Acquire(ctx, weight) != nil {
			break
		}
		running.Go(func() {
			defer room.Release(weight)
			r.run(ctx, k, n == 1)
		})
	}
	running.Wait()
}

// run runs one trial and keeps what came out. One that ctx broke off is
// forgotten.
func (r *runner) run(ctx context.Context, k task, alone bool) {
	if ctx.Err() != nil {
		return
	}
	c := r.cells[k.cell]
	o, err := c.run(ctx, r.ground, alone)
	if ctx.Err() != nil && (o == nil || err != nil) {
		return
	}
	if o == nil {
		o = &outcome{}
		o.trial.StartedAt = time.Now().UTC()
	}
	if err != nil {
		o.trial.Void = "could not be run: " + err.Error()
	}
	o.trial.Index = k.index
	r.add(k, o, err)
}

// add adds a trial to the record and writes it.
func (r *runner) add(k task, o *outcome, failed error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, entry := r.cells[k.cell], &r.record.Scenarios[k.cell]
	if len(o.ops.Ops) > 0 {
		o.trial.History = entry.HistoryName(k.index)
	}
	entry.Runs = append(entry.Runs, o.trial)
	if failed == nil {
		r.failures = 0
	} else if r.failures++; r.failures >= failuresMost*r.plan.sideBySide() {
		r.stop(fmt.Errorf("%d trials in a row could not be run, the last %s: %w", r.failures, c.label(), failed))
	}
	if err := errors.Join(r.keepHistory(c, *entry, o), r.keepNowAndThen()); err != nil {
		r.stop(err)
	}
	if len(entry.Runs) == r.plan.Trials {
		if err := r.merge(c, entry); err != nil {
			r.stop(err)
		}
	}
	r.done++
	r.watch(Progress{Step: "trials", Done: r.done, Total: r.total, Last: c.label(), Left: r.left()})
}

func (r *runner) stop(err error) {
	if r.failure == nil {
		r.failure = err
	}
	r.halt(err)
}

// left is how long the rest will take, at the pace so far.
func (r *runner) left() time.Duration {
	return time.Since(r.began) / time.Duration(r.done) * time.Duration(r.total-r.done)
}

// kept is a trial whose operations are in its history's file.
type kept struct {
	file  string
	timed history.Timed // without the operations
}

func (r *runner) keepHistory(c *cell, entry results.Scenario, o *outcome) error {
	if o.trial.History == "" {
		return nil
	}
	k := kept{r.folder.HistoryPath(entry, o.trial.Index), o.ops}
	k.timed.Ops = nil
	if o.trial.Void == "" && c.scenario.Timed {
		r.times[c] = append(r.times[c], k)
	}
	return history.Write(k.file, history.Header{
		Scenario: entry.Scenario, Variant: entry.Variant, Path: c.path.Label(), Trial: o.trial.Index,
		StartedAt: o.trial.StartedAt, FaultNS: o.ops.FaultNS, TTLNS: int64(c.ttl()),
	}, o.ops.Ops)
}

// merge reads the histories of a timed cell's trials back, which are too much
// to be held for all cells, and keeps what they are together.
func (r *runner) merge(c *cell, entry *results.Scenario) error {
	var all []history.Timed
	for _, k := range r.times[c] {
		_, ops, err := history.Read(k.file)
		if err != nil {
			return err
		}
		k.timed.Ops = ops
		all = append(all, k.timed)
	}
	delete(r.times, c)
	if len(all) > 0 {
		entry.Phases, entry.Timeline = history.Phases(all), history.Timeline(all)
	}
	return nil
}

// keepEvery is how often the record is written at most, while trials go on: it
// grows to megabytes. Histories are written with each trial.
const keepEvery = 5 * time.Second

func (r *runner) keepNowAndThen() error {
	if time.Since(r.saved) < keepEvery {
		return nil
	}
	return r.keep()
}

// keep writes the record as it stands.
func (r *runner) keep() error {
	r.saved = time.Now()
	r.record.EndedAt = r.saved.UTC()
	r.record.Summarize()
	if err := r.folder.Save(r.record); err != nil {
		return fmt.Errorf("keeping the results: %w", err)
	}
	return nil
}

// interrupted keeps the record, marked as cut short.
func (r *runner) interrupted(err error) (*results.Failover, error) {
	for i, c := range r.cells {
		if len(r.times[c]) > 0 {
			err = errors.Join(err, r.merge(c, &r.record.Scenarios[i]))
		}
	}
	return r.record, errors.Join(err, r.keep())
}
