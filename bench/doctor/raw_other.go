//go:build !linux

package doctor

import (
	"context"
	"time"

	"lockcost/results"
)

// timerLag measures Go's own timer where the kernel's is not at hand.
func timerLag(ctx context.Context, lag *results.Histogram, n int) error {
	const gap = time.Second / pace
	due := time.Now()
	for range n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		due = due.Add(gap)
		time.Sleep(time.Until(due))
		late := time.Since(due)
		lag.Record(int64(late))
		if late > gap {
			due = time.Now()
		}
	}
	return nil
}

// interruptions records nothing.
func interruptions(context.Context, *results.Histogram, time.Duration) error { return nil }

// raw measures nothing: there is no floor to compare with.
func (e *examination) raw(*results.Histogram, func() [][]byte) func(context.Context) error {
	return func(context.Context) error { return nil }
}
