package load

import (
	"errors"
	"time"

	"lockcost/results"
)

// collector sorts the drained samples into spans. It is used by one
// goroutine, which is never a worker.
type collector struct {
	driver    *driver
	recording *Recording
	usage     usage // at the start of the window
	from      time.Duration
	interval  Interval
}

func newCollector(d *driver) *collector {
	c := &collector{
		driver: d,
		recording: &Recording{
			Refused: map[string]int64{}, Failed: map[string]int64{},
			Spans: map[results.SpanName]*results.Histogram{},
		},
		interval: Interval{Samples: map[results.SpanName][]int64{}},
	}
	c.recording.Began = d.clock.base.Add(d.plan.Warmup)
	c.from = d.plan.Warmup
	return c
}

// windowBegins is called when the warm-up has passed.
func (c *collector) windowBegins() {
	c.driver.pauses.restart()
	c.usage = readUsage()
}

// drain takes what has been sampled since the last drain and hands it on as
// the interval that ends at until.
func (c *collector) drain(until time.Duration) error {
	in := &c.interval
	in.Start, in.Length = c.from-c.driver.plan.Warmup, until-c.from
	in.Completed, in.Expired = 0, 0
	for name := range in.Samples {
		in.Samples[name] = in.Samples[name][:0]
	}
	c.from = until

	d := c.driver
	d.mu.Lock()
	workers := d.workers[:len(d.workers):len(d.workers)]
	d.mu.Unlock()
	pauses := d.pauses.take()
	for _, w := range workers {
		for _, s := range w.take() {
			c.add(s, pauses)
		}
	}
	for name, samples := range in.Samples {
		h := c.recording.Spans[name]
		if h == nil {
			h = results.NewHistogram()
			c.recording.Spans[name] = h
		}
		for _, ns := range samples {
			h.Record(ns)
		}
	}
	if d.plan.Observe == nil {
		return nil
	}
	return d.plan.Observe(*in)
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
	if s.expired {
		r.Expired++
		in.Expired++
		return
	}
	r.Completed++
	in.Completed++
	if queueing > 0 {
		c.span(results.SpanQueueing, queueing)
	}
	if lag > 0 || queueing == 0 {
		c.span(results.SpanLag, lag)
	}
	c.spans(s, queueing)
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

// spans records the times of an operation that was run.
func (c *collector) spans(s sample, queueing time.Duration) {
	c.span(results.SpanPoolWait, s.poolWait)
	response := queueing + s.done - s.begun
	switch s.outcome {
	case Refused:
		c.recording.Refused[s.kind]++
		c.span(results.SpanRefused, response)
	case Failed:
		c.recording.Failed[s.kind]++
		c.span(results.SpanFailed, response)
	default:
		c.recording.Done++
		c.span(results.SpanTotal, response)
		c.stages(s, queueing)
	}
}

func (c *collector) stages(s sample, queueing time.Duration) {
	for i, name := range c.driver.plan.Stages {
		if s.stages[i] == notReached {
			continue
		}
		c.span(name, s.stages[i])
		if i == 0 {
			c.span(results.SpanAcquire, queueing+s.stages[i])
		}
	}
}

func (c *collector) span(name results.SpanName, d time.Duration) {
	c.interval.Samples[name] = append(c.interval.Samples[name], int64(d))
}

// last drains what is left once all workers are done, and checks the sums.
func (c *collector) last() error {
	d := c.driver
	now := max(d.clock.now(), c.from)
	err := c.drain(now)
	r := c.recording
	var named int64
	for _, counts := range []map[string]int64{r.Refused, r.Failed} {
		for _, n := range counts {
			named += n
		}
	}
	if r.Offered != r.Completed+r.Expired || r.Completed != r.Done+named {
		err = errors.Join(err, errors.New("slots do not add up: this is a bug of the load generator"))
	}
	return err
}

func (c *collector) finish(interrupted bool) *Recording {
	r, d := c.recording, c.driver
	r.Interrupted = interrupted
	r.Window = d.plan.window()
	if interrupted {
		r.Window = min(r.Window, max(0, d.clock.now()-d.plan.Warmup))
	}
	queued, late := r.Instrument.Queued, r.Instrument.LateByDriver
	r.Instrument = d.instrument()
	r.Instrument.Queued, r.Instrument.LateByDriver = queued, late
	count, longest := d.pauses.total()
	r.Instrument.Pauses, r.Instrument.PauseMaxNS = count, int64(longest)
	if c.usage.taken {
		readUsage().since(c.usage, &r.Instrument)
	}
	for _, h := range r.Spans {
		r.Instrument.Overflow += h.Overflow()
	}
	return r
}
