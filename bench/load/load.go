// Package load is an open-loop load generator: arrivals come from a
// schedule, never from completions, so a server that stalls is charged with
// every operation that was due meanwhile.
//
// The pipeline: a schedule says when each slot is due. Idle workers claim
// the next slot, each waits for its own slot's due time and runs the
// operation; there is no hand-off. Where the driver has a CPU to itself it
// never sleeps meanwhile, but looks for replies and at the clock by turns
// (poller); elsewhere kernel timers wake the workers. Samples go to the
// worker's own buffer, are drained each second, and are sorted into spans
// off the hot path. Every slot is accounted for.
//
// Two delays can come before an operation, and they are kept apart. Lag is
// the instrument's: the slot was claimed in time and its timer woke late, or
// the driver stood still. Queueing is the system's: every worker was inside
// an operation when the slot came due. Responses start where the operation
// did, unless it had to queue: then at its due time. Where the driver stood
// still while slots queued, that stretch alone is lag.
package load

import (
	"context"
	"fmt"
	"math"
	"time"

	"lockcost/env/timer"
	"lockcost/results"
)

// Arrivals is the shape of the arrival process.
type Arrivals string

// The arrival processes.
const (
	Constant Arrivals = "constant" // evenly spaced
	Poisson  Arrivals = "poisson"  // independent, exponentially distributed gaps
)

// Bounds of a plan.
const (
	MinRate    = 0.001     // arrivals per second
	MaxRate    = 1_000_000 // arrivals per second
	MaxWorkers = 65536
	MaxStages  = 4
)

// Plan says what arrives, for how long, and how much may be in flight.
type Plan struct {
	Rate     float64       // arrivals per second, MinRate to MaxRate
	Arrivals Arrivals      // "" means Constant
	Seed     uint64        // of Poisson arrivals
	Warmup   time.Duration // before the measured window; its operations are run and not recorded
	Duration time.Duration // the measured window
	Count    int64         // when above 0, the window ends after this many arrivals instead
	Workers  int           // most operations in flight, 1 to MaxWorkers
	Timeout  time.Duration // an operation is given up on this long after its due time
	// Clients, above 0, makes a closed loop of it, for comparison with the open
	// one: so many workers, which must be Workers, each of which begins its
	// next operation when its last has ended. Nothing is late or queued then,
	// and Rate only bounds how many operations there are: Rate × (Warmup +
	// Duration).
	Clients int
	// Hold is how long each operation holds on purpose; it is added to the
	// deadline, not to the time in which a slot must start.
	Hold time.Duration
	// Stages names the stretches that an operation marks with Op.End, in
	// order. The response of the first is reported as results.SpanAcquire.
	Stages []results.SpanName
	// Classify says what an operation's error means. Nil takes every error
	// for a failure of kind "error".
	Classify func(error) (Outcome, string)
	// Observe is handed each second's samples, on a goroutine of the
	// driver's. The interval is its own only during the call. An error ends
	// the run. Nil is allowed.
	Observe func(Interval) error

	// Sample, where it is not nil, is called about each millisecond of the
	// window, at random times, by what keeps the driver's time: it must be
	// done in well under a microsecond. A driver that is Unwatched and sleeps
	// takes none.
	Sample func()

	// Sleep has the driver sleep whenever it has nothing to do, as it must
	// where servers may run on its CPUs: it would starve them.
	Sleep bool

	// Unwatched leaves out the watch for pauses of the driver, which wakes each
	// millisecond: for runs whose latencies nobody reads.
	Unwatched bool

	// NewTimer makes what wakes a worker for its slot. Nil leaves it to the
	// driver; tests of the instrument put something worse in its place.
	NewTimer func(*timer.Clock) (timer.Timer, error)
}

// Outcome is what became of an operation that was run.
type Outcome uint8

// The outcomes.
const (
	Done    Outcome = iota // it did what it was to do
	Refused                // it was answered, with no
	Failed                 // it broke
)

// Operation does the work of one slot. Its context carries the deadline.
type Operation func(ctx context.Context, o *Op) error

// Job is called once for each worker and returns the context and the
// operation of that worker, so that what its operations reuse needs no lock.
type Job func(ctx context.Context) (context.Context, Operation)

// Op is one arrival. A worker reuses it, so it must not be kept.
type Op struct {
	Slot int64 // its number in the schedule, from 0, warm-up included
	// PoolWait is for the operation to set: how long it stood in line for
	// connections.
	PoolWait time.Duration

	clock  *timer.Clock
	timer  timer.Timer
	marked time.Duration
	stages [MaxStages]time.Duration // notReached where the operation did not get there
}

const notReached = time.Duration(-1)

// End ends the stage with that place in Plan.Stages. A stage begins where
// the one before it ended, the first where the operation began.
func (o *Op) End(stage int) {
	now := o.clock.Now()
	o.stages[stage] = now - o.marked
	o.marked = now
}

// Part keeps d as that of a stage which is a part of another one: no mark is
// moved.
func (o *Op) Part(stage int, d time.Duration) { o.stages[stage] = d }

// Skip leaves the time since the last mark out of every stage. It stays in
// the whole.
func (o *Op) Skip() { o.marked = o.clock.Now() }

// Sleep waits for d with the worker's own timer, which is finer than
// time.Sleep. It returns early when the run is stopped.
func (o *Op) Sleep(d time.Duration) {
	if d > 0 {
		_ = o.timer.Wait(o.clock.Now() + d)
	}
}

// Interval is what completed in one second of the measured window, or in the
// rest of it; in the last one, what was left in flight when the window ended.
type Interval struct {
	Start, Length time.Duration                // since the window's start
	Samples       map[results.SpanName][]int64 // nanoseconds
	Completed     int64
	Expired       int64
}

// Recording is the outcome of a run. Offered = Completed + Expired, and
// Completed = Done + the sums of Refused and Failed.
type Recording struct {
	Offered   int64
	Completed int64
	Expired   int64 // not started within the timeout
	Done      int64
	Refused   map[string]int64 // by kind
	Failed    map[string]int64 // by kind
	// Slots is how many operations were begun or expired, warm-up included.
	Slots int64
	// InWindow is the operations that completed inside the measured window,
	// whenever they were due. Where the system keeps up it is about Offered;
	// the rest was left in flight when the window ended.
	InWindow int64
	// Window is the planned length of the measured window, and the time
	// that rates refer to; of a run that was cut short, what there was of it.
	Window      time.Duration
	Began       time.Time // start of the measured window
	Interrupted bool      // cut short, by its context or by an error
	Spans       map[results.SpanName]*results.Histogram
	Instrument  results.Instrument
}

// Check tells what is wrong with the plan, if anything.
func (p Plan) Check() error {
	switch {
	case math.IsNaN(p.Rate) || p.Rate < MinRate || p.Rate > MaxRate:
		return fmt.Errorf("rate %v: must be from %v to %d arrivals per second", p.Rate, MinRate, MaxRate)
	case p.Arrivals != "" && p.Arrivals != Constant && p.Arrivals != Poisson:
		return fmt.Errorf("arrivals %q: must be constant or poisson", p.Arrivals)
	case p.Workers < 1 || p.Workers > MaxWorkers:
		return fmt.Errorf("workers %d: must be from 1 to %d", p.Workers, MaxWorkers)
	case p.Warmup < 0:
		return fmt.Errorf("warm-up %v: must not be negative", p.Warmup)
	case p.Duration <= 0 && p.Count <= 0:
		return fmt.Errorf("duration %v: must be above 0", p.Duration)
	case p.Timeout <= 0:
		return fmt.Errorf("operation timeout %v: must be above 0", p.Timeout)
	case p.Clients < 0 || p.Clients > 0 && p.Clients != p.Workers:
		return fmt.Errorf("clients %d: must be 0, for an open loop, or as many as there are workers (%d)", p.Clients, p.Workers)
	case p.Clients > 0 && p.Count > 0:
		return fmt.Errorf("count %d: a closed loop ends by the clock", p.Count)
	case p.Hold < 0:
		return fmt.Errorf("hold %v: must not be negative", p.Hold)
	case len(p.Stages) > MaxStages:
		return fmt.Errorf("%d stages: at most %d", len(p.Stages), MaxStages)
	}
	return nil
}

// window is the planned length of the measured window.
func (p Plan) window() time.Duration {
	if p.Count > 0 {
		return time.Duration(float64(p.Count) / p.Rate * float64(time.Second))
	}
	return p.Duration
}

// Run drives job as plan says, and returns when every operation has. When
// ctx ends, no further slot is started, those in flight are left to finish,
// and the recording is marked as interrupted; that is no error. An error
// with a recording means that Observe failed in the middle.
func Run(ctx context.Context, plan Plan, job Job) (*Recording, error) {
	if err := plan.Check(); err != nil {
		return nil, err
	}
	d, err := newDriver(plan, job)
	if err != nil {
		return nil, fmt.Errorf("starting the load generator: %w", err)
	}
	return d.run(ctx)
}
