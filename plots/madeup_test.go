package plots

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"lockcost/results"
)

// profile makes up one path's latencies: log-normal stages with a tail.
type profile struct {
	path       string
	options    map[string]string
	rtt        time.Duration
	acquire    time.Duration // median
	spread     float64       // sigma of the logarithm
	effect     time.Duration
	verdict    results.Verdict // of every run; "" is valid
	reasons    []string
	failing    bool // no grant at all
	floor      bool
	expired    int64
	kind       results.Kind
	lock       *results.Durability
	stallEvery int // one of so many operations takes a hundredfold, 0 for none
}

// madeUp is a record to be made up.
type madeUp struct {
	profiles    []profile
	runs        int
	seconds     int
	rate        int
	effect      results.Effect
	interrupted bool
	env         string
}

// usual are the four paths and the floors, WAIT at two distances.
func usual() madeUp {
	return madeUp{
		profiles: []profile{
			{path: "null", acquire: 2 * time.Microsecond, spread: 0.3, effect: time.Millisecond, floor: true},
			{path: "ping", acquire: 95 * time.Microsecond, spread: 0.35, effect: time.Millisecond, floor: true},
			{path: "setnx", acquire: 150 * time.Microsecond, spread: 0.42, effect: time.Millisecond, stallEvery: 2000},
			{path: "setnx-wait", acquire: 158 * time.Microsecond, spread: 0.43, effect: time.Millisecond, stallEvery: 2000},
			{path: "setnx-wait", rtt: time.Millisecond, acquire: 1270 * time.Microsecond, spread: 0.15, effect: time.Millisecond, stallEvery: 1500},
			{path: "fencing", acquire: 171 * time.Microsecond, spread: 0.42, effect: 1150 * time.Microsecond, stallEvery: 2000},
			{path: "idempotent", acquire: 151 * time.Microsecond, spread: 0.42, effect: 1080 * time.Microsecond, stallEvery: 2000},
		},
		runs: 6, seconds: 2, rate: 2000, effect: results.EffectCharge, env: "process",
	}
}

// write makes the record up and writes a run's folder, as a driver would.
func (m madeUp) write(t *testing.T) string {
	t.Helper()
	folder, err := results.Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	spool, err := folder.Spool()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.profiles {
		for run := range m.runs {
			random := p.random(run)
			for second := range m.seconds {
				if err := spool.Add(time.Duration(second)*time.Second, time.Second, m.second(p, random)); err != nil {
					t.Fatal(err)
				}
			}
			start := time.Date(2026, 3, 1, 12, run, 0, 0, time.UTC)
			if err := spool.Encode(p.entry().Label(), run, results.Distance{ReplicaNS: int64(p.rtt)}, start); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := spool.Close(); err != nil {
		t.Fatal(err)
	}
	if err := folder.Save(m.record()); err != nil {
		t.Fatal(err)
	}
	return folder.Dir()
}

// study makes the record up without a folder, which takes a fraction of the
// time.
func (m madeUp) study(t *testing.T) *study {
	t.Helper()
	s, err := newStudy(m.record(), func(path results.Path) ([]results.Interval, error) {
		var intervals []results.Interval
		for _, p := range m.profiles {
			if p.entry().Label() == path.Label() {
				for run := range m.runs {
					intervals = append(intervals, m.intervals(p, run)...)
				}
			}
		}
		return intervals, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// entry is the path's entry in the record, without its runs.
func (p profile) entry() results.Path {
	return results.Path{Path: p.path, Options: p.options, ReplicaRTTNS: int64(p.rtt), Floor: p.floor, Kind: p.kind, Durability: p.lock}
}

// random gives one run of one path the same samples each time.
func (p profile) random(run int) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(p.entry().Label()))
	return rand.New(rand.NewPCG(hash.Sum64(), uint64(run)))
}

// record is the whole record.
func (m madeUp) record() *results.Record {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	record := &results.Record{
		Schema: results.Schema, StartedAt: start, EndedAt: start.Add(time.Minute), Interrupted: m.interrupted,
		Environment: results.Environment{
			CPUs: 2, OS: "linux", Topology: "1 primary, 1 replica, 3 sentinels, 1 MariaDB",
			Placement: results.Placement{Pinned: true, DriverCPUs: []int{0}, ServerCPUs: []int{1}},
		},
		Plan: results.Plan{
			Effect: m.effect, RatePerS: float64(m.rate), DurationNS: int64(m.seconds) * 1e9, WarmupNS: 1e9,
			Runs: m.runs, Arrivals: "constant", Env: m.env, Replicas: 1, Sentinels: 3,
		},
	}
	for _, p := range m.profiles {
		entry := p.entry()
		for run := range m.runs {
			entry.Runs = append(entry.Runs, m.run(p, run))
		}
		record.Paths = append(record.Paths, entry)
	}
	record.Summarize()
	return record
}

// run makes up what the record keeps of one run.
func (m madeUp) run(p profile, index int) results.Run {
	run := results.Run{
		Index: index, Verdict: results.Valid, Reasons: p.reasons, Offered: int64(m.rate * m.seconds),
		Expired: p.expired, Errors: map[string]int64{}, Spans: map[results.SpanName]results.Span{},
	}
	if p.verdict != "" {
		run.Verdict = p.verdict
	}
	run.Completed = run.Offered - run.Expired
	run.AchievedPerS = float64(run.Completed) / float64(m.seconds)
	if p.failing {
		run.Errors["dial"] = run.Completed
	} else {
		run.Granted = run.Completed
	}
	intervals := m.intervals(p, index)
	for _, span := range results.SpanNames {
		pooled := results.Pool(intervals, func(i results.Interval) bool { return i.Span == span })
		if pooled.Count() > 0 {
			run.Spans[span] = pooled.Span()
		}
	}
	return run
}

// intervals makes up a run's intervals.
func (m madeUp) intervals(p profile, run int) []results.Interval {
	var all []results.Interval
	random := p.random(run)
	for second := range m.seconds {
		samples := m.second(p, random)
		for _, span := range results.SpanNames {
			if len(samples[span]) == 0 {
				continue
			}
			all = append(all, results.Interval{
				Run: run, Distance: results.Distance{ReplicaNS: int64(p.rtt)}, Span: span,
				StartNS: int64(second) * 1e9, LengthNS: 1e9, Histogram: histogram(samples[span]...),
			})
		}
	}
	return all
}

// second makes up the samples of one second.
func (m madeUp) second(p profile, random *rand.Rand) map[results.SpanName][]int64 {
	samples := map[results.SpanName][]int64{}
	add := func(span results.SpanName, ns float64) { samples[span] = append(samples[span], int64(ns)) }
	drift := math.Exp(random.NormFloat64() * 0.02) // seconds differ a little
	lognormal := func(median time.Duration, sigma float64) float64 {
		return float64(median) * drift * math.Exp(random.NormFloat64()*sigma)
	}
	for range m.rate {
		add(results.SpanLag, lognormal(80*time.Microsecond, 0.25))
		if p.failing {
			add(results.SpanFailed, lognormal(time.Millisecond, 0.5))
			continue
		}
		acquire, release := lognormal(p.acquire, p.spread), lognormal(140*time.Microsecond, 0.4)
		if p.path == "null" || p.path == "optimistic" {
			release = lognormal(time.Microsecond, 0.3)
		}
		if p.stallEvery > 0 && random.IntN(p.stallEvery) == 0 {
			acquire *= 20 + 80*random.Float64()
		}
		add(results.SpanAcquire, acquire)
		add(results.SpanRelease, release)
		total := math.Floor(acquire) + math.Floor(release)
		if m.effect == results.EffectCharge {
			effect := lognormal(p.effect, 0.3)
			add(results.SpanEffect, effect)
			total += math.Floor(effect)
		}
		add(results.SpanTotal, total)
	}
	return samples
}

// inputs are the records that every figure must cope with.
func inputs() map[string]madeUp {
	few := usual()
	few.profiles, few.runs, few.seconds = few.profiles[2:3], 2, 1

	many := usual()
	many.profiles = append(many.profiles,
		profile{path: "combined", acquire: 190 * time.Microsecond, spread: 0.45, effect: 1200 * time.Microsecond},
		profile{path: "redlock", acquire: 420 * time.Microsecond, spread: 0.5, effect: time.Millisecond,
			verdict: results.Invalid, reasons: []string{"lag P99 of 410 µs is over a tenth of the response"}},
		profile{path: "etcd", acquire: 2100 * time.Microsecond, spread: 0.3, effect: time.Millisecond,
			verdict: results.Saturated, reasons: []string{"813/s of 1000/s achieved with all workers busy"}, expired: 40},
		profile{path: "zookeeper", failing: true},
		profile{path: "setnx-wait", options: map[string]string{"round-trips": "2"}, rtt: time.Millisecond,
			acquire: 2300 * time.Microsecond, spread: 0.2, effect: time.Millisecond},
	)

	huge := usual()
	huge.profiles = []profile{
		{path: "ping", acquire: 50 * time.Microsecond, spread: 0.2, effect: time.Millisecond, floor: true},
		{path: "setnx", acquire: 55 * time.Microsecond, spread: 0.3, effect: time.Millisecond},
		{path: "fencing", acquire: 52 * time.Microsecond, spread: 0.3, effect: time.Millisecond},
		{path: "zookeeper", acquire: 300 * time.Millisecond, spread: 0.6, effect: 20 * time.Millisecond},
	}
	huge.rate, huge.seconds = 400, 4

	bare := usual()
	bare.effect = results.EffectNone
	bare.profiles = bare.profiles[:4]
	bare.env = "external"
	bare.profiles = append(bare.profiles, profile{
		path: "setnx-wait", acquire: 400 * time.Microsecond, spread: 0.3, verdict: results.Saturated,
		reasons: []string{strings.Repeat("a long reason, ", 20) + "and its end"},
		options: map[string]string{"round-trips": "2", "wait-timeout": "250ms", "a-name-that-does-not-fit-a-column": "9",
			"another-long-option-of-no-meaning": "some-value"},
	})

	once := usual()
	once.runs, once.interrupted = 1, true

	spoilt := usual()
	spoilt.profiles[2].verdict = results.Invalid
	spoilt.profiles[2].reasons = []string{"the driver stood still for 31 ms"}
	spoilt.runs, spoilt.seconds = 2, 1

	none := usual()
	none.profiles = []profile{{path: "setnx", failing: true}}
	none.runs, none.seconds = 2, 1

	return map[string]madeUp{
		"usual": usual(), "one path": few, "many paths": many, "huge range": huge, "no effect": bare,
		"one run": once, "invalid setnx": spoilt, "nothing": none, "all paths": everything(), "all paths, doubtful": doubtful(),
	}
}
