// Package failover makes failovers that lose locks, on real servers, and
// counts what follows for each path.
//
// A Scenario is a fault as a value: what it needs, how it is injected, what
// must hold just before it for the trial to show anything. A trial is one
// scenario, for one path, on a stack of its own: two clients ask for the same
// orders, the second within the first's hold, so that a lock that is lost is
// found out; the fault is injected under that load; and then the history that
// the clients kept, the ledger, and what is left in Redis are counted. Trials
// that time nothing run side by side; those that do run alone.
package failover

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"lockcost/env/placement"
	"lockcost/results"
	"lockcost/workloads"
)

// Plan is which scenarios to run, for which paths, and how often.
type Plan struct {
	Scenarios []Scenario
	Paths     []workloads.Path
	Trials    int // of each scenario and path
	// Rate is the acquisitions a second, of both clients together, in
	// scenarios that are timed. The others have at most untimedRate, or their
	// own.
	Rate float64
	// Hold is how long the first of two clients holds a lock; 0 leaves it to
	// the time that a failover takes.
	Hold         time.Duration
	TTL          time.Duration
	OpTimeout    time.Duration // of an acquisition
	WaitReplicas int           // 1: the scenarios are made for it
	WaitTimeout  time.Duration
	Sentinels    int
	// DownAfter is Sentinel's down-after. crash-steady is run at each, every
	// other scenario at the first.
	DownAfter []time.Duration
	// ReplicaRTTs are round trips between primary and replica, at each of
	// which crash-steady is run and the replication window is measured.
	ReplicaRTTs []time.Duration
	SideBySide  int  // trials at once, where nothing is timed; 0 for 7 a CPU
	Windows     bool // measure the replication window
	Quick       bool // a look: timed trials run two at once
	Seed        uint64
}

// untimedRate is enough acquisitions a second to lose some, and few enough for
// several trials at once on two CPUs.
const untimedRate = 30

// DefaultPlan has the defaults of `lockcost failover`, without paths.
func DefaultPlan() Plan {
	return Plan{
		Scenarios: Catalogue(), Trials: 10, Rate: 1000, TTL: 30 * time.Second, OpTimeout: time.Second,
		WaitReplicas: 1, WaitTimeout: 100 * time.Millisecond, Sentinels: 3,
		DownAfter: []time.Duration{500 * time.Millisecond}, ReplicaRTTs: []time.Duration{0}, Windows: true,
	}
}

// Bounds of a plan.
const (
	MaxTrials    = 1000
	minDownAfter = 100 * time.Millisecond
	maxDownAfter = time.Minute
	// A failover takes Sentinel some 300 ms more than down-after on an idle
	// machine, and up to a second more until it has seen, by its next INFO,
	// that the replica is promoted, and tells clients. The second client asks
	// failoverMargin after down-after, when that should be over, and the first
	// still holds its lock holdMargin later.
	failoverMargin = 1700 * time.Millisecond
	// besideMargin is what it takes longer while other trials run.
	besideMargin = 300 * time.Millisecond
	holdMargin   = 400 * time.Millisecond
)

// Check tells what is wrong with the plan, if anything, in the words of the
// command's flags.
func (p Plan) Check() error {
	switch {
	case len(p.Scenarios) == 0:
		return errors.New("--scenario: name at least one scenario")
	case len(p.Paths) == 0:
		return errors.New("--paths: name at least one path")
	case p.Trials < 1 || p.Trials > MaxTrials:
		return fmt.Errorf("--trials %d: must be from 1 to %d", p.Trials, MaxTrials)
	case math.IsNaN(p.Rate) || p.Rate < 10 || p.Rate > 10_000:
		return fmt.Errorf("--rate %v: must be from 10 to 10000 acquisitions per second", p.Rate)
	case p.WaitReplicas != 1:
		return fmt.Errorf("WAIT for %d replicas: the scenarios are made for 1", p.WaitReplicas)
	case p.WaitTimeout < time.Millisecond || p.WaitTimeout%time.Millisecond != 0:
		return fmt.Errorf("--wait-timeout %v: must be whole milliseconds, at least 1ms", p.WaitTimeout)
	case p.OpTimeout <= p.WaitTimeout:
		return fmt.Errorf("--op-timeout %v: must exceed --wait-timeout %v", p.OpTimeout, p.WaitTimeout)
	case p.Sentinels < 1 || p.Sentinels > 15:
		return fmt.Errorf("--sentinels %d: must be from 1 to 15", p.Sentinels)
	case len(p.DownAfter) == 0:
		return errors.New("--down-after: name at least one")
	case p.SideBySide < 0 || p.SideBySide > 64:
		return fmt.Errorf("--side-by-side %d: must be from 0, for 7 a CPU, to 64", p.SideBySide)
	}
	for _, path := range p.Paths {
		if path.Floor {
			return fmt.Errorf("--paths %s: it takes no lock that could be lost", path.Label())
		}
	}
	return p.checkTimes()
}

func (p Plan) checkTimes() error {
	for i, d := range p.DownAfter {
		if d < minDownAfter || d > maxDownAfter {
			return fmt.Errorf("--down-after %v: must be from %v to %v", d, minDownAfter, maxDownAfter)
		}
		if slices.Contains(p.DownAfter[:i], d) {
			return fmt.Errorf("--down-after: %v is named twice", d)
		}
	}
	for i, d := range p.ReplicaRTTs {
		if d < 0 || d > time.Second {
			return fmt.Errorf("--replica-rtt %v: must be from 0 to 1s", d)
		}
		if slices.Contains(p.ReplicaRTTs[:i], d) {
			return fmt.Errorf("--replica-rtt: %v is named twice", d)
		}
	}
	longest := slices.Max(p.DownAfter)
	if least := longest + failoverMargin + holdMargin; p.Hold != 0 && p.Hold < least {
		return fmt.Errorf("--hold %v: must be at least %v (--down-after %v, and %v for the failover to end and the second client to ask), or 0 to follow from it",
			p.Hold, least, longest, failoverMargin+holdMargin)
	}
	if hold := p.hold(longest); p.TTL < hold+2*time.Second {
		return fmt.Errorf("--ttl %v: must be at least %v, or locks run out while they are held (%v)", p.TTL, hold+2*time.Second, hold)
	}
	return nil
}

func (p Plan) hold(downAfter time.Duration) time.Duration {
	if p.Hold > 0 {
		return p.Hold
	}
	return downAfter + failoverMargin + holdMargin
}

// perCPU is how many trials run at once on each CPU: they wait most of the
// time.
const perCPU = 7

// sideBySide is how many trials run at once.
func (p Plan) sideBySide() int {
	if p.SideBySide > 0 {
		return p.SideBySide
	}
	placed := placement.Current()
	cpus := len(placed.Driver)
	if placed.Pinned {
		cpus += len(placed.Servers) // this process itself has no more than its own
	}
	return max(1, perCPU*cpus)
}

// record is the plan as it is kept.
func (p Plan) record() results.FailoverPlan {
	return results.FailoverPlan{
		Trials: p.Trials, RatePerS: p.Rate, TTLNS: int64(p.TTL), OpTimeoutNS: int64(p.OpTimeout),
		WaitReplicas: p.WaitReplicas, WaitTimeoutNS: int64(p.WaitTimeout),
		Sentinels: p.Sentinels, Seed: p.Seed, Quick: p.Quick,
	}
}

// settings is what the paths of a trial are opened with.
func (p Plan) settings() workloads.Settings {
	return workloads.Settings{
		OpTimeout: p.OpTimeout, WaitReplicas: p.WaitReplicas, WaitTimeout: p.WaitTimeout, Ledger: true,
	}
}
