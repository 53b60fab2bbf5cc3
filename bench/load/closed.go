package load

import (
	"sync/atomic"
	"time"

	"lockcost/env/timer"
)

// closed is the schedule of a closed loop: a slot is due when it is claimed,
// and there are slots until the window ends, or as many as were prepared have
// been used up.
type closed struct {
	clock *timer.Clock // set when the run begins
	end   time.Duration
	slots int64

	claimed   atomic.Int64
	exhausted atomic.Int64 // when a slot was asked for that there was not; 0 for never
}

func newClosed(p Plan) *closed {
	c := constant{rateMilli: rateMilli(p.Rate)}
	return &closed{end: p.Warmup + p.Duration, slots: c.before(p.Warmup + p.Duration)}
}

func (c *closed) next() (int64, time.Duration, bool) {
	due := c.clock.Now()
	if due >= c.end {
		return 0, 0, false
	}
	slot := c.claimed.Add(1) - 1
	if slot >= c.slots {
		c.exhausted.CompareAndSwap(0, int64(due))
		return 0, 0, false
	}
	return slot, due, true
}

func (c *closed) taken() int64 { return min(c.claimed.Load(), c.slots) }

// ended is when the slots were used up, if they were.
func (c *closed) ended() (at time.Duration, early bool) {
	at = time.Duration(c.exhausted.Load())
	return at, at > 0
}
