package load

import (
	"errors"
	"fmt"
	"time"

	"lockcost/env/timer"
	"lockcost/results"
)

// Sorting a second's samples takes the driver's CPU for a millisecond at
// 1000 operations a second, and an operation that falls due meanwhile starts
// late: as many as make up P99.9. So it is done in steps, with the CPU free
// in between.
const (
	stepSamples = 1000
	stepPause   = 200 * time.Microsecond
)

// collector sorts the drained samples into spans. It is used by one
// goroutine, which is never a worker.
type collector struct {
	driver    *driver
	recording *Recording
	timer     timer.Timer
	usage     usage // at the start of the window
	from      time.Duration
	steps     int // samples handled since the last pause
	spans     []span
	spacing   spacing
	interval  Interval
}

// span is one span's samples of the interval, and all of them.
type span struct {
	name    results.SpanName
	samples []int64
	all     *results.Histogram
}

// Places of spans in a collector; the stages of the plan follow.
const (
	ofAcquire = iota
	ofTotal
	ofLag
	ofQueueing
	ofPoolWait
	ofRefused
	ofFailed
	ofStages
)

func newCollector(d *driver) (*collector, error) {
	t, err := d.plan.NewTimer(d.clock)
	if err != nil {
		return nil, err
	}
	c := &collector{
		driver: d, timer: t, from: d.plan.Warmup,
		recording: &Recording{
			Refused: map[string]int64{}, Failed: map[string]int64{},
			Spans: map[results.SpanName]*results.Histogram{},
			Began: d.clock.Base.Add(d.plan.Warmup),
		},
		interval: Interval{Samples: map[results.SpanName][]int64{}},
	}
	names := []results.SpanName{
		ofAcquire: results.SpanAcquire, ofTotal: results.SpanTotal, ofLag: results.SpanLag,
		ofQueueing: results.SpanQueueing, ofPoolWait: results.SpanPoolWait,
		ofRefused: results.SpanRefused, ofFailed: results.SpanFailed,
	}
	for _, name := range append(names, d.plan.Stages...) {
		h := results.NewHistogram()
		c.spans = append(c.spans, span{name: name, all: h})
		c.recording.Spans[name] = h
	}
	return c, nil
}

// windowBegins is called when the warm-up has passed.
func (c *collector) windowBegins() {
	c.driver.pauses.restart()
	c.driver.gate.restart()
	c.usage = c.driver.readUsage()
}

// drain takes what has been sampled since the last drain and hands it on as
// the interval that ends at until.
func (c *collector) drain(until time.Duration) error {
	d, in := c.driver, &c.interval
	in.Start, in.Length = c.from-d.plan.Warmup, until-c.from
	in.Completed, in.Expired = 0, 0
	c.from = until
	for i := range c.spans {
		c.spans[i].samples = c.spans[i].samples[:0]
	}

	d.mu.Lock()
	workers := d.workers[:len(d.workers):len(d.workers)]
	d.mu.Unlock()
	pauses := d.pauses.list()
	for _, w := range workers {
		for _, s := range w.take() {
			c.add(s, pauses)
			c.step()
		}
	}
	c.spacing.end()
	clear(in.Samples)
	for _, span := range c.spans {
		if len(span.samples) > 0 {
			in.Samples[span.name] = span.samples
		}
		for _, ns := range span.samples {
			span.all.Record(ns)
			c.step()
		}
	}
	if d.plan.Observe == nil {
		return nil
	}
	return d.plan.Observe(*in)
}

// step counts one more sample handled, and leaves the CPU to others for a
// while after every stepSamples.
func (c *collector) step() {
	if c.steps++; c.steps%stepSamples == 0 {
		_ = c.timer.Wait(c.driver.clock.Now() + stepPause)
	}
}

func (c *collector) add(s sample, pauses []pause) {
	r, in := c.recording, &c.interval
	r.Offered++
	lag, queueing := s.delays(pauses)
	switch {
	case queueing > 0:
		r.Instrument.Queued++
	case s.late != onTime:
		r.Instrument.LateByDriver++
	}
	c.atEnd(s, queueing)
	if s.expired {
		r.Expired++
		in.Expired++
		return
	}
	c.spacing.add(s.slot, s.begun)
	r.Completed++
	in.Completed++
	if queueing > 0 {
		c.keep(ofQueueing, queueing)
	}
	if lag > 0 || queueing == 0 {
		c.keep(ofLag, lag)
	}
	c.keep(ofPoolWait, s.poolWait)
	c.response(s, queueing)
}

// end is where the measured window ends: as planned, or when the run was
// stopped.
func (c *collector) end() time.Duration {
	d := c.driver
	end := d.plan.Warmup + d.plan.window()
	if stopped := time.Duration(d.stoppedAt.Load()); stopped > 0 {
		end = min(end, max(stopped, d.plan.Warmup))
	}
	if c, ok := d.schedule.(*closed); ok {
		if used, early := c.ended(); early {
			end = min(end, max(used, d.plan.Warmup))
		}
	}
	return end
}

// atEnd counts what had completed when the window ended, and what had not.
func (c *collector) atEnd(s sample, queueing time.Duration) {
	r, end := c.recording, c.end()
	switch {
	case s.done >= end:
		r.Instrument.InFlightAtEnd++
		if s.begun >= end && queueing == 0 {
			r.Instrument.LateAtEnd++
		}
	case !s.expired:
		r.InWindow++
	}
}

// delays shares the time before the operation began out to the instrument
// and to the system. Of the wait for a worker, what the driver stood still
// is the instrument's.
func (s sample) delays(pauses []pause) (lag, queueing time.Duration) {
	delay := s.begun - s.due
	if s.late != lateBySystem {
		return delay, 0
	}
	for _, p := range pauses {
		if overlap := min(p.to, s.begun) - max(p.from, s.due); overlap > 0 {
			lag += overlap
		}
	}
	lag = min(lag, delay)
	return lag, delay - lag
}

// response records the times of an operation that was run.
func (c *collector) response(s sample, queueing time.Duration) {
	response := queueing + s.done - s.begun
	switch s.outcome {
	case Refused:
		c.recording.Refused[s.kind]++
		c.keep(ofRefused, response)
		return
	case Failed:
		c.recording.Failed[s.kind]++
		c.keep(ofFailed, response)
		return
	}
	c.recording.Done++
	c.keep(ofTotal, response)
	for i := range c.driver.plan.Stages {
		if s.stages[i] == notReached {
			continue
		}
		c.keep(ofStages+i, s.stages[i])
		if i == 0 {
			c.keep(ofAcquire, queueing+s.stages[i])
		}
	}
}

func (c *collector) keep(place int, d time.Duration) {
	span := &c.spans[place]
	span.samples = append(span.samples, int64(d))
}

// last drains what is left once all workers are done, and holds the sums
// against the schedule: a slot that was planned and is not in them was lost.
func (c *collector) last() error {
	d, r := c.driver, c.recording
	err := c.drain(max(d.clock.Now(), c.from))
	if planned := windowSlots(d.plan); !d.stopped.Load() && d.plan.Clients == 0 && r.Offered != planned {
		err = errors.Join(err, fmt.Errorf("%d slots were planned, and %d accounted for: this is a bug of the load generator", planned, r.Offered))
	}
	return errors.Join(err, c.timer.Close())
}

func (c *collector) finish() *Recording {
	r, d := c.recording, c.driver
	r.Interrupted = d.stopped.Load()
	r.Slots = d.schedule.taken()
	r.Window = c.end() - d.plan.Warmup
	early := d.early.Load()
	r.InWindow += early
	seen := r.Instrument
	r.Instrument = d.instrument()
	r.Instrument.Queued, r.Instrument.LateByDriver = seen.Queued, seen.LateByDriver
	r.Instrument.InFlightAtStart, r.Instrument.InFlightAtEnd, r.Instrument.LateAtEnd = early, seen.InFlightAtEnd, seen.LateAtEnd
	r.Instrument.GapCV = c.spacing.variation()
	count, longest := d.pauses.total()
	r.Instrument.Pauses, r.Instrument.PauseMaxNS = count, int64(longest)
	if c.usage.taken {
		d.readUsage().since(c.usage, &r.Instrument)
	}
	for name, h := range r.Spans {
		r.Instrument.Overflow += h.Overflow()
		if h.Count() == 0 {
			delete(r.Spans, name)
		}
	}
	return r
}
