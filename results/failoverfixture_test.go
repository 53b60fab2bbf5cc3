package results

import (
	"math/rand/v2"
	"time"
)

// trialsOf makes n trials with the events given, one value a trial; a
// shorter list is repeated.
func trialsOf(n int, events map[Event][]int64) []Trial {
	trials := make([]Trial, n)
	for i := range trials {
		trials[i] = Trial{Index: i, Events: map[Event]int64{}, Errors: map[string]int64{}, Times: map[Moment]int64{}}
		for event, values := range events {
			trials[i].Events[event] = values[i%len(values)]
		}
	}
	return trials
}

// exampleFailover is a record as `lockcost failover` would leave it, made up.
func exampleFailover(trials int) *Failover {
	rng := rand.New(rand.NewPCG(3, 4))
	f := &Failover{
		Schema:    FailoverSchema,
		StartedAt: time.Date(2026, 11, 21, 10, 30, 59, 0, time.UTC),
		Plan: FailoverPlan{Trials: trials, RatePerS: 1000, TTLNS: 2e9, OpTimeoutNS: 1e9, WaitReplicas: 1, WaitTimeoutNS: 1e8,
			Sentinels: 3, Seed: 7, Env: "process"},
		Environment: Environment{OS: "linux", Arch: "amd64", CPU: "Intel Xeon", CPUs: 2,
			Topology: "Redis 7.0.15, 1 primary and 1 replica, 3 Sentinels, MariaDB 10.11; driver on CPU 0, servers on CPU 1"},
	}
	scenarios := []Scenario{
		{Scenario: "crash-steady", Summary: "the primary is killed under an even load", Replicas: 1, DownAfterNS: 1e9,
			RatePerS: 1000, HoldNS: 100e6, SecondNS: 50e6, Timed: true},
		{Scenario: "lost-write", Summary: "the replica is cut off, a lock is granted, the primary is killed", Replicas: 1, DownAfterNS: 5e8, HoldNS: 3e9},
		{Scenario: "lost-write", Summary: "the replica is cut off, a lock is granted, the primary is killed", Replicas: 1, DownAfterNS: 5e9, HoldNS: 3e9},
		{Scenario: "partition", Variant: "min-replicas", Summary: "the primary is cut off with the first client; it refuses writes without a replica", Replicas: 2, DownAfterNS: 1e9, RatePerS: 200, Timed: true},
	}
	for _, s := range scenarios {
		for _, path := range []string{"setnx", "setnx-wait", "fencing", "idempotent"} {
			entry := s
			entry.Path = path
			entry.Runs = exampleTrials(rng, entry, trials)
			if entry.Timed {
				entry.Phases = map[Phase]Span{Before: spanOf(200_000), During: spanOf(900_000_000), After: spanOf(230_000)}
			}
			f.Scenarios = append(f.Scenarios, entry)
		}
	}
	f.Windows = []Window{
		{RatePerS: 500, Path: "setnx", Visible: Span{Count: 5000, MeanNS: 80_000, MaxNS: 3_000_000, P50NS: pointer(int64(60_000)), P99NS: pointer(int64(900_000))}, Early: 120},
		{RatePerS: 500, ReplicaRTT: 1e6, Path: "setnx", Visible: Span{Count: 5000, MeanNS: 600_000, MaxNS: 3_000_000, P50NS: pointer(int64(560_000)), P99NS: pointer(int64(900_000))}},
		{RatePerS: 500, Path: "setnx-wait"},
	}
	f.Summarize()
	return f
}

func exampleTrials(rng *rand.Rand, s Scenario, n int) []Trial {
	trials := trialsOf(n, map[Event][]int64{LostCharge: {0}, OrphanedLock: {0}})
	for i := range trials {
		t := &trials[i]
		bad := s.Path == "setnx" && rng.IntN(3) == 0 || s.Scenario == "lost-write" && s.Path != "setnx-wait"
		t.Events[DoubleGrant], t.Events[DoubleCharge] = 0, 0
		if bad {
			t.Events[DoubleGrant] = 1 + rng.Int64N(4)
			if s.Path == "setnx" {
				t.Events[DoubleCharge] = t.Events[DoubleGrant]
			}
		}
		if s.Path == "fencing" {
			t.Events[RepeatedToken], t.Events[RightfulRefused] = t.Events[DoubleGrant], 0
		}
		if s.Scenario == "crash-steady" {
			t.Events[LostGrant] = t.Events[DoubleGrant]
			t.Facts = map[string]int64{"writes_before_refusal": 187 + rng.Int64N(30), "second_failover_ns": 3e9 + rng.Int64N(1e9)}
		}
		if s.Scenario == "lost-write" && i == 2 {
			t.Void = "the key was on the candidate already, 120 ms before the kill"
		}
		t.Reason = "-failover-abort-no-good-slave"
		t.Granted, t.Held, t.Errors = 900, 850, map[string]int64{"redis-timeout": 31, "redis-closed": 4, "redis-readonly": 2, "ledger-timeout": 1, "pool-timeout": 1}
		for j, moment := range Moments[:9] {
			t.Times[moment] = s.DownAfterNS + int64(j)*40e6 + rng.Int64N(60e6)
		}
	}
	return trials
}
