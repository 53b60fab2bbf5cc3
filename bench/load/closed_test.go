package load

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"lockcost/results"
)

func closedPlan(clients int) Plan {
	p := plan()
	p.Rate, p.Clients, p.Workers = 100_000, clients, clients
	p.Duration = time.Second
	return p
}

// Little's law: what is in flight on average is the rate times the mean
// response, and in a closed loop that is the number of clients.
func TestAClosedLoopKeepsLittlesLaw(t *testing.T) {
	for _, clients := range []int{1, 8, 100} {
		r := mustRun(t, closedPlan(clients), func(_ context.Context, o *Op) error {
			o.Sleep(5 * time.Millisecond)
			o.End(0)
			return nil
		})
		rate := float64(r.InWindow) / r.Window.Seconds()
		inFlight := rate * r.Spans[results.SpanTotal].Mean() / 1e9
		if inFlight < 0.9*float64(clients) || inFlight > 1.1*float64(clients) {
			t.Errorf("%d clients: %.0f/s with a mean of %.2f ms: %.2f in flight", clients, rate, r.Spans[results.SpanTotal].Mean()/1e6, inFlight)
		}
		if r.Expired != 0 || r.Instrument.Queued != 0 || r.Instrument.LateByDriver != 0 || r.Offered != r.Completed {
			t.Errorf("%d clients: %+v", clients, r.Instrument)
		}
		if r.Slots != r.Offered {
			t.Errorf("%d slots were begun without a warm-up, and %d counted", r.Slots, r.Offered)
		}
	}
}

// A server that stands still is counted once for each client by a closed loop,
// and by an open one for every operation that was due meanwhile.
func TestAStallIsCoordinatedAwayInAClosedLoopOnly(t *testing.T) {
	const stall, slow = 400 * time.Millisecond, int64(100 * time.Millisecond)
	stalled := func(p Plan) int64 {
		var until atomic.Int64 // since the run's start
		slowed := int64(0)
		p.Observe = func(in Interval) error {
			for _, ns := range in.Samples[results.SpanTotal] {
				if ns >= slow {
					slowed++
				}
			}
			return nil
		}
		mustRun(t, p, func(_ context.Context, o *Op) error {
			now := o.clock.Now()
			if now > 200*time.Millisecond {
				until.CompareAndSwap(0, int64(now+stall))
			}
			o.Sleep(max(time.Millisecond, time.Duration(until.Load())-now))
			o.End(0)
			return nil
		})
		return slowed
	}
	const clients = 4
	closed := stalled(closedPlan(clients))
	open := plan()
	open.Duration, open.Rate, open.Workers = time.Second, 1000, 2000
	due := stalled(open)
	if closed < 1 || closed > clients {
		t.Errorf("%d clients of a closed loop counted a stall %d times", clients, closed)
	}
	if due < 200 { // 300 were due in the part of the stall that is long enough
		t.Errorf("an open loop of 1000/s counted a stall of %v %d times", stall, due)
	}
}

// Slots are prepared before a run, and a closed loop that has used them up
// ends there: its rate is over what it was.
func TestAClosedLoopThatHasUsedUpItsSlotsEndsEarly(t *testing.T) {
	p := closedPlan(2)
	p.Rate, p.Duration = 100, 5*time.Second
	began := time.Now()
	r := mustRun(t, p, func(_ context.Context, o *Op) error {
		o.Sleep(time.Millisecond)
		o.End(0)
		return nil
	})
	if r.Offered != Slots(p) || r.Window >= p.Duration || r.InWindow < r.Offered-int64(p.Clients) || r.Interrupted {
		t.Errorf("%d of %d slots in %v of %v (%v), %d inside", r.Offered, Slots(p), r.Window, p.Duration, time.Since(began), r.InWindow)
	}
}

func TestClosedPlansAreChecked(t *testing.T) {
	for _, change := range []func(*Plan){
		func(p *Plan) { p.Clients = -1 }, func(p *Plan) { p.Workers = 7 }, func(p *Plan) { p.Count = 10 },
	} {
		p := closedPlan(8)
		change(&p)
		if p.Check() == nil {
			t.Errorf("%+v was not refused", p)
		}
	}
}
