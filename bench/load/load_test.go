package load

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockcost/env/timer"
	"lockcost/results"
)

// job makes a Job of an operation that keeps nothing.
func job(do Operation) Job {
	return func(ctx context.Context) (context.Context, Operation) { return ctx, do }
}

func plan() Plan {
	return Plan{
		Rate: 1000, Duration: 500 * time.Millisecond, Workers: 200, Timeout: 5 * time.Second,
		Stages: []results.SpanName{results.SpanAcquireService, results.SpanRelease},
	}
}

func mustRun(t *testing.T, p Plan, do Operation) *Recording {
	t.Helper()
	r, err := Run(t.Context(), p, job(do))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEverySlotIsAccountedFor(t *testing.T) {
	refusal, failure := errors.New("held"), errors.New("broken")
	p := plan()
	p.Classify = func(err error) (Outcome, string) {
		if err == refusal {
			return Refused, "held"
		}
		return Failed, "broken"
	}
	r := mustRun(t, p, func(_ context.Context, o *Op) error {
		switch o.Slot % 5 {
		case 1:
			return refusal
		case 2:
			return failure
		}
		o.End(0)
		o.End(1)
		return nil
	})
	if r.Offered != 500 || r.Completed != 500 || r.Expired != 0 || r.Done != 300 || r.Refused["held"] != 100 || r.Failed["broken"] != 100 {
		t.Errorf("offered %d, completed %d, expired %d, done %d, refused %v, failed %v",
			r.Offered, r.Completed, r.Expired, r.Done, r.Refused, r.Failed)
	}
	for span, want := range map[results.SpanName]int64{
		results.SpanAcquire: 300, results.SpanAcquireService: 300, results.SpanRelease: 300, results.SpanTotal: 300,
		results.SpanRefused: 100, results.SpanFailed: 100, results.SpanPoolWait: 500,
	} {
		if h := r.Spans[span]; h == nil || h.Count() != want {
			t.Errorf("span %s: want %d samples, got %+v", span, want, h)
		}
	}
}

func TestRateIsExactWhateverTheNumberOfWorkers(t *testing.T) {
	for _, workers := range []int{1, 256} {
		p := plan()
		p.Rate, p.Workers, p.Duration = 100, workers, time.Second
		if r := mustRun(t, p, func(context.Context, *Op) error { return nil }); r.Offered != 100 || r.Completed != 100 {
			t.Errorf("%d workers at 100/s for 1 s: offered %d, completed %d", workers, r.Offered, r.Completed)
		}
	}
}

func TestWorkersAreCountedWhileInside(t *testing.T) {
	p := plan()
	p.Rate = 100
	quick := mustRun(t, p, func(context.Context, *Op) error { return nil })
	if in := quick.Instrument; in.WorkersBusyMax > 20 || in.WorkersStarted > firstWorkers {
		t.Errorf("an operation that takes no time: %d busy at once, %d started", in.WorkersBusyMax, in.WorkersStarted)
	}
	p.Rate, p.Duration = 1000, 300*time.Millisecond
	slow := mustRun(t, p, func(context.Context, *Op) error { time.Sleep(150 * time.Millisecond); return nil })
	if in := slow.Instrument; in.WorkersBusyMax < 100 || in.WorkersStarted < in.WorkersBusyMax {
		t.Errorf("150 ms at 1000/s: %d busy at once, %d started", in.WorkersBusyMax, in.WorkersStarted)
	}
}

func TestArrivalsAreSpreadEvenly(t *testing.T) {
	var mu sync.Mutex
	var starts []time.Duration
	p := plan()
	p.Duration = 2 * time.Second
	mustRun(t, p, func(_ context.Context, o *Op) error {
		mu.Lock()
		defer mu.Unlock()
		starts = append(starts, o.clock.Now())
		return nil
	})
	// In a burst each 20 ms, 19 of 20 gaps would be next to nothing.
	tiny := 0
	for i := 1; i < len(starts); i++ {
		if starts[i]-starts[i-1] < 100*time.Microsecond {
			tiny++
		}
	}
	if tiny > len(starts)/2 {
		t.Errorf("%d of %d gaps are under a tenth of the planned one: the arrivals come in bursts", tiny, len(starts))
	}
}

// hasty wakes long before its time.
type hasty struct{ timer.Timer }

func (h hasty) Wait(until time.Duration) error { return h.Timer.Wait(until - time.Millisecond) }

func TestNothingStartsBeforeItsDueTime(t *testing.T) {
	p := plan()
	p.Duration = 100 * time.Millisecond
	p.NewTimer = func(c *timer.Clock) (timer.Timer, error) {
		inner, err := timer.New(c)
		return hasty{inner}, err
	}
	r := mustRun(t, p, func(_ context.Context, o *Op) error { o.End(0); return nil })
	for name, h := range r.Spans {
		if h.Min() < 0 || h.Overflow() > 0 {
			t.Errorf("span %s: minimum %d ns, %d samples out of range", name, h.Min(), h.Overflow())
		}
	}
	if r.Completed != 100 {
		t.Errorf("completed %d of 100", r.Completed)
	}
}

// A server that stands still for 300 ms of a second delays each arrival of
// that time until it is back: at 1000/s the delays are 300, 299, …, 1 ms, so
// of 1000 samples the 11th largest, which is P99, is 290 ms, and the 101st,
// P90, is 200 ms. With enough workers all of it is service, with one worker
// all but one is queueing; the response must show it in full either way.
func TestStalledServerShowsInFull(t *testing.T) {
	for _, workers := range []int{1, 2000} {
		var frozen sync.RWMutex
		var once sync.Once
		p := plan()
		p.Duration, p.Workers = time.Second, workers
		r := mustRun(t, p, func(_ context.Context, o *Op) error {
			if o.Slot >= 400 {
				once.Do(func() {
					frozen.Lock()
					time.AfterFunc(300*time.Millisecond, frozen.Unlock)
				})
			}
			frozen.RLock()
			defer frozen.RUnlock()
			o.End(0)
			return nil
		})
		acquire := r.Spans[results.SpanAcquire]
		// On a machine that is busy with other things the driver is stopped
		// too, which is not the server's, and the freeze lasts longer.
		slack := 25e6 + float64(r.Instrument.Pauses*r.Instrument.PauseMaxNS)
		for q, want := range map[float64]float64{0.99: 290e6, 0.90: 200e6} {
			if got := float64(acquire.Quantile(q)); math.Abs(got-want) > slack {
				t.Errorf("%d workers: response P%v is %.0f ms, want about %.0f ms", workers, 100*q, got/1e6, want/1e6)
			}
		}
		if workers == 1 {
			if r.Instrument.Queued < 250 {
				t.Errorf("one worker: %d slots queued, want about 299", r.Instrument.Queued)
			}
			if service := r.Spans[results.SpanAcquireService].Quantile(0.99); service > 100e6 {
				t.Errorf("one worker: service P99 is %.0f ms, but only one operation met the stall", float64(service)/1e6)
			}
		} else if r.Instrument.Queued > 0 {
			t.Errorf("%d slots queued although there were workers enough", r.Instrument.Queued)
		}
	}
}

// A server that can do 900 operations a second of the 1000 that are due falls
// behind by a hundred each second. All of them are done in the end.
func TestWhatIsLeftInFlightIsNotAchieved(t *testing.T) {
	var mu sync.Mutex
	p := plan()
	p.Duration, p.Warmup, p.Rate = time.Second, 200*time.Millisecond, 100
	r := mustRun(t, p, func(_ context.Context, o *Op) error {
		mu.Lock()
		defer mu.Unlock()
		o.Sleep(20 * time.Millisecond) // 50/s
		return nil
	})
	if r.Completed != 100 || r.InWindow > 60 || r.InWindow < 30 {
		t.Errorf("completed %d, of which %d inside the window; want 100 and about 50", r.Completed, r.InWindow)
	}
	in := r.Instrument
	if in.InFlightAtStart+r.Offered != r.InWindow+in.InFlightAtEnd {
		t.Errorf("%d in flight at the start + %d offered is not %d completed in the window + %d in flight at its end",
			in.InFlightAtStart, r.Offered, r.InWindow, in.InFlightAtEnd)
	}
	if in.LateAtEnd > 5 {
		t.Errorf("%d slots are said to be late by the driver", in.LateAtEnd)
	}
}

// With one worker and arrivals closer together than a timer's lag, each slot
// but the first has to queue: none of it is the instrument's.
func TestSlotsThatQueueAreNotLag(t *testing.T) {
	p := plan()
	p.Workers, p.Arrivals, p.Rate, p.Seed, p.Duration = 1, Poisson, 500, 3, time.Second
	r := mustRun(t, p, func(_ context.Context, o *Op) error { o.Sleep(1500 * time.Microsecond); return nil })
	if r.Instrument.LateByDriver > 1 {
		t.Errorf("%d slots that queued for the only worker are called late by the driver", r.Instrument.LateByDriver)
	}
	if r.Instrument.Queued < r.Offered/3 {
		t.Errorf("%d of %d slots queued, with the worker busy three quarters of the time", r.Instrument.Queued, r.Offered)
	}
}

func TestLostSampleIsFoundOut(t *testing.T) {
	p := plan()
	p.Duration = 200 * time.Millisecond
	d, err := newDriver(p, job(func(context.Context, *Op) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	d.schedule.next() // a slot that nobody will run
	if _, err := d.run(t.Context()); err == nil || !strings.Contains(err.Error(), "199") {
		t.Errorf("one of 200 slots was lost, and the error is %v", err)
	}
}

func TestSlotsExpireWhenNobodyCanStartThem(t *testing.T) {
	p := plan()
	p.Workers, p.Timeout, p.Duration = 4, 100*time.Millisecond, time.Second
	var first atomic.Bool
	r := mustRun(t, p, func(ctx context.Context, o *Op) error {
		if o.Slot >= 200 && o.Slot < 204 && !first.Swap(o.Slot == 203) {
			time.Sleep(400 * time.Millisecond) // deaf to its deadline
		}
		o.End(0)
		return nil
	})
	if r.Offered != 1000 || r.Expired == 0 || r.Completed+r.Expired != r.Offered {
		t.Errorf("offered %d, completed %d, expired %d", r.Offered, r.Completed, r.Expired)
	}
}

func TestOperationIsGivenUpOnAtItsDeadline(t *testing.T) {
	p := plan()
	p.Timeout, p.Duration = 200*time.Millisecond, 200*time.Millisecond
	p.Classify = func(err error) (Outcome, string) {
		if errors.Is(err, context.DeadlineExceeded) {
			return Failed, "deadline"
		}
		return Failed, "other"
	}
	r := mustRun(t, p, func(ctx context.Context, _ *Op) error { <-ctx.Done(); return ctx.Err() })
	if r.Failed["deadline"]+r.Expired != 200 {
		t.Errorf("failures %v and %d expired, want 200 of kind deadline", r.Failed, r.Expired)
	}
	// From the due time: an operation that began late has less.
	if got := r.Spans[results.SpanFailed].Max(); got < int64(150*time.Millisecond) {
		t.Errorf("given up on after %v at most, want 200 ms", time.Duration(got))
	}
}

func TestInterruptionKeepsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := plan()
	p.Duration = time.Minute
	var n atomic.Int64
	r, err := Run(ctx, p, job(func(ctx context.Context, o *Op) error {
		if n.Add(1) == 100 {
			cancel()
		}
		o.End(0)
		return ctx.Err() // an operation in flight is not cut short
	}))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || r.Done < 99 || r.Done > 1000 || len(r.Failed) > 0 {
		t.Errorf("interrupted %v, done %d, failed %v", r.Interrupted, r.Done, r.Failed)
	}
	if r.Window >= time.Minute {
		t.Errorf("window is %v, want the part that took place", r.Window)
	}
}

func TestObserverSeesEverySampleAndMayEndTheRun(t *testing.T) {
	p := plan()
	p.Duration = 2500 * time.Millisecond
	var seen int
	var lengths []time.Duration
	p.Observe = func(in Interval) error {
		seen += len(in.Samples[results.SpanTotal])
		lengths = append(lengths, in.Length)
		return nil
	}
	r := mustRun(t, p, func(context.Context, *Op) error { return nil })
	if int64(seen) != r.Done || seen != 2500 {
		t.Errorf("observed %d of %d samples", seen, r.Done)
	}
	// Where the machine stood still at the end, what was in flight then has an
	// interval of its own.
	if len(lengths) < 3 || len(lengths) > 4 || lengths[0] != time.Second || lengths[1] != time.Second ||
		len(lengths) == 4 && lengths[2] != p.Duration-2*time.Second {
		t.Errorf("intervals of %v, want two of 1 s and the rest", lengths)
	}

	full := errors.New("disk full")
	p.Duration = time.Minute
	p.Observe = func(Interval) error { return full }
	r, err := Run(t.Context(), p, job(func(context.Context, *Op) error { return nil }))
	if !errors.Is(err, full) || r == nil || r.Done == 0 {
		t.Errorf("got %v and %v, want the observer's error and what was measured", r, err)
	}
}

func TestWarmupIsNotRecorded(t *testing.T) {
	p := plan()
	p.Warmup = 300 * time.Millisecond
	var run atomic.Int64
	r := mustRun(t, p, func(context.Context, *Op) error { run.Add(1); return nil })
	if run.Load() != 800 || r.Offered != 500 {
		t.Errorf("%d run and %d recorded, want 800 and 500", run.Load(), r.Offered)
	}
}

func TestHoldIsInTheWholeButInNoStage(t *testing.T) {
	p := plan()
	p.Hold, p.Duration = 20*time.Millisecond, 100*time.Millisecond
	r := mustRun(t, p, func(_ context.Context, o *Op) error {
		o.End(0)
		o.Sleep(p.Hold)
		o.Skip()
		o.End(1)
		return nil
	})
	if got := r.Spans[results.SpanTotal].Min(); got < int64(p.Hold) {
		t.Errorf("total is %v, less than the hold", time.Duration(got))
	}
	if got := r.Spans[results.SpanRelease].Quantile(0.5); got > int64(p.Hold)/2 {
		t.Errorf("release is %v: the hold is counted in it", time.Duration(got))
	}
}

func TestBadPlansAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Plan){
		"rate":     func(p *Plan) { p.Rate = 0 },
		"rate ":    func(p *Plan) { p.Rate = -1 },
		"rate NaN": func(p *Plan) { p.Rate = math.NaN() },
		"workers":  func(p *Plan) { p.Workers = 0 },
		"duration": func(p *Plan) { p.Duration = 0 },
		"timeout":  func(p *Plan) { p.Timeout = 0 },
		"arrivals": func(p *Plan) { p.Arrivals = "bursty" },
	} {
		p := plan()
		change(&p)
		if _, err := Run(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
