package failover

import (
	"time"

	"lockcost/results"
	"lockcost/workloads"
)

// cell is one scenario for one path, in one setting: what trials are repeated
// of.
type cell struct {
	plan      *Plan
	scenario  Scenario
	path      workloads.Path
	downAfter time.Duration
	rtt       time.Duration
	rate      float64 // acquisitions a second, of both clients together
	hold      time.Duration
	second    time.Duration // after the first client the second one asks
}

// steadyName is the scenario that is run at every down-after and round trip.
const steadyName = "crash-steady"

// cells are all that the plan asks for, in the order of the catalogue.
func (p *Plan) cells() []*cell {
	var cells []*cell
	for _, s := range p.Scenarios {
		downs, rtts := p.DownAfter[:1], []time.Duration{0}
		if s.Name == steadyName {
			downs, rtts = p.DownAfter, p.ReplicaRTTs
		}
		for i, down := range downs {
			for _, rtt := range rtts {
				if i > 0 && rtt != rtts[0] {
					continue // round trips are varied at the first down-after
				}
				for _, path := range p.Paths {
					cells = append(cells, p.cell(s, path, down, rtt))
				}
			}
		}
	}
	return cells
}

func (p *Plan) cell(s Scenario, path workloads.Path, down, rtt time.Duration) *cell {
	c := &cell{plan: p, scenario: s, path: path, downAfter: max(down, s.Needs.DownAfter), rtt: rtt, rate: p.Rate}
	c.hold = p.hold(down)
	if !s.Timed {
		c.rate = min(p.Rate, max(untimedRate, s.Needs.Rate))
		c.hold += besideMargin
	}
	if s.Needs.Hold > 0 {
		c.hold = s.Needs.Hold
	}
	c.second = c.hold - holdMargin
	return c
}

// ttl is the locks'.
func (c *cell) ttl() time.Duration {
	if c.scenario.Needs.Holder > 0 {
		return c.scenario.Needs.Holder
	}
	return c.plan.TTL
}

// entry is the cell in the record, with no trials yet.
func (c *cell) entry() results.Scenario {
	e := results.Scenario{
		Scenario: c.scenario.Name, Variant: c.scenario.Variant, Summary: c.scenario.Summary,
		Path: c.path.Name, Options: c.path.Options(), Replicas: c.spec().Replicas,
		DownAfterNS: int64(c.downAfter), ReplicaRTT: int64(c.rtt), Timed: c.scenario.Timed,
		Runs: []results.Trial{},
	}
	if c.scenario.Needs.Holder == 0 {
		e.RatePerS, e.HoldNS, e.SecondNS = c.rate, int64(c.hold), int64(c.second)
	}
	return e
}

// label names the cell in messages.
func (c *cell) label() string { return c.scenario.Label() + " " + c.path.Label() }
