package doctor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"lockcost/env/timer"
	"lockcost/results"
)

// timerLag records how late n sleeps to absolute times end, with
// clock_nanosleep(2).
func timerLag(ctx context.Context, lag *results.Histogram, n int) error {
	return onThread(func() error {
		return paced(ctx, n, func(late int64) error {
			lag.Record(late)
			return nil
		})
	})
}

// interruptions records every stretch of busy time in which the CPU was taken
// from a thread that does nothing but read the clock: by the kernel's ticks,
// by other threads, and by the host of a virtual machine.
func interruptions(ctx context.Context, into *results.Histogram, busy time.Duration) error {
	return onThread(func() error {
		clock := timer.NewClock()
		for last := clock.Now(); last < busy; {
			now := clock.Now()
			if gap := now - last; gap > interruption {
				into.Record(int64(gap))
			}
			last = now
		}
		return context.Cause(ctx)
	})
}

// onThread runs f on a thread of its own whose timer slack is 1 ns
// (prctl(2), PR_SET_TIMERSLACK).
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends here, and its slack with it
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
			done <- fmt.Errorf("prctl(PR_SET_TIMERSLACK): %w", err)
			return
		}
		done <- f()
	}()
	return <-done
}

// paced calls f n times, at absolute times that are 1/pace apart, and tells
// it how many nanoseconds late it is.
func paced(ctx context.Context, n int, f func(late int64) error) error {
	const gap = time.Second / pace
	// The runtime's clock, which is no system call: one of those has the
	// runtime's watchdog look each 20 µs whether it blocks.
	clock := timer.NewClock()
	due := clock.Now()
	for range n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		due += gap
		if err := sleepUntil(clock.Kernel(due)); err != nil {
			return err
		}
		late := clock.Now() - due
		if err := f(int64(late)); err != nil {
			return err
		}
		if late > gap {
			due = clock.Now() // a tick that was missed is one late tick, not many
		}
	}
	return nil
}

func sleepUntil(due int64) error {
	until := unix.NsecToTimespec(due)
	for {
		err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("clock_nanosleep: %w", err)
		}
	}
}

// raw measures round trips by blocking write(2) and read(2).
func (e *examination) raw(into *results.Histogram, command func() [][]byte) func(context.Context) error {
	return func(ctx context.Context) error {
		return onThread(func() error {
			c, err := dialRaw(e.Redis)
			if err != nil {
				return err
			}
			defer unix.Close(c.fd)
			return paced(ctx, e.trips, func(int64) error {
				c.prepare(command()...)
				began := time.Now()
				err := c.exchange()
				into.Record(int64(time.Since(began)))
				return err
			})
		})
	}
}
