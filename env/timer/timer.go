// Package timer wakes a goroutine at a given time, as exactly as the kernel
// can and without keeping a CPU busy.
package timer

import (
	"errors"
	"time"
)

// ErrStopped is what Wait returns after Stop.
var ErrStopped = errors.New("stopped")

// Clock counts from its making, on the monotonic clock.
type Clock struct {
	Base time.Time
	mono int64 // CLOCK_MONOTONIC at Base, where the timer needs it
}

// Now is the time since Base.
func (c *Clock) Now() time.Duration { return time.Since(c.Base) }

// Timer wakes one goroutine. It is used by one at a time, except for Stop.
type Timer interface {
	// Wait returns no earlier than until, or ErrStopped.
	Wait(until time.Duration) error
	// Stop makes a Wait under way, and all later ones, return ErrStopped.
	Stop()
	Close() error
}

// Exactly guards against a timer that wakes before its time.
func Exactly(t Timer, c *Clock) Timer { return exact{t, c} }

type exact struct {
	Timer
	clock *Clock
}

func (e exact) Wait(until time.Duration) error {
	for {
		if err := e.Timer.Wait(until); err != nil {
			return err
		}
		if e.clock.Now() >= until {
			return nil
		}
	}
}
