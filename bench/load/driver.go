package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"lockcost/env/timer"
	"lockcost/results"
)

// Workers are started as they are needed: firstWorkers to begin with, and
// one more whenever fewer than spareWorkers are left waiting for a due time.
// A bound of thousands thus costs nothing until the system stalls, and the
// few that cycle stay in the CPU's cache.
const (
	firstWorkers = 64
	spareWorkers = 32
)

// drainMargin is more than an operation may outlast its deadline, to find out
// what became of it, and then wait for the drain of its samples.
const drainMargin = 5 * time.Second

// driver is one run.
type driver struct {
	plan     Plan
	job      Job
	ctx      context.Context // of operations; not cancelled when the run is
	clock    *timer.Clock
	poller   *poller // nil where the driver sleeps
	schedule schedule
	gate     gate
	pauses   *pauses

	stopped   atomic.Bool
	stoppedAt atomic.Int64 // since the start of the run; 0 while it goes on

	mu      sync.Mutex
	workers []*worker
	failure error // first failure of the instrument itself
	wait    sync.WaitGroup
	early   atomic.Int64 // warm-up operations that completed inside the window
}

func newDriver(plan Plan, job Job) (*driver, error) {
	if plan.Classify == nil {
		plan.Classify = func(error) (Outcome, string) { return Failed, "error" }
	}
	return &driver{plan: plan, job: job, schedule: newSchedule(plan), gate: gate{bound: int64(plan.Workers)}}, nil
}

func (d *driver) run(ctx context.Context) (*Recording, error) {
	if !d.plan.Unwatched {
		runtime.GC()
	}
	d.ctx = context.WithoutCancel(ctx)
	d.clock = timer.NewClock()
	if c, ok := d.schedule.(*closed); ok {
		c.clock = d.clock
	}
	d.pauses = &pauses{clock: d.clock, keep: d.plan.Timeout + d.plan.Hold + drainMargin, sample: d.plan.Sample}
	stop, err := d.watch()
	if err != nil {
		return nil, fmt.Errorf("starting the load generator: %w", err)
	}
	defer stop()
	collector, err := newCollector(d)
	if err != nil {
		return nil, fmt.Errorf("starting the load generator: %w", err)
	}
	for d.gate.started.Load() < int64(max(firstWorkers, d.plan.Clients)) && d.gate.reserve() {
		d.startWorker()
	}
	finished := make(chan struct{})
	go func() { d.wait.Wait(); close(finished) }()

	err = d.collect(ctx, collector, finished)
	if err == nil {
		err = d.failed()
	}
	return collector.finish(), err
}

// watch starts what wakes the workers and looks for pauses: a poller, which
// takes one CPU, or kernel timers.
func (d *driver) watch() (stop func(), err error) {
	if d.plan.NewTimer != nil || d.plan.Sleep || !polls(d.plan.Rate) {
		if d.plan.NewTimer == nil {
			d.plan.NewTimer = timer.New
		}
		if d.plan.Unwatched {
			return func() {}, nil
		}
		ticker, err := watchPauses(d.pauses, d.plan.NewTimer)
		if err != nil {
			return nil, err
		}
		return ticker.close, nil
	}
	if d.poller, err = newPoller(d.clock); err != nil {
		return nil, err
	}
	d.plan.NewTimer = d.poller.newTimer
	d.poller.pauses = d.pauses
	procs := runtime.GOMAXPROCS(1)
	d.poller.start()
	return func() {
		d.poller.stop()
		runtime.GOMAXPROCS(procs)
	}, nil
}

// collect drains the workers' samples at each full second of the window and
// at its end, and at last, when all workers are done, what completed after
// it. It stops them early when ctx ends or something breaks.
func (d *driver) collect(ctx context.Context, c *collector, finished <-chan struct{}) (err error) {
	at, end := d.plan.Warmup, d.plan.Warmup+d.plan.window()
	tick := time.NewTimer(at - d.clock.Now())
	defer tick.Stop()
	for done := ctx.Done(); ; {
		select {
		case <-finished:
			return errors.Join(err, c.last())
		case <-done:
			done = nil
			d.stop()
		case <-tick.C:
			if at == d.plan.Warmup {
				c.windowBegins()
			} else if drained := c.drain(at); drained != nil && err == nil {
				err = drained
				d.stop()
			}
			if at < end {
				at = min(at+time.Second, end)
				tick.Reset(at - d.clock.Now())
			} else {
				d.pauses.windowEnds()
			}
		}
	}
}

// startWorker starts one that the gate has reserved, unless the run is being
// stopped.
func (d *driver) startWorker() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped.Load() {
		return
	}
	w, err := newWorker(d)
	if err != nil {
		d.failLocked(err)
		return
	}
	d.workers = append(d.workers, w)
	d.wait.Go(w.run)
}

// stop lets no further slot start. Operations in flight are left to end by
// themselves or at their deadline.
func (d *driver) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopLocked()
}

func (d *driver) stopLocked() {
	if d.stopped.Load() {
		return
	}
	d.stoppedAt.Store(max(1, int64(d.clock.Now())))
	d.stopped.Store(true)
	for _, w := range d.workers {
		w.timer.Stop()
	}
}

// timerFailed ends the run because the instrument broke, unless err is the
// answer to stop.
func (d *driver) timerFailed(err error) {
	if errors.Is(err, timer.ErrStopped) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failLocked(err)
}

func (d *driver) failLocked(err error) {
	if d.failure == nil {
		d.failure = err
	}
	d.stopLocked()
}

func (d *driver) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

// gate counts the workers. A worker is inside from the start of an operation
// until it has claimed a slot that is not yet due.
type gate struct {
	bound     int64
	started   atomic.Int64
	inside    atomic.Int64
	insideMax atomic.Int64
}

// reserve counts in one more worker, if the bound allows it.
func (g *gate) reserve() bool {
	for {
		n := g.started.Load()
		if n >= g.bound {
			return false
		}
		if g.started.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// exhausted tells whether no worker can be added. As slots are claimed in
// order, a worker that comes from an operation and claims a slot late proves
// that nobody waits for a later one: then all workers have been inside since
// the slot came due, or were late themselves for one before it.
func (g *gate) exhausted() bool { return g.started.Load() >= g.bound }

// restart forgets the most that were inside during the warm-up.
func (g *gate) restart() { g.insideMax.Store(g.inside.Load()) }

// enter notes a worker that goes inside, and tells how many are left free of
// those that were started.
func (g *gate) enter() (free int64) {
	n := g.inside.Add(1)
	for most := g.insideMax.Load(); n > most && !g.insideMax.CompareAndSwap(most, n); {
		most = g.insideMax.Load()
	}
	return g.started.Load() - n
}

// leave notes a worker that has nothing to do until its slot is due.
func (g *gate) leave() { g.inside.Add(-1) }

// instrument is what the driver knows of its own workers.
func (d *driver) instrument() results.Instrument {
	return results.Instrument{
		Polled:         d.poller != nil,
		Workers:        d.plan.Workers,
		WorkersStarted: int(d.gate.started.Load()),
		WorkersBusyMax: int(d.gate.insideMax.Load()),
	}
}
