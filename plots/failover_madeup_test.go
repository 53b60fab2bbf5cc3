package plots

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"

	"lockcost/results"
)

// faultCase is a scenario to be made up for every path.
type faultCase struct {
	scenario, variant, summary string
	downAfter                  time.Duration
	timed                      bool
	harm                       float64 // the chance that a trial of an unguarded path goes wrong
	void                       int
}

// faultCases are as many as a whole run has, the longest names among them.
var faultCases = []faultCase{
	{"crash-steady", "", "the primary is killed under a steady load of both clients", time.Second, true, 0.3, 0},
	{"crash-steady", "", "", 5 * time.Second, true, 0.3, 1},
	{"crash-steady", "", "", 500 * time.Millisecond, true, 0.3, 0},
	{"crash-steady", "min-replicas-to-write 1", "", time.Second, true, 0.1, 0},
	{"crash-after-grant", "", "the primary is killed between a grant and its replication", time.Second, false, 1, 0},
	{"crash-after-grant", "two replicas", "", time.Second, false, 0.9, 0},
	{"freeze", "", "the primary stands still for longer than down-after and wakes up again", time.Second, true, 0.7, 0},
	{"freeze", "holder frozen with it", "the same, and the holder", time.Second, false, 0.8, 2},
	{"partition", "", "the primary is cut off from the Sentinels and from one client", time.Second, false, 1, 0},
	{"partition", "min-replicas", "", time.Second, false, 0.4, 0},
	{"partition", "min-replicas, max-lag 1 s", "", time.Second, false, 0.3, 0},
	{"manual-failover", "", "SENTINEL FAILOVER under load", time.Second, true, 0.2, 0},
	{"replica-down", "", "the only replica is killed, and later restarted", time.Second, true, 0, 0},
	{"replication-black-holed", "", "replication stalls without the connection ending, then the primary dies", time.Second, false, 1, 0},
	{"pause-holder", "beyond the lease", "the holder stands still for longer than its lease and goes on", 0, false, 1, 0},
	{"pause-holder", "within the lease", "", 0, false, 0, 0},
	{"clock-step", "replica's clock 2 s ahead", "a server's clock is set ahead", time.Second, false, 0.2, 0},
	{"restart-empty", "", "the primary restarts without its data before Sentinel notices", 5 * time.Second, false, 1, 0},
	{"two-crashes", "", "the promoted replica is killed as well", time.Second, false, 0.9, 10},
	{"ambiguous-commit", "", "the ledger's connection ends between COMMIT and its answer", 0, false, 0.1, 0},
}

// The paths that fault experiments are made up for.
var (
	fourPaths = []string{"setnx", "setnx-wait", "fencing", "idempotent"}
	allPaths  = []string{"setnx", "setnx-wait", "fencing", "idempotent", "combined", "watchdog", "redlock",
		"etcd", "zookeeper", "waitaof", "optimistic", "null", "ping"}
)

// madeUpFaults makes up a record of fault experiments.
func madeUpFaults(paths []string, cases []faultCase, trials int) *results.Failover {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	record := &results.Failover{
		Schema: results.FailoverSchema, StartedAt: start, EndedAt: start.Add(time.Hour),
		Environment: results.Environment{
			CPUs: 2, OS: "linux", Topology: "Redis 7.0.15 primary, 1 replica, 3 sentinels, MariaDB 10.11.19 ledger",
			Placement: results.Placement{Pinned: true, DriverCPUs: []int{0}, ServerCPUs: []int{1}},
		},
		Plan: results.FailoverPlan{
			Trials: trials, RatePerS: 200, TTLNS: 30e9, OpTimeoutNS: 1e9, WaitReplicas: 1, WaitTimeoutNS: 100e6,
			Sentinels: 3, Env: "process",
		},
	}
	for _, c := range cases {
		for _, path := range paths {
			record.Scenarios = append(record.Scenarios, c.scenarioOf(path, trials))
		}
	}
	for i, rate := range []float64{100, 1000} {
		for _, rtt := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond} {
			record.Windows = append(record.Windows, madeUpWindow(rate, rtt, i))
		}
	}
	record.Summarize()
	measured := results.ShareOf(3, 10)
	for i := range record.Windows {
		if i%3 == 1 {
			record.Windows[i].Measured = &measured
		}
	}
	return record
}

// scenarioOf makes up the trials of one path.
func (c faultCase) scenarioOf(path string, trials int) results.Scenario {
	hash := fnv.New64a()
	fmt.Fprint(hash, c.scenario, c.variant, path, c.downAfter)
	random := rand.New(rand.NewPCG(hash.Sum64(), 1))
	s := results.Scenario{
		Scenario: c.scenario, Variant: c.variant, Summary: c.summary, Path: path, Replicas: 1,
		DownAfterNS: int64(c.downAfter), RatePerS: 200, Timed: c.timed,
	}
	for i := range trials {
		s.Runs = append(s.Runs, c.trial(path, i, random))
	}
	if c.timed {
		s.Timeline = c.timeline(path, trials, random)
	}
	return s
}

// trial makes up one trial: who is guarded is not charged twice.
func (c faultCase) trial(path string, index int, random *rand.Rand) results.Trial {
	trial := results.Trial{Index: index, Events: map[results.Event]int64{}, Times: map[results.Moment]int64{}}
	for _, event := range results.Events {
		trial.Events[event] = 0
	}
	if index < c.void {
		trial.Void = "Sentinel promoted nobody: no good replica"
		return trial
	}
	if random.Float64() < c.harm {
		many := 1 + random.Int64N(7)
		if path == "setnx" && index == 5 && c.scenario == "crash-steady" {
			trial.Events[results.LostGrant] = 1
		}
		switch path {
		case "setnx", "watchdog", "redlock":
			trial.Events[results.DoubleGrant], trial.Events[results.DoubleCharge] = many+20, many
		case "setnx-wait":
			trial.Events[results.OrphanedLock] = many * 200
		case "fencing":
			trial.Events[results.DoubleGrant], trial.Events[results.RepeatedToken] = many, many
			trial.Events[results.RightfulRefused], trial.Events[results.LostCharge] = many/3, many/6
		default:
			trial.Events[results.DoubleGrant], trial.Events[results.OrphanedLock] = many, many/4
		}
	}
	if c.downAfter > 0 && c.scenario != "replica-down" {
		at := int64(c.downAfter)
		for i, moment := range []results.Moment{results.Noticed, results.Elected, results.Promoted,
			results.FirstWrite, results.Announced, results.FirstGrant} {
			at += []int64{60e6, 8e6, 90e6, 3e6, 40e6, 12e6}[i] * (50 + random.Int64N(100)) / 100
			trial.Times[moment] = at
		}
		if path == "setnx-wait" {
			trial.Times[results.FirstGrant] = at + 1200e6
		}
	}
	return trial
}

// timeline makes up 100 ms slices, from 2 s before the fault.
func (c faultCase) timeline(path string, trials int, random *rand.Rand) []results.Slice {
	var all []results.Slice
	back := int64(c.downAfter) + 300e6
	if path == "setnx-wait" {
		back += 1200e6
	}
	for at := int64(-2e9); at < int64(c.downAfter)+4e9; at += 100e6 {
		slice := results.Slice{AtNS: at, Trials: trials}
		offered := int64(trials) * 20
		switch {
		case at >= 0 && at < back:
			slice.Failed = offered * 9 / 10
		default:
			slice.Granted = offered/2 + random.Int64N(3)
			slice.Held = offered - slice.Granted
			p50 := int64(150e3 * math.Exp(0.1*random.NormFloat64()))
			slice.P50NS = &p50
			if slice.Granted >= 90 {
				p99 := p50 * (4 + random.Int64N(5))
				slice.P99NS = &p99
			}
		}
		all = append(all, slice)
	}
	return all
}

// madeUpWindow makes up a window without crashes.
func madeUpWindow(rate float64, rtt time.Duration, nth int) results.Window {
	p50, p90, p99 := int64(40e3+rtt/2), int64(90e3+rtt*6/10), int64(2e6+rtt)
	w := results.Window{
		RatePerS: rate, ReplicaRTT: int64(rtt), Path: "setnx", Early: int64(17 * nth),
		Visible: results.Span{Count: 6000, MeanNS: p50 + 2e4, P50NS: &p50, P90NS: &p90, P99NS: &p99, MaxNS: p99 * 3},
	}
	if rtt == 0 && nth == 1 {
		none := int64(0)
		w.Visible.P50NS, w.Visible.P99NS = &none, nil
	}
	return w
}
