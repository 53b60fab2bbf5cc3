package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"lockcost/bench/load"
	"lockcost/results"
	"lockcost/workloads/lock"
)

// pace measures how late the driver starts slots that do nothing.
func (e *examination) pace(ctx context.Context) error {
	recording, err := e.drive(ctx, int64(e.lag), func(context.Context, *load.Op) error { return nil })
	if err == nil {
		e.pacer.Merge(recording.Spans[results.SpanLag])
	}
	return err
}

// driven measures n acquisitions through the driver.
func (e *examination) driven(into *results.Histogram, locker lock.Locker, n int) func(context.Context) error {
	return func(ctx context.Context) error {
		first := e.keys
		recording, err := e.drive(ctx, int64(n), func(ctx context.Context, o *load.Op) error {
			_, err := locker.TryLock(ctx, e.Prefix+"doctor:"+strconv.FormatInt(first+1+o.Slot, 10), setTTL)
			o.End(0)
			return err
		})
		if err != nil {
			return err
		}
		e.keys += recording.Offered + load.WarmupSlots(e.plan)
		into.Merge(recording.Spans[results.SpanAcquire])
		return nil
	}
}

// drive runs n operations at the pace. Where most of them fail, there is
// nothing to measure; a few that were given up on are the machine's affair.
func (e *examination) drive(ctx context.Context, n int64, operation load.Operation) (*load.Recording, error) {
	plan := e.plan
	plan.Count = n
	recording, err := load.Run(ctx, plan, func(ctx context.Context) (context.Context, load.Operation) { return ctx, operation })
	switch {
	case err != nil:
		return nil, err
	case recording.Interrupted:
		return nil, context.Cause(ctx)
	case recording.Done < recording.Offered/2:
		return nil, fmt.Errorf("%d of %d operations failed (%v): has the server ended or been stopped, or is the machine overloaded?",
			recording.Offered-recording.Done, recording.Offered, slices.Sorted(maps.Keys(recording.Failed)))
	}
	in := recording.Instrument
	e.instrument.GCCycles += in.GCCycles
	e.instrument.GCPauseMaxNS = max(e.instrument.GCPauseMaxNS, in.GCPauseMaxNS)
	e.instrument.SchedP99NS = max(e.instrument.SchedP99NS, in.SchedP99NS)
	return recording, nil
}
