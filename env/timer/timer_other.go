//go:build !linux

package timer

import "time"

// NewClock starts a clock.
func NewClock() *Clock { return &Clock{Base: time.Now()} }

// sleeper waits on Go's own timer, which may be a millisecond late. What it
// costs shows as lag.
type sleeper struct {
	clock   *Clock
	stopped chan struct{}
}

// New makes a timer on the clock.
func New(c *Clock) (Timer, error) {
	return &sleeper{clock: c, stopped: make(chan struct{})}, nil
}

func (s *sleeper) Wait(until time.Duration) error {
	select {
	case <-s.stopped:
		return ErrStopped
	case <-time.After(until - s.clock.Now()):
		return nil
	}
}

func (s *sleeper) Stop() { close(s.stopped) }

func (s *sleeper) Close() error { return nil }

// Fine tells whether the timer is finer than a millisecond.
const Fine = false
