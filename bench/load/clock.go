package load

import "time"

// clock counts from the start of the run, on the monotonic clock.
type clock struct {
	base time.Time
	mono int64 // CLOCK_MONOTONIC at base, where the timer needs it
}

func (c *clock) now() time.Duration { return time.Since(c.base) }

// timer wakes one worker. It is used by one goroutine at a time, except for
// stop.
type timer interface {
	// wait returns no earlier than until, or errStopped.
	wait(until time.Duration) error
	// stop makes a wait under way, and all later ones, return errStopped.
	stop()
	close() error
}

// early guards against a timer that wakes before its time: no operation may
// start early, and no latency be negative.
type early struct {
	timer
	clock *clock
}

func (e early) wait(until time.Duration) error {
	for {
		if err := e.timer.wait(until); err != nil {
			return err
		}
		if e.clock.now() >= until {
			return nil
		}
	}
}
