package load

import (
	"slices"
	"sync/atomic"
	"time"

	"lockcost/env/timer"
)

// A kernel timer is late by nearly the same time whenever it fires: what it
// takes to interrupt the CPU and switch to the worker. So it is set early by
// the least of that, and what is then left until the due time, some
// microseconds in one case out of leadQuantile, is spent in a loop.
//
// The loop must stay that short: a reply that arrives meanwhile has to wait
// for its end. One of 200 µs added 100 µs to every operation of 500 to
// 800 µs at 1000 a second.
const (
	leadQuantile = 20                     // one timer in so many may fire before the due time
	leadStep     = 200 * time.Nanosecond  // that a late one adds to the lead
	leadMost     = 100 * time.Microsecond // a timer that is later than that is late for another reason
	primeTimers  = 60                     // that a run begins with, to know the lead from the start
	primeGap     = 300 * time.Microsecond // between them
)

// pacer is what all workers know of how late their timers are.
type pacer struct {
	clock  *timer.Clock
	pauses *pauses
	lead   atomic.Int64 // nanoseconds, tracks the 1/leadQuantile quantile of the lag
}

// prime finds the lead that a run begins with.
func (p *pacer) prime(t timer.Timer) error {
	lags := make([]time.Duration, primeTimers)
	for i := range lags {
		due := p.clock.Now() + primeGap
		if err := t.Wait(due); err != nil {
			return err
		}
		lags[i] = p.clock.Now() - due
	}
	slices.Sort(lags)
	p.lead.Store(int64(min(max(lags[primeTimers/leadQuantile], 0), leadMost)))
	return nil
}

// wait waits with t until due, never less, or returns its error.
func (p *pacer) wait(t timer.Timer, due time.Duration) error {
	set := due - time.Duration(p.lead.Load())
	if set > p.clock.Now() {
		if err := t.Wait(set); err != nil {
			return err
		}
		woken := p.clock.Now()
		p.learn(woken - set)
		p.pauses.worker(set, woken)
	}
	for p.clock.Now() < due {
	}
	return nil
}

// learn moves the lead towards the quantile: up by a step after a timer that
// was later than it, down by as many steps as make that even.
func (p *pacer) learn(lag time.Duration) {
	lead := time.Duration(p.lead.Load())
	switch {
	case lag < lead:
		lead -= (leadQuantile - 1) * leadStep
	case lead < leadMost:
		lead += leadStep
	}
	p.lead.Store(int64(max(lead, 0)))
}
