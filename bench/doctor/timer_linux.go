package doctor

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"lockcost/results"
)

// timerLag sleeps to absolute times with clock_nanosleep(2) on a thread of
// its own whose timer slack is 1 ns (prctl(2), PR_SET_TIMERSLACK).
func timerLag(ctx context.Context, lag *results.Histogram) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends here, and its slack with it
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
			done <- fmt.Errorf("prctl(PR_SET_TIMERSLACK): %w", err)
			return
		}
		done <- sleepLoop(ctx, lag)
	}()
	return <-done
}

func sleepLoop(ctx context.Context, lag *results.Histogram) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	due := now.Nano()
	for range timerSamples {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		due += int64(timerGap)
		until := unix.NsecToTimespec(due)
		for {
			err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil)
			if err == nil {
				break
			}
			if !errors.Is(err, unix.EINTR) {
				return fmt.Errorf("clock_nanosleep: %w", err)
			}
		}
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			return err
		}
		late := now.Nano() - due
		lag.Record(late)
		if late > int64(timerGap) {
			due = now.Nano() // a tick that was missed is one late tick, not many
		}
	}
	return nil
}
