//go:build !linux

package load

import "time"

func newClock() *clock { return &clock{base: time.Now()} }

// sleeper waits on Go's own timer, which may be a millisecond late. What it
// costs shows as lag.
type sleeper struct {
	clock   *clock
	stopped chan struct{}
}

func newTimer(c *clock) (timer, error) {
	return &sleeper{clock: c, stopped: make(chan struct{})}, nil
}

func (s *sleeper) wait(until time.Duration) error {
	select {
	case <-s.stopped:
		return errStopped
	case <-time.After(until - s.clock.now()):
		return nil
	}
}

func (s *sleeper) stop() { close(s.stopped) }

func (s *sleeper) close() error { return nil }

// FineTimer tells whether the driver's timer is finer than a millisecond.
const FineTimer = false
