package results

import (
	"math"
	"math/rand/v2"
	"time"
)

// latency draws a made-up response around a median, with a heavy tail.
func latency(rng *rand.Rand, medianNS float64) int64 {
	return int64(medianNS * math.Exp(0.12*rng.NormFloat64()+0.5*max(0, rng.ExpFloat64()-3)))
}

// shape is what a made-up path takes, in nanoseconds.
type shape struct {
	path            string
	rttNS           int64
	floor           bool
	acquire, effect float64
}

var shapes = []shape{
	{path: "null", floor: true, acquire: 300, effect: 900_000},
	{path: "ping", floor: true, acquire: 180_000, effect: 900_000},
	{path: "setnx", acquire: 214_000, effect: 900_000},
	{path: "setnx-wait", acquire: 226_000, effect: 900_000},
	{path: "setnx-wait", rttNS: 1_000_000, acquire: 1_290_000, effect: 900_000},
	{path: "fencing", acquire: 233_000, effect: 1_050_000},
	{path: "idempotent", acquire: 214_500, effect: 1_000_000},
}

// exampleRecord is a run as `lockcost run` would leave it, made up.
func exampleRecord(runs int) *Record {
	rng := rand.New(rand.NewPCG(1, 2))
	r := &Record{
		Schema:    Schema,
		StartedAt: time.Date(2026, 9, 21, 10, 30, 59, 0, time.UTC),
		Plan: Plan{Effect: EffectCharge, RatePerS: 1000, DurationNS: 6e9, WarmupNS: 1e9, Runs: runs,
			Arrivals: "constant", Workers: 2000, OpTimeoutNS: 1e9, Env: "process"},
		Environment: Environment{OS: "linux", Arch: "amd64", CPU: "Intel Xeon",
			Topology: "Redis 7.0.15, 1 primary and 1 replica, 3 Sentinels, MariaDB 10.11; driver on CPU 0, servers on CPU 1"},
		Doctor: Doctor{TimerLagP50NS: 80_000, TimerLagP90NS: 100_000, TimerLagP99NS: 150_000, TimerLagP999NS: 400_000},
	}
	for _, s := range shapes {
		p := Path{Path: s.path, ReplicaRTTNS: s.rttNS, Floor: s.floor}
		for block := range runs {
			p.Runs = append(p.Runs, exampleRun(rng, s, block))
		}
		r.Paths = append(r.Paths, p)
	}
	for i := range r.Paths {
		for j, run := range r.Paths[i].Runs {
			r.Paths[i].Runs[j].Verdict, r.Paths[i].Runs[j].Reasons = Judge(run, r.Paths[i], r.Plan, r.Doctor)
		}
	}
	r.Summarize()
	return r
}

func exampleRun(rng *rand.Rand, s shape, block int) Run {
	const operations = 6000
	run := Run{Index: block, Offered: operations, Completed: operations, Granted: operations,
		AchievedPerS: 1000, Errors: map[string]int64{}, Spans: map[SpanName]Span{},
		Instrument: Instrument{Workers: 2000, PoolSize: 2000, LedgerPoolSize: 2000, PauseMaxNS: 300_000, CPUBusyRatio: 0.31}}
	spans := map[SpanName]*Histogram{}
	for _, name := range []SpanName{SpanAcquire, SpanAcquireService, SpanEffect, SpanRelease, SpanTotal, SpanLag} {
		spans[name] = NewHistogram()
	}
	wobble := 1 + 0.02*rng.NormFloat64()
	for range operations {
		acquire, effect := latency(rng, s.acquire*wobble), latency(rng, s.effect*wobble)
		release := latency(rng, s.acquire*wobble)
		spans[SpanAcquire].Record(acquire)
		spans[SpanAcquireService].Record(acquire)
		spans[SpanEffect].Record(effect)
		spans[SpanRelease].Record(release)
		spans[SpanTotal].Record(acquire + effect + release)
		spans[SpanLag].Record(latency(rng, 70_000))
	}
	for name, h := range spans {
		run.Spans[name] = h.Span()
	}
	return run
}
