// Package doctor measures the instrument itself, so that its part in a
// measurement is known and not assumed.
package doctor

import (
	"context"
	"fmt"
	"time"

	"lockcost/results"
)

// timerSamples is enough for a P99.9 (results.SamplesFor), at timerGap each.
const (
	timerSamples = 8000
	timerGap     = time.Millisecond
)

// Quick measures what a verdict needs: how late the kernel's own timer wakes
// a thread on the driver's CPUs right now. It takes eight seconds.
func Quick(ctx context.Context) (results.Doctor, error) {
	lag := results.NewHistogram()
	if err := timerLag(ctx, lag); err != nil {
		return results.Doctor{}, fmt.Errorf("measuring the kernel's timer: %w", err)
	}
	return results.Doctor{
		TimerLagP50NS:  lag.Quantile(0.5),
		TimerLagP90NS:  lag.Quantile(0.9),
		TimerLagP99NS:  lag.Quantile(0.99),
		TimerLagP999NS: lag.Quantile(0.999),
		TimerSamples:   lag.Count(),
	}, nil
}
