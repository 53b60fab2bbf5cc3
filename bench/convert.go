package bench

import (
	"maps"
	"time"

	"lockcost/bench/load"
	"lockcost/results"
	"lockcost/workloads"
)

// toRun turns a recording into the record of a run, without its verdict.
func toRun(r *load.Recording) results.Run {
	run := results.Run{
		StartedAt: r.Began.UTC(), Interrupted: r.Interrupted,
		Offered: r.Offered, Completed: r.Completed, Expired: r.Expired, Granted: r.Done,
		Held: r.Refused[kindHeld], Unreplicated: r.Refused[kindUnreplicated],
		Errors:     maps.Clone(r.Failed),
		Spans:      map[results.SpanName]results.Span{},
		Instrument: r.Instrument,
		Reasons:    []string{},
		UpperNS:    map[results.SpanName]map[results.Percentile]int64{},
	}
	if r.Window > 0 {
		run.AchievedPerS = float64(r.InWindow) / r.Window.Seconds()
	}
	for name, h := range r.Spans {
		if h.Count() > 0 {
			run.Spans[name] = h.Span()
			if upper := h.UpperBounds(); len(upper) > 0 && results.HasSLO(name) {
				run.UpperNS[name] = upper
			}
		}
	}
	return run
}

func toPath(p workloads.Path) results.Path {
	return results.Path{Path: p.Name, Options: p.Options(), Kind: results.Kind(p.Kind), Floor: p.Floor, Runs: []results.Run{}}
}

func (p Plan) record() results.Plan {
	plan := results.Plan{
		Effect: p.effect(), RatePerS: p.Rate,
		DurationNS: int64(p.Duration), WarmupNS: int64(p.Warmup), Runs: p.Runs, RepeatInvalid: p.RepeatInvalid,
		Arrivals: string(p.Arrivals), Clients: p.Clients, Workers: p.load(0).Workers, OpTimeoutNS: int64(p.OpTimeout),
		Seed: p.Seed, TTLNS: int64(p.TTL), HoldNS: int64(p.Hold), Keys: p.Keys, Zipf: p.Zipf, TxRows: p.TxRows, Orders: p.Orders,
		Durability:       string(p.Durability),
		AcquireTimeoutNS: int64(p.AcquireTimeout),
		WaitReplicas:     p.WaitReplicas, WaitTimeoutNS: int64(p.WaitTimeout),
		ReplicaRTTNS: nanoseconds(p.ReplicaRTTs), ClientRTTNS: nanoseconds(p.ClientRTTs), RTTJitterNS: int64(p.RTTJitter),
	}
	for _, path := range p.withFloors() {
		plan.Paths = append(plan.Paths, path.Label())
	}
	return plan
}

// nanoseconds are the round trips that were asked for, 0 where none was.
func nanoseconds(rtts []time.Duration) []int64 {
	all := []int64{}
	for _, rtt := range reach(rtts, true) {
		all = append(all, int64(rtt))
	}
	return all
}
