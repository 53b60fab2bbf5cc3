// Package failover makes failovers that lose locks, on real servers, and
// counts what follows for each path.
//
// A Scenario is a fault as a value: what it needs, how it is injected, what
// must hold just before it for the trial to show anything. A trial is one
// scenario, for one path, on a stack of its own: two clients ask for the same
// orders, the second within the first's hold, so that a lock that is lost is
// found out; the fault is injected under that load; and then the history that
// the clients kept, the ledger, and what is left in the lock service are
// counted. Trials that time nothing run side by side; those that do run alone.
//
// A lock service is what trials differ in most: see service. A scenario says
// which it is made for.
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
	// Lenient leaves out the paths that the servers cannot run, instead of
	// failing for them. NotRun are those that were left out before, with why.
	Lenient bool
	NotRun  []string
	Trials  int // of each scenario and path
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

// DefaultPlan has the defaults of `lockcost failover`, without paths and
// scenarios: see For.
func DefaultPlan() Plan {
	return Plan{
		Trials: 10, Rate: 1000, TTL: 30 * time.Second, OpTimeout: time.Second,
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
	// A session must be so long that a third of it outlasts the faults that
	// are not meant to end it: see cell.promised. ZooKeeper has none that is
	// longer than 40 s.
	shortestSession = 24 * time.Second
	longestSession  = 40 * time.Second
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
		switch {
		case path.Floor:
			return fmt.Errorf("--paths %s: it takes no lock that could be lost", path.Label())
		case !Concerns(p.Scenarios, path):
			return fmt.Errorf("--paths %s: none of the scenarios is made for it", path.Label())
		}
	}
	return p.checkTimes()
}

// Uses tells whether any path of the plan takes its locks from a service.
func (p Plan) Uses(s workloads.Service) bool {
	return slices.ContainsFunc(p.Paths, func(path workloads.Path) bool { return path.Service() == s })
}

// Varies tells whether there is a scenario that is run at every down-after and
// round trip.
func (p Plan) Varies() bool {
	return slices.ContainsFunc(p.Scenarios, func(s Scenario) bool { return s.Name == steadyName })
}

// Timed tells whether any scenario's latencies count, or none's do not.
func (p Plan) Timed() (some, all bool) {
	all = true
	for _, s := range p.Scenarios {
		some, all = some || s.Timed, all && s.Timed
	}
	return some, all
}

// Holds tells whether any scenario holds locks for as long as the plan says,
// and Lasts, whether they have the plan's TTL in any.
func (p Plan) Holds() bool {
	return slices.ContainsFunc(p.Scenarios, func(s Scenario) bool { return !s.Needs.NoLoad && s.Needs.Hold == 0 })
}

// Lasts is said beside Holds.
func (p Plan) Lasts() bool {
	return slices.ContainsFunc(p.Scenarios, func(s Scenario) bool { return s.Needs.TTL == 0 })
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
	if sessions := p.Uses(workloads.Etcd) || p.Uses(workloads.ZooKeeper); sessions && (p.TTL < shortestSession || p.TTL > longestSession) {
		return fmt.Errorf("--ttl %v: must be from %v to %v for the sessions of etcd and ZooKeeper, which are to outlast every fault",
			p.TTL, shortestSession, longestSession)
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
	r := results.FailoverPlan{
		Trials: p.Trials, RatePerS: p.Rate, TTLNS: int64(p.TTL), HoldNS: int64(p.Hold), OpTimeoutNS: int64(p.OpTimeout),
		SideBySide: p.sideBySide(), Seed: p.Seed, Quick: p.Quick, Windows: p.Windows, NotRun: p.NotRun,
	}
	if p.Uses(workloads.Redis) {
		r.Sentinels, r.WaitReplicas, r.WaitTimeoutNS = p.Sentinels, p.WaitReplicas, int64(p.WaitTimeout)
		r.DownAfterNS, r.ReplicaRTTsNS = nanoseconds(p.DownAfter), nanoseconds(p.ReplicaRTTs)
	}
	for _, s := range p.Scenarios {
		r.Scenarios = append(r.Scenarios, s.Label())
	}
	for _, path := range p.Paths {
		r.Paths = append(r.Paths, path.Label())
	}
	return r
}

func nanoseconds(all []time.Duration) []int64 {
	ns := make([]int64, len(all))
	for i, d := range all {
		ns[i] = int64(d)
	}
	return ns
}

// settings is what the paths of a trial are opened with.
func (p Plan) settings() workloads.Settings {
	return workloads.Settings{
		OpTimeout: p.OpTimeout, WaitReplicas: p.WaitReplicas, WaitTimeout: p.WaitTimeout, Ledger: true,
	}
}
