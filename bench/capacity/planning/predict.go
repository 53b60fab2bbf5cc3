package planning

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"lockcost/results"
	"lockcost/workloads"
)

// distanceShare is how far beyond the longest measured round trip is still
// predicted, as a multiple of it.
const distanceShare = 1.25

// shifting is what a distance that was not measured adds to the acquire, by
// percentile, and to the job, which has it in it.
type shifting struct {
	byNS         map[results.Percentile]Estimate
	extrapolated bool
	acquireOnly  bool // the job has more in it than the acquire's line tells
}

// reach picks the points at the asked distance, where they were driven at
// rates that the asked one lies among; or else those at the nearest distance
// that were, and from which a sweep's line leads there. A path that waits for
// no replica is the same at any replica's distance.
func reach(q Question, own []point, sources []Source) ([]point, *shifting, error) {
	goal := results.Distance{ReplicaNS: q.ReplicaRTTNS, ClientNS: q.ClientRTTNS}
	if !waits(own) {
		goal.ReplicaNS = 0
	}
	at := atDistance(own, goal)
	if covers(at, q.RatePerS) {
		return at, nil, nil
	}
	driven := slices.DeleteFunc(slices.Clone(own), func(p point) bool { return !covers(atDistance(own, p.path.Distance()), q.RatePerS) })
	points, shift, err := lead(q, goal, driven, own, sources)
	if err != nil && len(at) > 0 {
		return at, nil, nil // which says what rates they were driven at
	}
	return points, shift, err
}

// covers tells whether the asked rate lies among those of the points, or hardly
// beyond.
func covers(at []point, ratePerS float64) bool {
	var c curve
	for _, p := range at {
		c = append(c, knot{ratePerS: p.ratePerS, level: results.Level{MedianNS: 1}})
	}
	slices.SortFunc(c, func(a, b knot) int { return cmp.Compare(a.ratePerS, b.ratePerS) })
	_, err := c.at(ratePerS)
	return err == nil
}

// lead is the points at the nearest distance, and what the way from there to
// the goal adds.
func lead(q Question, goal results.Distance, driven, own []point, sources []Source) ([]point, *shifting, error) {
	if len(driven) == 0 {
		driven = own
	}
	name, to := replicaRTT, goal.ReplicaNS
	from := nearest(driven, func(d results.Distance) (int64, bool) { return d.ReplicaNS, d.ClientNS == goal.ClientNS }, to)
	if from == nil {
		name, to = clientRTT, goal.ClientNS
		from = nearest(driven, func(d results.Distance) (int64, bool) { return d.ClientNS, d.ReplicaNS == goal.ReplicaNS }, to)
	}
	if from == nil {
		return nil, nil, fmt.Errorf("not measured at this distance, nor at one that differs in one round trip alone")
	}
	shift, err := line(name, label(own[0].path), *from, to, sources)
	if err != nil {
		return nil, nil, err
	}
	d := goal
	if name == replicaRTT {
		d.ReplicaNS = *from
	} else {
		d.ClientNS = *from
	}
	return atDistance(own, d), shift, nil
}

// waits tells whether the path depends on the replicas' distance: it was
// measured at one, or locks on several servers of Redis that replicate.
func waits(own []point) bool {
	path, err := workloads.Find(label(own[0].path))
	return err == nil && path.Replicated() || slices.ContainsFunc(own, func(p point) bool { return p.path.ReplicaRTTNS > 0 })
}

func atDistance(own []point, d results.Distance) (at []point) {
	for _, p := range own {
		if p.path.Distance() == d {
			at = append(at, p)
		}
	}
	return at
}

// nearest is the measured value closest to the asked one; nil for none.
func nearest(own []point, of func(results.Distance) (int64, bool), to int64) (found *int64) {
	for _, p := range own {
		v, ok := of(p.path.Distance())
		if ok && (found == nil || max(v-to, to-v) < max(*found-to, to-*found)) {
			found = &v
		}
	}
	return found
}

// line is what the way between two distances adds, by the lines of the sweeps.
func line(name, l string, from, to int64, sources []Source) (*shifting, error) {
	s := &shifting{byNS: map[results.Percentile]Estimate{}, acquireOnly: name == clientRTT}
	for _, source := range sources {
		if source.Capacity == nil || len(source.Capacity.Down) > 0 {
			continue
		}
		for _, of := range source.Capacity.Sensitivity {
			if of.Name != name || of.Label() != l || of.Line == nil || len(of.Values) == 0 {
				continue
			}
			least, most := of.Values[0].Number, of.Values[len(of.Values)-1].Number
			if float64(to) > most*distanceShare {
				return nil, fmt.Errorf("a %s of %s: measured up to %s", name, results.FormatDuration(to), results.FormatDuration(int64(most)))
			}
			s.extrapolated = s.extrapolated || float64(to) > most || float64(to) < least
			s.byNS[of.Percentile] = along(*of.Line, float64(to-from))
		}
	}
	if len(s.byNS) == 0 {
		return nil, fmt.Errorf("not measured at a %s of %s, and no sweep has its line: run lockcost sweep --vary %s=…", name, results.FormatDuration(to), name)
	}
	return s, nil
}

func along(l results.SensitivityLine, way float64) Estimate {
	at := func(slope float64) int64 { return int64(math.Round(slope * way)) }
	e := Estimate{MedianNS: at(l.Slope)}
	if l.SlopeLow != nil && l.SlopeHigh != nil {
		low, high := at(*l.SlopeLow), at(*l.SlopeHigh)
		low, high = min(low, high), max(low, high)
		e.LowNS, e.HighNS = &low, &high
	}
	return e
}

// curveOf is the span's percentile over the points' rates.
func curveOf(own []point, span results.SpanName, p results.Percentile) (c curve, ok bool) {
	for _, at := range own {
		if l, has := at.path.Summary[span][p]; has {
			c = append(c, knot{at.ratePerS, l, slices.ContainsFunc(at.path.Runs, func(r results.Run) bool { return r.Verdict == results.Saturated })})
		}
	}
	slices.SortFunc(c, func(a, b knot) int { return cmp.Compare(a.ratePerS, b.ratePerS) })
	return c, len(c) > 0
}

// errJobElsewhere: only the acquire's line over the client's distance is
// known, and the release crosses it too.
var errJobElsewhere = errors.New("the whole job was not measured at this client round trip")

// predict is the span's percentile at the asked rate and distance.
func predict(q Question, near []point, span results.SpanName, p results.Percentile, shift *shifting) (Estimate, error) {
	c, _ := curveOf(near, span, p)
	e, err := c.at(q.RatePerS)
	if err != nil || shift == nil {
		return e, err
	}
	if shift.acquireOnly && span == results.SpanTotal {
		return e, errJobElsewhere
	}
	add, ok := shift.byNS[p]
	if !ok {
		return e, fmt.Errorf("the sweep has no line of its %s", p.Title())
	}
	return plus(e, add, shift.extrapolated), nil
}

// plus adds the two; the interval spans both.
func plus(e, add Estimate, extrapolated bool) Estimate {
	end := func(a, b *int64) *int64 {
		if a == nil || b == nil {
			return nil
		}
		v := *a + *b
		return &v
	}
	e.MedianNS += add.MedianNS
	e.LowNS, e.HighNS = end(e.LowNS, add.LowNS), end(e.HighNS, add.HighNS)
	e.Extrapolated = e.Extrapolated || extrapolated
	return e
}
