package planning

import (
	"math"
	"slices"

	"lockcost/results"
)

// poolQuantile is the share of the time that a pool or a memory must suffice.
const poolQuantile = 0.999

// Sizing is what must be there for the operations that are under way at once.
// Counts are for Poisson arrivals (PoissonQuantile).
type Sizing struct {
	Pools map[string]Pool `json:"pools,omitempty"` // by results.LockPool, results.LedgerPool
	// In flight: from the operation's start to its end, the hold in it.
	InFlightMean float64 `json:"in_flight_mean"`
	InFlightP999 int     `json:"in_flight_p99_9"`
	// HeldP999 is the locks held at once, taken to be held from the job's start
	// to its end, which is an upper bound.
	HeldP999      int                `json:"locks_held_p99_9"`
	HeldLockBytes map[string]float64 `json:"held_locks_bytes,omitempty"` // of all of them, by server
}

// Pool is the connections that one pool must have.
type Pool struct {
	InUseMean    float64  `json:"in_use_mean"`    // rate × the time an operation has one
	PoissonP999  int      `json:"poisson_p99_9"`  //
	MeasuredP999 *float64 `json:"measured_p99_9"` // scaled to the asked rate; nil where no run has it
	Recommended  int      `json:"recommended"`    // the greater of the two
	NearestPerS  float64  `json:"nearest_per_s"`  // the measured rate that it rests on
	Extrapolated bool     `json:"extrapolated"`   // the asked rate is another one
}

// Use is what one server, or the driver, takes at the asked rate: the mean over
// the runs at the nearest measured rate, per operation, times the asked rate.
type Use struct {
	Cores          *Range  `json:"cores,omitempty"`
	InBytesPerS    *Range  `json:"in_bytes_per_s,omitempty"`
	OutBytesPerS   *Range  `json:"out_bytes_per_s,omitempty"`
	FsyncsPerS     *Range  `json:"fsyncs_per_s,omitempty"`
	CommandsPerS   *Range  `json:"commands_per_s,omitempty"`
	NearestPerS    float64 `json:"nearest_per_s"`
	BeyondMeasured bool    `json:"extrapolated"` // the asked rate is outside the measured ones
}

// Range is a mean over runs with the least and the greatest of them.
type Range struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// nearestPoint is the point of the measured rate that is closest by ratio.
func nearestPoint(ratePerS float64, near []point) point {
	return slices.MinFunc(near, func(a, b point) int {
		far := func(p point) float64 { return math.Abs(math.Log(p.ratePerS / ratePerS)) }
		return int(math.Copysign(1, far(a)-far(b)))
	})
}

// size sizes the pools, the jobs in flight and the memory of locks. The way to
// a distance that was not measured holds a connection to the lock's server, and
// the job, for that much longer.
func size(q Question, near []point, p results.Path, shift *shifting) *Sizing {
	at := nearestPoint(q.RatePerS, near)
	way := 0.0
	if shift != nil {
		way = float64(shift.byNS[results.P50].MedianNS)
	}
	s := &Sizing{Pools: map[string]Pool{}, HeldLockBytes: map[string]float64{}}
	var totals []float64
	for _, run := range at.path.Runs {
		if span, ok := run.Spans[results.SpanTotal]; ok {
			totals = append(totals, float64(span.MeanNS))
		}
	}
	if r := rangeOf(totals, 1); r != nil {
		hold := float64(q.HoldNS) - float64(at.holdNS)
		s.InFlightMean = Little(q.RatePerS, max(0, r.Mean+hold+way))
		s.InFlightP999 = PoissonQuantile(s.InFlightMean, poolQuantile)
	}
	if !p.Lockless() {
		s.HeldP999 = s.InFlightP999
		for server, bytes := range at.path.HeldLockBytes {
			s.HeldLockBytes[server] = bytes * float64(s.HeldP999)
		}
	}
	for _, name := range []string{results.LockPool, results.LedgerPool} {
		more := 0.0
		if name == results.LockPool {
			more = Little(q.RatePerS, way)
		}
		if pool, ok := poolOf(name, q.RatePerS, at, more); ok {
			s.Pools[name] = pool
		}
	}
	return s
}

// poolOf sizes a pool by what was in use of it, and more that will be.
func poolOf(name string, ratePerS float64, at point, more float64) (Pool, bool) {
	scale := ratePerS / at.ratePerS
	var means, tails []float64
	for _, run := range at.path.Runs {
		c, ok := run.Connections[name]
		if !ok {
			continue
		}
		means = append(means, c.Mean)
		if c.P999 != nil {
			tails = append(tails, float64(*c.P999))
		}
	}
	mean := rangeOf(means, scale)
	if mean == nil {
		return Pool{}, false
	}
	p := Pool{InUseMean: mean.Mean + more, PoissonP999: PoissonQuantile(mean.Mean+more, poolQuantile), NearestPerS: at.ratePerS, Extrapolated: scale != 1}
	p.Recommended = max(1, p.PoissonP999)
	if tail := rangeOf(tails, scale); tail != nil {
		high := tail.Max + more
		p.MeasuredP999 = &high
		p.Recommended = max(p.Recommended, int(math.Ceil(high)))
	}
	return p, true
}

// uses is what each server takes at the asked rate; nil where no run tells.
func uses(q Question, near []point) map[string]Use {
	at := nearestPoint(q.RatePerS, near)
	values := map[string][]results.Resources{}
	for _, run := range at.path.Runs {
		for server, r := range run.Resources {
			values[server] = append(values[server], r)
		}
	}
	all := map[string]Use{}
	lowest, highest := math.Inf(1), 0.0
	for _, p := range near {
		lowest, highest = min(lowest, p.ratePerS), max(highest, p.ratePerS)
	}
	for server, runs := range values {
		of := func(figure func(results.Resources) *float64, scale float64) *Range {
			var known []float64
			for _, r := range runs {
				if v := figure(r); v != nil {
					known = append(known, *v)
				}
			}
			return rangeOf(known, scale)
		}
		all[server] = Use{
			Cores:          of(func(r results.Resources) *float64 { return r.CPUNS }, q.RatePerS/1e9),
			InBytesPerS:    of(func(r results.Resources) *float64 { return r.BytesIn }, q.RatePerS),
			OutBytesPerS:   of(func(r results.Resources) *float64 { return r.BytesOut }, q.RatePerS),
			FsyncsPerS:     of(func(r results.Resources) *float64 { return r.Fsyncs }, q.RatePerS),
			CommandsPerS:   of(func(r results.Resources) *float64 { return r.Commands }, q.RatePerS),
			NearestPerS:    at.ratePerS,
			BeyondMeasured: q.RatePerS < lowest || q.RatePerS > highest,
		}
	}
	return all
}

// rangeOf is the values' range times the scale; nil of none.
func rangeOf(values []float64, scale float64) *Range {
	if len(values) == 0 {
		return nil
	}
	r := Range{Min: slices.Min(values) * scale, Max: slices.Max(values) * scale}
	for _, v := range values {
		r.Mean += v * scale / float64(len(values))
	}
	return &r
}
