package results

import (
	"cmp"
	"fmt"
	"slices"
)

// Conclude fills in what the points come to: their summaries, an answer for
// each path and SLO, and the sensitivities. It reads nothing but the points,
// the search and the plan, so that calling it again changes nothing.
func (c *Capacity) Conclude() {
	for i := range c.Points {
		c.Points[i].Summary = summarize(c.Points[i].Usable())
	}
	c.Paths = []Answer{}
	for _, steps := range c.ladders() {
		for _, slo := range c.Search.SLOs {
			c.Paths = append(c.Paths, c.answer(steps, slo))
		}
	}
	c.Sensitivity = c.sensitivities()
}

// ladders are the steps of each path at each distance, in order of rate; paths
// in the order of their first point.
func (c *Capacity) ladders() (ladders [][]Point) {
	place := map[string]int{}
	for _, p := range c.Points {
		if !p.IsStep() || p.Floor {
			continue
		}
		i, there := place[p.Label()]
		if !there {
			i = len(ladders)
			place[p.Label()] = i
			ladders = append(ladders, nil)
		}
		ladders[i] = append(ladders[i], p)
	}
	for _, steps := range ladders {
		slices.SortFunc(steps, func(a, b Point) int { return cmp.Compare(a.RatePerS, b.RatePerS) })
	}
	slices.SortStableFunc(ladders, func(a, b []Point) int { return cmp.Compare(c.order(a[0]), c.order(b[0])) })
	return ladders
}

// order is the place of a point's path among those that were asked for.
func (c *Capacity) order(p Point) int { return slices.Index(c.Plan.Paths, p.optioned()) }

// answer is what one path's steps come to under an SLO.
func (c *Capacity) answer(points []Point, slo SLO) Answer {
	first := points[0]
	a := Answer{
		Path: first.Path.Path, Options: first.Options, ReplicaRTTNS: first.ReplicaRTTNS, ClientRTTNS: first.ClientRTTNS,
		SLO: slo, Limit: LimitNone,
	}
	for _, p := range points {
		a.Steps = append(a.Steps, c.Step(p, slo))
	}
	low, high := Boundary(a.Steps)
	a.KneeRatePerS = knee(a.Steps)
	if low != nil {
		a.MaxRatePerS = pointer(low.RatePerS)
		a.Closed = c.closed(first, slo, *low)
	}
	if high != nil {
		a.FirstFailingPerS = pointer(high.RatePerS)
		a.Limit, a.Reason = LimitSystem, high.Reason
		if high.Outcome == StepInstrument {
			a.Limit = LimitInstrument
		}
	}
	a.Confirmed = c.confirmed(low, high)
	return a
}

// Boundary is the lowest of the steps, which are in order of rate, that did
// not pass, and the highest below it that did; nil where there is none.
func Boundary(steps []Step) (low, high *Step) {
	for i := range steps {
		switch step := &steps[i]; step.Outcome {
		case StepPassed:
			low = step
		case StepFailed, StepInstrument:
			return low, step
		}
	}
	return low, nil
}

// confirmed tells whether the steps at the boundary have the runs that were
// asked for, and lie as close as was.
func (c *Capacity) confirmed(low, high *Step) bool {
	for _, step := range []*Step{low, high} {
		if step != nil && step.Runs < c.Search.Runs && step.Runs+step.Invalid < c.Search.Tries() {
			return false
		}
	}
	const rounding = 1e-9
	switch {
	case low == nil && high == nil:
		return false
	case low == nil:
		return high.RatePerS <= c.Search.LeastPerS || high.Outcome == StepInstrument
	case high == nil:
		return low.RatePerS >= c.Search.ToPerS
	}
	// A rate is rounded to what can be said, which for small ones is coarse.
	return high.RatePerS <= low.RatePerS*(1+c.Search.PrecisionRatio)*(1+rounding) || high.RatePerS-low.RatePerS <= 1
}

// closed is the closed loop beside the open one at the edge; nil where there
// is none.
func (c *Capacity) closed(path Point, slo SLO, edge Step) *ClosedLoop {
	for _, p := range c.Points {
		if p.Clients == 0 || p.RatePerS != edge.RatePerS || p.Label() != path.Label() {
			continue
		}
		usable := p.Usable()
		loop := &ClosedLoop{Clients: p.Clients, Runs: len(usable), Open: edge}
		loop.AchievedPerS = middle(usable, func(r Run) float64 { return r.AchievedPerS })
		if values := valuesOf(usable, p.spanOf(slo), slo.Percentile); len(values) > 0 {
			loop.ValueNS = pointer(round(medianOf(values).center))
		}
		return loop
	}
	return nil
}

// Label names the answer's path as its points are named.
func (a Answer) Label() string {
	return Path{Path: a.Path, Options: a.Options, ReplicaRTTNS: a.ReplicaRTTNS, ClientRTTNS: a.ClientRTTNS}.Label()
}

// Doubts are the reasons for which what was found out is not all that was
// asked for; none where it is.
func (c *Capacity) Doubts() (doubts []string) {
	for _, a := range c.Paths {
		name := fmt.Sprintf("%s, %s", a.Label(), a.SLO.Title())
		switch {
		case a.Limit == LimitInstrument && a.MaxRatePerS == nil:
			doubts = append(doubts, name+": the machine disturbed the instrument from the first step on; try a quieter one")
		case a.Limit == LimitInstrument:
			doubts = append(doubts, name+": the instrument's limit was reached, not the system's")
		case a.MaxRatePerS == nil && a.FirstFailingPerS == nil:
			doubts = append(doubts, name+": nothing is decided yet")
		case a.MaxRatePerS == nil:
			doubts = append(doubts, fmt.Sprintf("%s: no rate met it, down to %s/s", name, FormatRate(*a.FirstFailingPerS)))
		case !a.Confirmed:
			doubts = append(doubts, name+": the boundary has fewer runs than were asked for")
		}
	}
	for _, s := range c.Sensitivity {
		for _, at := range s.Values {
			if at.Doubt != "" && s.Percentile == P50 {
				doubts = append(doubts, fmt.Sprintf("%s with %s=%s: %s", s.Label(), s.Name, at.Text, at.Doubt))
			}
		}
	}
	return doubts
}
