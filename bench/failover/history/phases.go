package history

import "lockcost/results"

// Timed is one trial's operations with the moments that divide it, in
// nanoseconds since its beginning as in its operations.
type Timed struct {
	Ops []Op
	// FaultNS is when the fault was injected, below 0 if none was: all is
	// then before it. Give a trial that is to be compared with others the
	// moment at which their fault came.
	FaultNS int64
	// DuringEndNS is when service was back, or the fault ended.
	DuringEndNS int64
	// EndNS is when the trial ended: from then on nobody asked any more.
	EndNS int64
}

// Phases is the response of granted acquisitions before, during and after the
// fault, of all trials together: their samples are put into one distribution,
// not their percentiles averaged. An acquisition belongs to the phase in which
// it was invoked; one that is invoked at the fault is during it, one at
// DuringEndNS after it. A phase without grants is absent.
//
// The response runs from the invocation to the return, not from the due time:
// operations wait for no free worker here, and those that could not be
// started in time are counted apart, as expired.
func Phases(trials []Timed) map[results.Phase]results.Span {
	responses := make(map[results.Phase]*results.Histogram)
	for _, t := range trials {
		for i := range t.Ops {
			o := &t.Ops[i]
			if !o.granted() {
				continue
			}
			phase := t.phase(o.Acquire.InvokedNS)
			if responses[phase] == nil {
				responses[phase] = results.NewHistogram()
			}
			responses[phase].Record(o.response())
		}
	}
	spans := make(map[results.Phase]results.Span, len(responses))
	for phase, response := range responses {
		spans[phase] = response.Span()
	}
	return spans
}

func (t *Timed) phase(invokedNS int64) results.Phase {
	switch {
	case t.FaultNS < 0 || invokedNS < t.FaultNS:
		return results.Before
	case invokedNS < t.DuringEndNS:
		return results.During
	}
	return results.After
}

func (o *Op) response() int64 { return o.Acquire.ReturnedNS - o.Acquire.InvokedNS }
