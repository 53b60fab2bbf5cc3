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
					if s.applies(path) {
						cells = append(cells, p.cell(s, path, down, rtt))
					}
				}
			}
		}
	}
	return cells
}

func (p *Plan) cell(s Scenario, path workloads.Path, down, rtt time.Duration) *cell {
	c := &cell{plan: p, scenario: s, path: path, downAfter: max(down, s.Needs.DownAfter), rtt: rtt, rate: p.Rate}
	c.hold = p.hold(down)
	switch {
	case !s.Timed:
		c.rate = min(p.Rate, max(untimedRate, s.Needs.Rate))
		c.hold += besideMargin
	case s.Needs.Rate > 0:
		c.rate = min(p.Rate, s.Needs.Rate)
	}
	if s.Needs.Hold > 0 {
		c.hold = s.Needs.Hold
	}
	c.second = c.hold - holdMargin
	return c
}

// shortSession is the shortest session of etcd's and ZooKeeper's that a trial
// has. Shorter ones take servers that elect another leader at a hiccup.
const shortSession = 2 * time.Second

// sessions tells whether the path's locks go with a session.
func (c *cell) sessions() bool {
	s := c.path.Service()
	return s == workloads.Etcd || s == workloads.ZooKeeper
}

// ttl is the locks', and where they go with a session, its length.
func (c *cell) ttl() time.Duration {
	switch ttl := c.scenario.Needs.TTL; {
	case ttl == 0:
		return c.plan.TTL
	case c.sessions():
		return max(ttl, shortSession)
	default:
		return ttl
	}
}

// promised is how long a lock is kept, at the least, from when it was asked
// for: see history.Op.TTLNS. A session is renewed each third of its length, so
// that at a grant two thirds of it are left, and in scenarios that stop its
// renewal for less than a third of it, one third at any time. Without a lock
// nothing is promised.
func (c *cell) promised() time.Duration {
	switch {
	case c.path.Service() == "":
		return 0
	case c.sessions():
		return c.ttl() / 3
	}
	return c.ttl()
}

// settings is what the path is opened with, but for what is a trial's own.
func (c *cell) settings() workloads.Settings {
	s := c.plan.settings()
	s.TTL = c.ttl()
	return s
}

// weight is what a trial takes of a machine, in trials of a replicated Redis: a
// ZooKeeper is a JVM, which is busy for seconds when it has just been started.
func (c *cell) weight() int {
	spec := c.spec()
	return 1 + 3*spec.ZooKeeper + spec.Etcd*2/3
}

// entry is the cell in the record, with no trials yet.
func (c *cell) entry() results.Scenario {
	spec := c.spec()
	e := results.Scenario{
		Scenario: c.scenario.Name, Variant: c.scenario.Variant, Summary: c.scenario.Summary,
		Path: c.path.Name, Options: c.path.Options(), Kind: results.Kind(c.path.Kind),
		Service: string(c.path.Service()), TTLNS: int64(c.ttl()),
		ReplicaRTT: int64(c.rtt), Timed: c.scenario.Timed,
		Runs: []results.Trial{},
	}
	switch c.path.Service() {
	case workloads.Redis:
		e.Nodes, e.Replicas, e.DownAfterNS = 1+spec.Replicas, spec.Replicas, int64(c.downAfter)
	case workloads.Independents:
		e.Nodes = spec.Independents
	case workloads.Etcd:
		e.Nodes = spec.Etcd
	case workloads.ZooKeeper:
		e.Nodes = spec.ZooKeeper
	}
	if !c.scenario.Needs.NoLoad {
		e.RatePerS, e.HoldNS, e.SecondNS = c.rate, int64(c.hold), int64(c.second)
	}
	return e
}

// label names the cell in messages.
func (c *cell) label() string { return c.scenario.Label() + " " + c.path.Label() }
