package timer

import (
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// NewClock starts a clock. It reads Go's monotonic clock and the kernel's
// close together, so that a due time can be handed to the kernel as an
// absolute time.
func NewClock() *Clock {
	best, gap := &Clock{}, int64(math.MaxInt64)
	for range 10 {
		before := monotonic()
		base := time.Now()
		after := monotonic()
		if after-before < gap {
			gap = after - before
			best.Base, best.mono = base, before+gap/2
		}
	}
	return best
}

// Kernel is the kernel's CLOCK_MONOTONIC, in nanoseconds, at a time of the
// clock's.
func (c *Clock) Kernel(at time.Duration) int64 { return c.mono + int64(at) }

func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // cannot fail for this clock; a wrong base would show as lag
	}
	return t.Nano()
}

// timerfd waits on a kernel timer through the runtime's poller. time.Sleep
// is rounded to a millisecond there, a raw nanosleep keeps a scheduler slot
// from the replies of other operations, and spinning keeps the CPU from
// them; this does none of it (timerfd_create(2)).
type timerfd struct {
	fd     int
	file   *os.File
	clock  *Clock
	buffer [8]byte
}

// New makes a timer on the clock.
func New(c *Clock) (Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd_create: %w (each worker needs one; is the limit on open files too low?)", err)
	}
	return &timerfd{fd: fd, file: os.NewFile(uintptr(fd), "timerfd"), clock: c}, nil
}

func (t *timerfd) Wait(until time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(t.clock.Kernel(until))}
	if err := unix.TimerfdSettime(t.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return fmt.Errorf("timerfd_settime: %w", err)
	}
	if _, err := t.file.Read(t.buffer[:]); err != nil {
		if os.IsTimeout(err) {
			return ErrStopped
		}
		return fmt.Errorf("reading a timer: %w", err)
	}
	return nil
}

func (t *timerfd) Stop() { _ = t.file.SetReadDeadline(time.Unix(1, 0)) }

func (t *timerfd) Close() error { return t.file.Close() }

// Fine tells whether the timer is finer than a millisecond.
const Fine = true
