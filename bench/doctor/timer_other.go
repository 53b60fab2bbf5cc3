//go:build !linux

package doctor

import (
	"context"
	"time"

	"lockcost/results"
)

// timerLag measures Go's own timer where the kernel's is not at hand.
func timerLag(ctx context.Context, lag *results.Histogram) error {
	due := time.Now()
	for range timerSamples {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		due = due.Add(timerGap)
		time.Sleep(time.Until(due))
		late := time.Since(due)
		lag.Record(int64(late))
		if late > timerGap {
			due = time.Now()
		}
	}
	return nil
}
