// Package doctor measures the instrument itself beside the machine's own
// floor, so that its part in a measurement is known and not assumed.
//
// Two things are measured in turn, in slices of a second or less, on the same
// CPUs and at the same pace: what the kernel can do with blocking system
// calls on one thread, and what the driver makes of it. A server that
// answers after an exact time shows whether the driver is linear, that is,
// whether it adds the same to a fast answer as to a slow one.
package doctor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"lockcost/env"
	"lockcost/results"
)

// pace is the rate of everything but the throughput, per second.
const pace = 1000

// Options say what to examine.
type Options struct {
	// Redis is asked for its round trips. With a zero Redis, or one that
	// takes TLS, which raw calls do not speak, those are left out.
	Redis env.Redis
	// Prefix of the keys that are set, each for a second.
	Prefix string
	// CPUs of the servers, where the exact-delay server is to run.
	CPUs []int
	// Shared tells that servers may run on the driver's CPUs: it sleeps then.
	Shared bool
	// Samples is how many operations a run will have. Few take fewer timers,
	// since no percentile beyond theirs will be judged; 0 takes as many as
	// P99.9 needs.
	Samples int64
	// Full takes more samples, more delays and the throughput: some 80
	// seconds instead of 15. Redis is driven as fast as it goes.
	Full bool
	// Watch is told how far it has come. Nil is allowed.
	Watch func(step string, done, total int)
}

// extent is how much is measured.
type extent struct {
	rounds int
	lag    int           // timers in each round, and slots
	trips  int           // round trips of a kind in each round
	linear time.Duration // at each delay in each round
	delays []time.Duration
}

// shortFor is the short form for runs of so many operations.
func shortFor(samples int64) extent {
	e := short
	if most := int64(e.rounds * e.lag); samples > 0 && samples < results.SamplesFor(results.P999) {
		e.rounds = int(max(1, (samples*int64(e.rounds)+most-1)/most))
	}
	return e
}

var (
	short = extent{
		rounds: 4, lag: 1000, trips: 200, linear: 120 * time.Millisecond,
		delays: []time.Duration{0, 100 * us, 300 * us, 500 * us, 800 * us, 1500 * us, 3000 * us},
	}
	full = extent{
		rounds: 8, lag: 1000, trips: 500, linear: 250 * time.Millisecond,
		delays: []time.Duration{0, 50 * us, 100 * us, 150 * us, 200 * us, 300 * us, 500 * us, 800 * us, 1200 * us, 1600 * us, 2000 * us, 2500 * us, 3000 * us},
	}
)

const us = time.Microsecond

// Examine measures the instrument. It belongs before runs, not beside them.
func Examine(ctx context.Context, o Options) (results.Doctor, error) {
	e, err := newExamination(ctx, o)
	if err != nil {
		return results.Doctor{}, fmt.Errorf("examining the instrument: %w", err)
	}
	defer e.close()
	if err := e.run(ctx); err != nil {
		return results.Doctor{}, fmt.Errorf("examining the instrument: %w", err)
	}
	if err := e.exact.stop(ctx); err != nil {
		return results.Doctor{}, fmt.Errorf("examining the instrument: %w", err)
	}
	return e.findings(), nil
}

// run makes the rounds, each in an order of its own.
func (e *examination) run(ctx context.Context) error {
	slices := e.slices()
	total := e.rounds * len(slices)
	if e.Full {
		total += ceilingRounds
	}
	done := 0
	for range e.rounds {
		for _, i := range rand.Perm(len(slices)) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			e.watch(slices[i].name, done, total)
			err := slices[i].run(ctx)
			if err != nil && ctx.Err() == nil { // once more: a machine may stand still for a second
				err = slices[i].run(ctx)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", slices[i].name, err)
			}
			done++
		}
	}
	if !e.Full || e.client == nil {
		return nil
	}
	for range ceilingRounds {
		e.watch("throughput", done, total)
		if err := e.ceiling(ctx); err != nil {
			return fmt.Errorf("throughput: %w", err)
		}
		done++
	}
	return nil
}

func (e *examination) watch(step string, done, total int) {
	if e.Watch != nil {
		e.Watch(step, done, total)
	}
}
