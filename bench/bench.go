// Package bench runs the paths: which, in which order, on which stack. It
// composes an operation from a path, drives it with bench/load, and hands
// what comes out to results.
package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"lockcost/bench/load"
	"lockcost/env"
	"lockcost/results"
	"lockcost/workloads"
	"lockcost/workloads/ledger"
)

// Bounds on the workers where their number is left to us.
const (
	minWorkers = 64
	maxWorkers = 4096
)

// Plan is what to measure. Rates are per second.
type Plan struct {
	Paths         []workloads.Path // without the floors, which are always run beside them
	Rate          float64
	Duration      time.Duration // of one run, the warm-up not counted
	Warmup        time.Duration
	Runs          int // of each path
	RepeatInvalid int // most blocks to add while a path has fewer runs that are not invalid
	Arrivals      load.Arrivals
	Workers       int // most operations in flight; 0 leaves it to DefaultWorkers
	OpTimeout     time.Duration
	Seed          uint64 // of the order of the paths and of Poisson arrivals
	TTL           time.Duration
	Hold          time.Duration
	Keys          int // 0: a fresh key for each operation
	// Zipf is the exponent by which keys are drawn: the k-th of them as often
	// as 1/k^Zipf. 0 has operations take them by turns.
	Zipf float64
	// TxRows is how many rows each charge's transaction inserts beside its own.
	TxRows int
	// Clients, above 0, has as many clients drive each path in a closed loop,
	// for comparison: each begins its next operation when its last has ended.
	// Rate then bounds how many operations there are.
	Clients int
	// Highest is the farthest percentile that is to be reported, and that a run
	// is judged at; "" for all that have enough samples.
	Highest results.Percentile
	// Orders is how many hot orders there are, which operations take by turns,
	// each locked by a key of its own; 0: a fresh order for each operation.
	Orders         int
	AcquireTimeout time.Duration
	WaitReplicas   int
	WaitTimeout    time.Duration
	// ReplicaRTTs and ClientRTTs are round trips to add by links. Each path
	// that depends on one is run at every value; none means at 0, without.
	ReplicaRTTs []time.Duration
	ClientRTTs  []time.Duration
	RTTJitter   time.Duration // a one-way delay lies within it, half on either side
	Ledger      bool          // whether there is one: without, paths acquire and release only
	// Durability is what servers are started with: see env.Spec.
	Durability env.Durability
	// RedlockNodes, EtcdNodes and ZooKeeperNodes are how many of those are
	// started where a path needs them.
	RedlockNodes, EtcdNodes, ZooKeeperNodes int
	// Lenient has paths left out that the servers cannot run, and says so in
	// the record, as long as there is one that they can.
	Lenient bool
	NotRun  []string // paths that were left out already, each with why
}

// shortHold is too short for the locks that are held to pass for a backlog.
const shortHold = 100 * time.Millisecond

// DefaultPlan has the defaults of `lockcost run`, without paths.
func DefaultPlan() Plan {
	return Plan{
		Rate: 1000, Duration: 6 * time.Second, Warmup: time.Second, Runs: 6,
		Arrivals: load.Constant, OpTimeout: time.Second, TTL: 30 * time.Second,
		WaitReplicas: 1, WaitTimeout: 100 * time.Millisecond, Ledger: true,
		RedlockNodes: workloads.DefaultRedlockNodes, EtcdNodes: workloads.DefaultEtcdNodes, ZooKeeperNodes: workloads.DefaultZooKeeperNodes,
	}
}

// DefaultWorkers is twice what a system needs that answers each operation
// only at its timeout, so that the bound on workers is never what limits it.
func (p Plan) DefaultWorkers() int {
	longest := max(p.OpTimeout, p.AcquireTimeout, p.WaitTimeout)
	need := 2 * p.Rate * (longest + p.Hold).Seconds()
	return int(min(max(math.Ceil(need), minWorkers), maxWorkers))
}

// Check tells what is wrong with the plan, if anything, in the words of the
// command's flags.
func (p Plan) Check() error {
	switch {
	case len(p.Paths) == 0:
		return errors.New("--paths: name at least one path")
	case p.Runs < 1:
		return fmt.Errorf("--runs %d: must be at least 1", p.Runs)
	case p.RepeatInvalid < 0:
		return fmt.Errorf("--repeat-invalid %d: must not be negative", p.RepeatInvalid)
	case p.TTL < time.Millisecond:
		return fmt.Errorf("--ttl %v: must be at least 1ms, the resolution of PX", p.TTL)
	case p.Keys < 0:
		return fmt.Errorf("--keys %d: must be 0, for a fresh key each time, or above", p.Keys)
	case math.IsNaN(p.Zipf) || p.Zipf < 0 || p.Zipf > maxZipf:
		return fmt.Errorf("--zipf %v: must be from 0, for keys by turns, to %d", p.Zipf, maxZipf)
	case p.Zipf > 0 && p.Keys == 0:
		return fmt.Errorf("--zipf %v: there are no keys to draw from: give --keys", p.Zipf)
	case max(p.Keys, p.Orders) > maxDistinct:
		return fmt.Errorf("--keys %d, --orders %d: at most %d", p.Keys, p.Orders, maxDistinct)
	case p.TxRows < 0 || p.TxRows > ledger.MaxRows:
		return fmt.Errorf("--tx-rows %d: must be from 0 to %d", p.TxRows, ledger.MaxRows)
	case p.TxRows > 0 && !p.Ledger:
		return fmt.Errorf("--tx-rows %d: rows are in a ledger, and there is none", p.TxRows)
	case p.Orders < 0:
		return fmt.Errorf("--orders %d: must be 0, for a fresh order each time, or above", p.Orders)
	case p.Orders > 0 && p.Keys > 0:
		return fmt.Errorf("--orders %d --keys %d: an order has a key of its own, so give only one of them", p.Orders, p.Keys)
	case p.Orders > 0 && !p.Ledger:
		return fmt.Errorf("--orders %d: orders are in a ledger, and there is none", p.Orders)
	case p.AcquireTimeout < 0:
		return fmt.Errorf("--acquire-timeout %v: must not be negative", p.AcquireTimeout)
	case p.AcquireTimeout > p.OpTimeout:
		return fmt.Errorf("--acquire-timeout %v: must not exceed --op-timeout %v, after which the operation is given up on", p.AcquireTimeout, p.OpTimeout)
	case p.Workers < 0:
		return fmt.Errorf("--workers %d: must be 0, for a number that follows from the rate, or above", p.Workers)
	case p.WaitReplicas < 1:
		return fmt.Errorf("--wait-replicas %d: must be at least 1", p.WaitReplicas)
	case p.WaitTimeout < time.Millisecond || p.WaitTimeout%time.Millisecond != 0:
		return fmt.Errorf("--wait-timeout %v: must be whole milliseconds, at least 1ms: WAIT takes no fractions, and 0 would wait forever", p.WaitTimeout)
	case p.OpTimeout <= 0:
		return fmt.Errorf("--op-timeout %v: must be above 0", p.OpTimeout)
	case p.WaitTimeout >= p.OpTimeout && p.waits():
		return fmt.Errorf("--wait-timeout %v: must be below --op-timeout %v, at which the operation is given up on", p.WaitTimeout, p.OpTimeout)
	case p.Warmup < 0:
		return fmt.Errorf("--warmup %v: must not be negative", p.Warmup)
	case p.Hold > p.Warmup && p.Hold > shortHold:
		return fmt.Errorf("--warmup %v: must be at least --hold %v, or more and more locks are held while it is measured, which looks like a system that does not keep up", p.Warmup, p.Hold)
	}
	if err := unique(p.Paths); err != nil {
		return err
	}
	if err := p.checkServices(); err != nil {
		return err
	}
	if err := p.checkDistances(); err != nil {
		return err
	}
	if !p.Ledger {
		for _, path := range p.Paths {
			if path.Guarded() {
				return fmt.Errorf("--paths %s: its guard needs a ledger: give --ledger, or leave the path out", path.Label())
			}
		}
	}
	if err := p.load(0).Check(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	if p.Rate*p.Duration.Seconds() < 1 {
		return fmt.Errorf("--rate %v --duration %v: not one operation would be due", p.Rate, p.Duration)
	}
	return nil
}

// waits tells whether a path of the plan uses WAIT.
func (p Plan) waits() bool {
	return slices.ContainsFunc(p.Paths, func(path workloads.Path) bool { return path.Needs(p.settings()).Replicas > 0 })
}

func unique(paths []workloads.Path) error {
	seen := map[string]bool{}
	for _, path := range paths {
		if seen[path.Label()] {
			return fmt.Errorf("--paths: %s is named twice", path.Label())
		}
		seen[path.Label()] = true
	}
	return nil
}

// load is the generator's part of the plan, for one run.
func (p Plan) load(seed uint64) load.Plan {
	workers := p.Workers
	if workers == 0 {
		workers = p.DefaultWorkers()
	}
	if p.Clients > 0 {
		workers = p.Clients
	}
	stages := []results.SpanName{results.SpanAcquireService, results.SpanEffect, results.SpanRelease, results.SpanWait}
	return load.Plan{
		Rate: p.Rate, Arrivals: p.Arrivals, Seed: seed,
		Warmup: p.Warmup, Duration: p.Duration,
		Workers: workers, Clients: p.Clients, Timeout: p.OpTimeout, Hold: p.Hold,
		Stages: stages, Classify: classify,
	}
}

// Spec is the stack that the plan's paths need at least.
func (p Plan) Spec() env.Spec {
	spec := env.Spec{Ledger: p.Ledger, Links: p.distant(), Durability: p.Durability} // with a Redis: ping is always run
	for _, path := range p.Paths {
		spec = spec.Merge(path.Needs(p.settings()))
	}
	return spec
}

// settings is what the paths are opened with, but for the addresses.
func (p Plan) settings() workloads.Settings {
	return workloads.Settings{
		OpTimeout: p.OpTimeout, AcquireTimeout: p.AcquireTimeout,
		WaitReplicas: p.WaitReplicas, WaitTimeout: p.WaitTimeout, TTL: p.TTL,
		Workers: p.load(0).Workers, Ledger: p.Ledger, TxRows: p.TxRows,
		RedlockNodes: p.RedlockNodes, EtcdNodes: p.EtcdNodes, ZooKeeperNodes: p.ZooKeeperNodes,
	}
}

// withFloors is the plan's paths, floors first.
func (p Plan) withFloors() []workloads.Path {
	paths := workloads.Floors()
	for _, path := range p.Paths {
		if !path.Floor {
			paths = append(paths, path)
		}
	}
	return paths
}

func (p Plan) effect() results.Effect {
	if p.Ledger {
		return results.EffectCharge
	}
	return results.EffectNone
}
