package load

import (
	"context"
	"sync"
	"time"

	"lockcost/env/timer"
)

// worker claims slots and runs them, one after the other.
type worker struct {
	driver    *driver
	timer     timer.Timer
	ctx       context.Context
	operation Operation
	op        Op

	mu      sync.Mutex // against the drain, once a second
	samples []sample
	drained []sample // the buffer of the drain before
}

// sample is all that is kept of one slot until the next drain.
type sample struct {
	slot             int64
	due, begun, done time.Duration // since the start of the run
	late             lateness
	expired          bool
	outcome          Outcome
	kind             string // of a refusal or failure
	poolWait         time.Duration
	stages           [MaxStages]time.Duration
}

// lateness says why a slot did not start at its due time.
type lateness uint8

const (
	onTime       lateness = iota // claimed before it was due: what is late is the timer
	lateByDriver                 // claimed late although a worker was free
	lateBySystem                 // claimed late: all workers were inside operations
)

func newWorker(d *driver) (*worker, error) {
	t, err := d.plan.NewTimer(d.clock)
	if err != nil {
		return nil, err
	}
	w := &worker{driver: d, timer: timer.Exactly(t, d.clock)}
	w.ctx, w.operation = d.job(d.ctx)
	w.op = Op{clock: d.clock, timer: w.timer}
	return w, nil
}

func (w *worker) run() {
	defer w.timer.Close()
	d := w.driver
	inside := false
	defer func() {
		if inside {
			d.gate.leave()
		}
	}()
	for !d.stopped.Load() {
		slot, due, ok := d.schedule.next()
		if !ok {
			return
		}
		if d.plan.Clients > 0 {
			if !inside {
				d.gate.enter()
				inside = true
			}
			w.do(slot, due, onTime)
			continue
		}
		now := d.clock.Now()
		late := onTime
		if now >= due {
			late = lateByDriver
			if inside && d.gate.exhausted() {
				late = lateBySystem
			}
		}
		if inside && late == onTime {
			d.gate.leave()
			inside = false
		}
		if !inside {
			if err := w.timer.Wait(due); err != nil {
				d.timerFailed(err)
				return
			}
			now = d.clock.Now()
			if free := d.gate.enter(); free < spareWorkers && d.gate.reserve() {
				d.startWorker()
			}
			inside = true
		}
		if now >= due+d.plan.Timeout {
			w.keep(sample{slot: slot, due: due, begun: now, done: now, late: late, expired: true})
			continue
		}
		w.do(slot, due, late)
	}
}

func (w *worker) do(slot int64, due time.Duration, late lateness) {
	d, o := w.driver, &w.op
	ctx, cancel := context.WithDeadline(w.ctx, d.clock.Base.Add(due+d.plan.Timeout+d.plan.Hold))
	o.Slot, o.PoolWait = slot, 0
	for i := range o.stages {
		o.stages[i] = notReached
	}
	begun := d.clock.Now()
	o.marked = begun
	err := w.operation(ctx, o)
	s := sample{slot: slot, due: due, begun: begun, done: d.clock.Now(), late: late}
	cancel()
	if err != nil {
		s.outcome, s.kind = d.plan.Classify(err)
	}
	s.poolWait, s.stages = o.PoolWait, o.stages
	w.keep(s)
}

// keep keeps a sample for the next drain. Slots of the warm-up are run and
// not kept, but what of them completes inside the window is counted.
func (w *worker) keep(s sample) {
	if warmup := w.driver.plan.Warmup; s.due < warmup {
		if s.done >= warmup && !s.expired {
			w.driver.early.Add(1)
		}
		return
	}
	w.mu.Lock()
	w.samples = append(w.samples, s)
	w.mu.Unlock()
}

// take returns what has been kept since the last call. It is good until the
// next one.
func (w *worker) take() []sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples, w.drained = w.drained[:0], w.samples
	return w.drained
}
