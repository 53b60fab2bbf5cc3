package history

import (
	"time"

	"lockcost/results"
)

// sliceNS is the length of a slice of the timeline.
const sliceNS = int64(100 * time.Millisecond)

// slot gathers one slice.
type slot struct {
	results.Slice
	responses []int64 // of what was granted, ns
}

// Timeline is what acquisitions came to in each 100 ms before and after the
// fault, of all trials together, aligned at their faults: one slice begins
// where the fault came. It goes from the earliest beginning of a trial to the
// latest end, without gaps; Trials says how many of them were under way in a
// slice, be it for a part of it. An acquisition counts in the slice in which
// it returned, with the response that Phases has. Percentiles are those of
// all trials' samples, nil with too few.
//
// Left out are trials without a fault, which have nothing to be aligned at,
// and acquisitions that returned when their trial had ended.
func Timeline(trials []Timed) []results.Slice {
	first, end := reach(trials)
	if first >= end {
		return nil
	}
	slots := make([]slot, end-first)
	for i := range slots {
		slots[i].AtNS = (first + int64(i)) * sliceNS
	}
	for i := range trials {
		if t := &trials[i]; t.aligned() {
			from, until := t.reach()
			for place := from; place < until; place++ {
				slots[place-first].Trials++
			}
			t.fill(slots, first)
		}
	}
	return condense(slots)
}

// aligned tells whether the trial has a place on the timeline.
func (t *Timed) aligned() bool { return t.FaultNS >= 0 && t.EndNS > 0 }

// place is the number of the slice that a moment of the trial falls into: 0
// begins at the fault.
func (t *Timed) place(ns int64) int64 {
	since := ns - t.FaultNS
	place := since / sliceNS
	if since%sliceNS < 0 {
		place--
	}
	return place
}

// reach is the trial's first slice, and the one after its last.
func (t *Timed) reach() (first, end int64) {
	return t.place(0), t.place(t.EndNS-1) + 1
}

func reach(trials []Timed) (first, end int64) {
	none := true
	for i := range trials {
		if !trials[i].aligned() {
			continue
		}
		from, until := trials[i].reach()
		if none {
			first, end, none = from, until, false
		}
		first, end = min(first, from), max(end, until)
	}
	return first, end
}

// fill adds the trial's acquisitions to slots, the first of which has the
// number first.
func (t *Timed) fill(slots []slot, first int64) {
	for i := range t.Ops {
		o := &t.Ops[i]
		returned := o.Acquire.ReturnedNS
		if returned < 0 || returned >= t.EndNS {
			continue
		}
		s := &slots[t.place(returned)-first]
		switch o.Acquire.Result {
		case Granted:
			s.Granted++
			s.responses = append(s.responses, o.response())
		case Held:
			s.Held++
		default:
			s.Failed++
		}
	}
}

// condense puts percentiles in the place of samples. One histogram serves all
// slices: each takes more memory than the samples of many.
func condense(slots []slot) []results.Slice {
	response := results.NewHistogram()
	slices := make([]results.Slice, len(slots))
	for i := range slots {
		response.Reset()
		for _, ns := range slots[i].responses {
			response.Record(ns)
		}
		span := response.Span()
		slices[i] = slots[i].Slice
		slices[i].P50NS, slices[i].P99NS = span.P50NS, span.P99NS
	}
	return slices
}
