package plots

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"lockcost/results"
)

// madeUpSweep is a sweep to be made up: systems of which each has a rate that
// it can do, near which its times grow.
type madeUpSweep struct {
	paths   []sweepPath
	slos    []results.SLO
	rates   []float64
	varied  []results.Vary
	runs    int
	limit   float64 // rate that the instrument cannot drive; 0 for none
	planned float64
	bare    bool // runs do not say what they used
}

// sweepPath makes up one path.
type sweepPath struct {
	path     string
	options  map[string]string
	kind     results.Kind
	acquire  time.Duration
	capacity float64 // rate that it can do
	trips    float64 // to the replica, of an acquire
}

var sweepPaths = []sweepPath{
	{path: "setnx", kind: results.KindOneServer, acquire: 150 * time.Microsecond, capacity: 4200},
	{path: "setnx-wait", kind: results.KindServers, acquire: 190 * time.Microsecond, capacity: 3300, trips: 1},
	{path: "fencing", kind: results.KindDownstream, acquire: 170 * time.Microsecond, capacity: 3900},
	{path: "idempotent", kind: results.KindDownstream, acquire: 152 * time.Microsecond, capacity: 4100},
	{path: "watchdog", kind: results.KindOneServer, acquire: 155 * time.Microsecond, capacity: 3600},
	{path: "watchdog", options: map[string]string{"notify": "yes"}, kind: results.KindOneServer, acquire: 156 * time.Microsecond, capacity: 3500},
	{path: "setnx-wait", options: map[string]string{"round-trips": "2"}, kind: results.KindServers, acquire: 310 * time.Microsecond, capacity: 2900, trips: 1},
	{path: "waitaof", kind: results.KindServers, acquire: 2300 * time.Microsecond, capacity: 900, trips: 1},
	{path: "redlock", kind: results.KindServers, acquire: 600 * time.Microsecond, capacity: 1700},
	{path: "etcd", kind: results.KindServers, acquire: 2100 * time.Microsecond, capacity: 700},
	{path: "zookeeper", kind: results.KindServers, acquire: 9 * time.Millisecond, capacity: 300},
	{path: "fencing", options: map[string]string{"token": "etcd"}, kind: results.KindDownstream, acquire: 2500 * time.Microsecond, capacity: 650},
	{path: "combined", kind: results.KindDownstream, acquire: 210 * time.Microsecond, capacity: 3100, trips: 1},
}

// usualSweep is of the first n paths.
func usualSweep(n int) madeUpSweep {
	return madeUpSweep{
		paths:  sweepPaths[:n],
		slos:   []results.SLO{{Span: results.SpanAcquire, Percentile: results.P99, LimitNS: 5e6}},
		rates:  []float64{250, 500, 1000, 2000, 2830, 3150, 3360, 4000, 4500},
		runs:   3,
		varied: []results.Vary{sevenTrips},
	}
}

var (
	sevenTrips = results.Vary{Name: "replica-rtt", Values: []string{"0s", "250us", "500us", "1ms", "2ms", "5ms", "10ms"}}
	fiveTrips  = results.Vary{Name: "client-rtt", Values: []string{"0s", "500us", "1ms", "2ms", "5ms"}}
	otherVary  = []results.Vary{
		{Name: "wait-replicas", Values: []string{"1", "2", "3"}}, {Name: "ttl", Values: []string{"1s", "10s", "30s"}},
		{Name: "hold", Values: []string{"0s", "1ms", "10ms"}}, {Name: "keys", Values: []string{"1", "10", "100", "1000"}},
		{Name: "tx-rows", Values: []string{"0", "10", "100"}},
	}
)

// record makes up the points, and concludes.
func (m madeUpSweep) record() *results.Capacity {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := &results.Capacity{
		Schema: results.CapacitySchema, StartedAt: start, EndedAt: start.Add(time.Hour),
		Environment: results.Environment{
			CPU: "a processor", CPUs: 2, OS: "linux", Topology: "Redis 7.0.15 primary, 1 replica, 3 sentinels, MariaDB 10.11.19 ledger",
			Placement: results.Placement{Pinned: true, DriverCPUs: []int{0}, ServerCPUs: []int{1}},
		},
		Plan: results.Plan{Effect: results.EffectCharge, RatePerS: m.planned, Runs: m.runs, Arrivals: "constant", Env: "process"},
		Search: results.Search{
			SLOs: m.slos, FromPerS: 250, ToPerS: 8000, LeastPerS: 10, PrecisionRatio: 0.07, Runs: m.runs, StepNS: 2e9, Varied: m.varied,
		},
	}
	for _, p := range m.paths {
		label := results.Path{Path: p.path, Options: p.options}.Label()
		c.Plan.Paths = append(c.Plan.Paths, label)
		for _, rate := range m.rates {
			if rate < 1.6*p.capacity {
				c.Points = append(c.Points, m.point(p, rate, nil))
			}
		}
		for _, vary := range m.varied {
			for _, text := range vary.Values {
				c.Points = append(c.Points, m.point(p, 200, &results.Value{Name: vary.Name, Text: text, Number: numberOf(text)}))
			}
		}
	}
	c.Conclude()
	return c
}

// numberOf is a value as a number.
func numberOf(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d)
	}
	var v float64
	_, _ = fmt.Sscan(text, &v)
	return v
}

// point makes up the runs of one path at one rate.
func (m madeUpSweep) point(p sweepPath, rate float64, at *results.Value) results.Point {
	point := results.Point{
		Path:     results.Path{Path: p.path, Options: p.options, Kind: p.kind},
		RatePerS: rate, DurationNS: 2e9, Varied: at,
	}
	hash := fnv.New64a()
	fmt.Fprint(hash, p.path, p.options, rate, at)
	random := rand.New(rand.NewPCG(hash.Sum64(), 1))
	for block := range m.runs {
		point.Runs, point.Blocks = append(point.Runs, m.run(p, rate, at, block, random)), append(point.Blocks, block)
	}
	return point
}

func (m madeUpSweep) run(p sweepPath, rate float64, at *results.Value, block int, random *rand.Rand) results.Run {
	busy := math.Min(rate/p.capacity, 0.98)
	p50 := float64(p.acquire) / (1 - busy) * math.Exp(0.04*random.NormFloat64())
	if at != nil {
		switch at.Name {
		case "replica-rtt":
			p50 += p.trips * at.Number * 1.01
		case "client-rtt":
			p50 += at.Number * (1 + p.trips/10)
		case "tx-rows", "keys", "wait-replicas":
			p50 *= 1 + 0.03*at.Number
		}
	}
	p99 := p50*1.3 + 4*float64(p.acquire)/(1-busy)*math.Exp(0.2*random.NormFloat64())
	n := int64(rate * 2)
	run := results.Run{
		Index: block, Verdict: results.Valid, Offered: n, Completed: n, Granted: n, AchievedPerS: rate,
		Spans: map[results.SpanName]results.Span{}, UpperNS: map[results.SpanName]map[results.Percentile]int64{},
	}
	for _, span := range []results.SpanName{results.SpanAcquire, results.SpanEffect, results.SpanTotal} {
		a, b, c := int64(p50), int64(p50*1.1), int64(p99)
		run.Spans[span] = results.Span{Count: n, MinNS: a / 2, MeanNS: a, P50NS: &a, P90NS: &b, P99NS: &c, MaxNS: 3 * c}
		run.UpperNS[span] = map[results.Percentile]int64{results.P50: a + a/50, results.P99: c + c/3}
	}
	switch {
	case m.limit > 0 && rate >= m.limit:
		run.Verdict, run.Reasons = results.Invalid, []string{"the driver's CPU was busy for 93 %"}
	case rate > 1.05*p.capacity && at == nil:
		run.Verdict, run.AchievedPerS = results.Saturated, p.capacity
		run.Reasons = []string{fmt.Sprintf("%.0f/s of %.0f/s were achieved", p.capacity, rate)}
	}
	if !m.bare {
		run.Resources = resourcesOf(p, p50)
	}
	return run
}

// resourcesOf makes up what a path uses.
func resourcesOf(p sweepPath, p50 float64) map[string]results.Resources {
	of := func(cpu, in, out, commands float64, more ...*float64) results.Resources {
		r := results.Resources{CPUNS: &cpu, BytesIn: &in, BytesOut: &out, Commands: &commands}
		if len(more) > 0 {
			r.ReplicationBytes, r.Fsyncs = more[0], more[1]
		}
		return r
	}
	repl, none, one := 180+p50/1e4, 0.0, 1.02
	all := map[string]results.Resources{
		results.DriverResources: {CPUNS: &p50},
		"ledger":                of(310e3, 420, 390, 6, nil, &one),
	}
	unknown := map[string]string{"cpu_ns_per_op": "the server does not tell"}
	switch p.path {
	case "etcd":
		for i := range 3 {
			all[fmt.Sprintf("etcd-%d", i+1)] = of(250e3, 800, 500, 2, &repl, &one)
		}
	case "zookeeper":
		for i := range 3 {
			all[fmt.Sprintf("zookeeper-%d", i+1)] = results.Resources{BytesIn: &repl, Fsyncs: &one, Unknown: unknown}
		}
	case "redlock":
		for i := range 5 {
			all[fmt.Sprintf("independent-%d", i+1)] = of(28e3, 110, 20, 2, &none, &none)
		}
	default:
		all["primary"], all["replica-1"] = of(60e3, 190, 35, 2, &repl, &none), of(30e3, 0, 40, 0, &repl, &none)
		for i := range 3 {
			all[fmt.Sprintf("sentinel-%d", i+1)] = of(4e3, 3, 3, 0.01)
		}
	}
	return all
}

// sweepInputs are the records that every figure must cope with.
func sweepInputs() map[string]*results.Capacity {
	nothing := usualSweep(4)
	nothing.slos = []results.SLO{{Span: results.SpanAcquire, Percentile: results.P99, LimitNS: 100e3}}

	limit := usualSweep(4)
	limit.limit = 100
	partly := usualSweep(4)
	partly.limit, partly.runs = 2000, 3

	step := usualSweep(4)
	step.rates, step.varied, step.runs = []float64{1000}, nil, 1

	two := usualSweep(2)
	two.slos = append(two.slos, results.SLO{Span: results.SpanTotal, Percentile: results.P50, LimitNS: 1e6})
	two.varied, two.planned, two.runs = []results.Vary{sevenTrips, fiveTrips}, 1000, 6

	four := usualSweep(4)
	four.runs, four.varied = 6, append([]results.Vary{sevenTrips}, otherVary...)

	many := usualSweep(13)
	many.planned, many.runs, many.varied = 300, 6, append([]results.Vary{sevenTrips, fiveTrips}, otherVary...)

	bare := usualSweep(2)
	bare.bare, bare.varied = true, nil

	levels := usualSweep(1)
	levels.rates, levels.varied, levels.slos = nil, otherVary[:2], nil

	unfinished := usualSweep(3).record()
	unfinished.Interrupted = true
	unfinished.Down = []string{"replica-2"}
	for i := range unfinished.Points {
		if v := unfinished.Points[i].Varied; v != nil && v.Number == 10e6 {
			for j := range unfinished.Points[i].Runs {
				unfinished.Points[i].Runs[j].Verdict = results.Saturated
				unfinished.Points[i].Runs[j].Reasons = []string{"150/s of 200/s were achieved"}
				unfinished.Points[i].Runs[j].Expired = 20
			}
		}
	}
	unfinished.Conclude()

	brief := usualSweep(2)
	brief.varied = otherVary[:1]
	short := brief.record()
	for _, p := range short.Points { // as of runs too short for a tail
		for _, run := range p.Runs {
			if p.Varied != nil || p.RatePerS == 250 {
				span := run.Spans[results.SpanAcquire]
				span.P99NS = nil
				run.Spans[results.SpanAcquire] = span
			}
		}
	}
	short.Conclude()

	all := map[string]*results.Capacity{"unfinished": unfinished, "short": short, "empty": {Schema: results.CapacitySchema}}
	for name, m := range map[string]madeUpSweep{
		"nothing passes": nothing, "instrument": limit, "partly": partly, "one step": step,
		"two": two, "four": four, "thirteen": many, "bare": bare, "levels": levels,
	} {
		all[name] = m.record()
	}
	return all
}

// sweepNames are the inputs' names in their order.
func sweepNames(all map[string]*results.Capacity) []string { return slices.Sorted(maps.Keys(all)) }
