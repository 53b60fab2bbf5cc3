package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

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

// driver is one run.
type driver struct {
	plan     Plan
	job      Job
	ctx      context.Context // of operations; not cancelled when the run is
	clock    *clock
	schedule schedule
	gate     gate
	pauses   *pauses

	mu      sync.Mutex
	workers []*worker
	stopped bool
	failure error // first failure of the instrument itself
	wait    sync.WaitGroup
}

func newDriver(plan Plan, job Job) (*driver, error) {
	if plan.newTimer == nil {
		plan.newTimer = newTimer
	}
	if plan.Classify == nil {
		plan.Classify = func(error) (Outcome, string) { return Failed, "error" }
	}
	return &driver{plan: plan, job: job, schedule: newSchedule(plan), gate: gate{bound: int64(plan.Workers)}}, nil
}

func (d *driver) run(ctx context.Context) (*Recording, error) {
	holdGarbage()
	d.ctx = context.WithoutCancel(ctx)
	d.clock = newClock()
	var err error
	if d.pauses, err = watchPauses(d.clock, d.plan.newTimer); err != nil {
		return nil, fmt.Errorf("starting the load generator: %w", err)
	}
	defer d.pauses.close()
	collector, err := newCollector(d)
	if err != nil {
		return nil, fmt.Errorf("starting the load generator: %w", err)
	}
	for d.gate.started.Load() < firstWorkers && d.gate.reserve() {
		d.startWorker()
	}
	finished := make(chan struct{})
	go func() { d.wait.Wait(); close(finished) }()

	interrupted, err := d.collect(ctx, collector, finished)
	recording := collector.finish(interrupted)
	if err == nil {
		err = d.failed()
	}
	return recording, err
}

// collect drains the workers' samples at each full second of the window
// until all workers are done, and stops them early when ctx ends or
// something breaks.
func (d *driver) collect(ctx context.Context, c *collector, finished <-chan struct{}) (interrupted bool, err error) {
	at, end := d.plan.Warmup, d.plan.Warmup+d.plan.window()
	tick := time.NewTimer(at - d.clock.now())
	defer tick.Stop()
	for done := ctx.Done(); ; {
		select {
		case <-finished:
			return interrupted, errors.Join(err, c.last())
		case <-done:
			done, interrupted = nil, true
			d.stop()
		case <-tick.C:
			if at == d.plan.Warmup {
				c.windowBegins()
			} else if drained := c.drain(at); drained != nil && err == nil {
				err = drained
				d.stop()
			}
			if at += time.Second; at < end {
				tick.Reset(at - d.clock.now())
			}
		}
	}
}

// startWorker starts one that the gate has reserved, unless the run is being
// stopped.
func (d *driver) startWorker() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
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
	d.stopped = true
	for _, w := range d.workers {
		w.timer.stop()
	}
}

// timerFailed ends the run because the instrument broke, unless err is the
// answer to stop.
func (d *driver) timerFailed(err error) {
	if errors.Is(err, errStopped) {
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

func (d *driver) isStopped() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stopped
}

// gate counts the workers that are inside operations, and tells whether a
// slot that is late had to queue for one of them. A worker is inside from
// the start of an operation until it has claimed a slot that is not yet due.
type gate struct {
	bound     int64
	started   atomic.Int64
	inside    atomic.Int64
	insideMax atomic.Int64
	fullSince atomic.Int64 // when the last free worker went inside; 0 while one is free
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

// restart forgets the most that were inside during the warm-up.
func (g *gate) restart() { g.insideMax.Store(g.inside.Load()) }

// enter notes a worker that goes inside, and tells how many are left free of
// those that were started.
func (g *gate) enter(now time.Duration) (free int64) {
	n := g.inside.Add(1)
	if n == g.bound {
		g.fullSince.Store(int64(now))
	}
	for most := g.insideMax.Load(); n > most && !g.insideMax.CompareAndSwap(most, n); {
		most = g.insideMax.Load()
	}
	return g.started.Load() - n
}

// leave notes a worker that has nothing to do until its slot is due.
func (g *gate) leave() {
	if g.inside.Add(-1) == g.bound-1 {
		g.fullSince.Store(0)
	}
}

// full tells whether all workers have been inside since before due.
func (g *gate) full(due time.Duration) bool {
	since := g.fullSince.Load()
	return since != 0 && since <= int64(due)
}

// instrument is what the driver knows of its own workers.
func (d *driver) instrument() results.Instrument {
	return results.Instrument{
		Workers:        d.plan.Workers,
		WorkersStarted: int(d.gate.started.Load()),
		WorkersBusyMax: int(d.gate.insideMax.Load()),
	}
}
