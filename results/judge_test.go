package results

import (
	"strings"
	"testing"
)

// judged is a run on which nothing can be said: 6000 operations of 1 ms at
// P99.9, lag 0.1 ms.
func judged() (Run, Path, Plan, Doctor) {
	ms := func(p50, p90, p99, p999 int64) Span {
		return Span{Count: 6000, P50NS: &p50, P90NS: &p90, P99NS: &p99, P999NS: &p999}
	}
	run := Run{Offered: 6000, Completed: 6000, Granted: 6000, AchievedPerS: 1000,
		Spans: map[SpanName]Span{
			SpanAcquire:  ms(200_000, 300_000, 500_000, 1_000_000),
			SpanTotal:    ms(1_000_000, 1_500_000, 2_000_000, 4_000_000),
			SpanLag:      ms(20_000, 50_000, 80_000, 100_000),
			SpanPoolWait: ms(0, 0, 50_000, 60_000),
		},
		Instrument: Instrument{Workers: 2000, PoolSize: 100, LedgerPoolSize: 2000, PauseMaxNS: 999_999, CPUBusyRatio: 0.8},
	}
	plan := Plan{Effect: EffectCharge, RatePerS: 1000, DurationNS: 6e9, OpTimeoutNS: 1e9, Arrivals: "constant"}
	return run, Path{Path: "setnx"}, plan, Doctor{TimerLagP50NS: 10_000, TimerLagP99NS: 30_000, TimerLagP999NS: 40_000}
}

func set(r *Run, name SpanName, p999 int64) {
	span := r.Spans[name]
	span.P999NS = &p999
	r.Spans[name] = span
}

func setP99(r *Run, name SpanName, p99 int64) {
	span := r.Spans[name]
	span.P99NS = &p99
	r.Spans[name] = span
}

func TestJudge(t *testing.T) {
	type change func(r *Run, p *Path, plan *Plan, d *Doctor)
	cases := []struct {
		name   string
		change change
		want   Verdict
		reason string // must start one of the reasons; "" for none
	}{
		{"just inside every threshold", func(*Run, *Path, *Plan, *Doctor) {}, Valid, ""},
		{"lag", func(r *Run, _ *Path, _ *Plan, _ *Doctor) { set(r, SpanLag, 100_001) }, Invalid, "lag P99.9 of 100 µs"},
		{"lag that the timer has too", func(r *Run, _ *Path, _ *Plan, d *Doctor) {
			set(r, SpanLag, 300_000)
			d.TimerLagP999NS = 150_000
		}, Valid, ""},
		{"lag over twice the timer's", func(r *Run, _ *Path, _ *Plan, d *Doctor) {
			set(r, SpanLag, 300_002)
			d.TimerLagP999NS = 150_000
		}, Invalid, "lag P99.9"},
		{"lag at P99 where that is the highest", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			span := r.Spans[SpanAcquire]
			span.P999NS = nil
			r.Spans[SpanAcquire] = span
			r.Instrument.PauseMaxNS = 0
		}, Invalid, "lag P99 of 80.0 µs"},
		{"pause", func(r *Run, _ *Path, _ *Plan, _ *Doctor) { r.Instrument.PauseMaxNS = 1_000_000 }, Invalid, "the driver stood still for 1.00 ms"},
		{"pause against refusals where nothing is granted", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			r.Spans[SpanRefused] = r.Spans[SpanTotal]
			delete(r.Spans, SpanAcquire)
			delete(r.Spans, SpanTotal)
			r.Instrument.PauseMaxNS = 3_999_999
		}, Valid, ""},
		{"busy", func(r *Run, _ *Path, _ *Plan, _ *Doctor) { r.Instrument.CPUBusyRatio = 0.801 }, Invalid, "the driver's CPUs were"},
		{"overflow", func(r *Run, _ *Path, _ *Plan, _ *Doctor) { r.Instrument.Overflow = 1 }, Invalid, "1 samples"},
		{"99 % of the rate", func(r *Run, _ *Path, _ *Plan, _ *Doctor) { r.AchievedPerS = 990 }, Valid, ""},
		{"less, workers idle", func(r *Run, _ *Path, _ *Plan, _ *Doctor) { r.AchievedPerS = 989.9 }, Invalid, "989.9/s of 1000/s"},
		{"less, workers busy", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			r.AchievedPerS = 989.9
			r.Instrument.InFlightAtEnd = 61
		}, Saturated, "989.9/s of 1000/s"},
		{"less, and the driver is to blame", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			r.AchievedPerS = 989.9
			r.Instrument.InFlightAtEnd, r.Instrument.LateAtEnd = 61, 60
		}, Invalid, "989.9/s of 1000/s were achieved, with workers idle"},
		{"less by the few in flight at a low rate", func(r *Run, _ *Path, plan *Plan, _ *Doctor) {
			r.AchievedPerS, plan.RatePerS = 9.5, 10
			r.Instrument.InFlightAtEnd = 3
		}, Valid, ""},
		{"given up on", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			r.Errors = map[string]int64{"redis-timeout": 31, "ledger-timeout": 30}
		}, Saturated, "61 of 6000 operations were given up on"},
		{"a few given up on", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			r.Errors = map[string]int64{"redis-timeout": 60, "redis-error": 60}
		}, Valid, ""},
		{"failed", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			r.Errors = map[string]int64{"redis-error": 61}
		}, Saturated, "61 of 6000 operations failed"},
		{"not replicated", func(r *Run, _ *Path, _ *Plan, _ *Doctor) { r.Unreplicated = 61 }, Saturated, "61 of 6000 locks"},
		{"too few workers, though all was done", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			r.Instrument.Queued, r.Instrument.Workers = 61, 1
		}, Saturated, "workers: 1"},
		{"less, interrupted", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			r.AchievedPerS = 400
			r.Interrupted = true
		}, Valid, ""},
		{"as many as chance offered", func(r *Run, _ *Path, plan *Plan, _ *Doctor) {
			plan.Arrivals = "poisson"
			r.Offered, r.AchievedPerS = 5880, 980
		}, Valid, ""},
		{"fewer than chance offered", func(r *Run, _ *Path, plan *Plan, _ *Doctor) {
			plan.Arrivals = "poisson"
			r.Offered, r.AchievedPerS = 6120, 1000
		}, Invalid, "1000/s of 1020/s"},
		{"queued alone", func(r *Run, _ *Path, _ *Plan, _ *Doctor) { r.Instrument.Queued = 50 }, Valid, ""},
		{"expired", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			r.Expired, r.Instrument.Queued = 1, 50
		}, Saturated, "1 of 6000 slots expired"},
		{"expired, workers idle", func(r *Run, _ *Path, _ *Plan, _ *Doctor) { r.Expired = 1 }, Invalid, "1 slots expired with workers idle"},
		{"too few workers", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			r.Expired, r.Instrument.Queued, r.Instrument.Workers = 1, 50, 999
		}, Saturated, "workers: 999"},
		{"too few workers for the hold", func(r *Run, _ *Path, plan *Plan, _ *Doctor) {
			r.Expired, r.Instrument.Queued, plan.HoldNS = 1, 50, 1_000_000_001
		}, Saturated, "workers: 2000"},
		{"pool", func(r *Run, _ *Path, _ *Plan, _ *Doctor) { setP99(r, SpanPoolWait, 50_001) }, Saturated, "pool: operations waited 50.0 µs"},
		{"the ledger's pool", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			setP99(r, SpanPoolWait, 200_001)
			r.Instrument.LedgerPoolSize, r.Instrument.LedgerPoolWaitNS = 10, 5
		}, Saturated, "pool: operations waited 200 µs for a connection at P99, over a tenth of the total response's 2.00 ms; the ledger has 10"},
		{"the ledger's pool, a little", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			setP99(r, SpanPoolWait, 200_000)
			r.Instrument.LedgerPoolSize, r.Instrument.LedgerPoolWaitNS = 10, 5
		}, Valid, ""},
		{"link", func(r *Run, _ *Path, _ *Plan, _ *Doctor) { r.LinkFault = "replica-1 goes around its link" }, Invalid, "replica-1 goes around"},
		{"pool as large as the workers", func(r *Run, _ *Path, _ *Plan, _ *Doctor) {
			setP99(r, SpanPoolWait, 50_001)
			r.Instrument.PoolSize = 2000
		}, Valid, ""},
		{"null has no response", func(r *Run, p *Path, _ *Plan, _ *Doctor) {
			p.Path = "null"
			set(r, SpanLag, 900_000)
			r.Instrument.CPUBusyRatio = 0.9
			r.Instrument.PauseMaxNS = 3_999_999
		}, Valid, ""},
		{"null's pause against its job", func(r *Run, p *Path, _ *Plan, _ *Doctor) {
			p.Path = "null"
			r.Instrument.PauseMaxNS = 4_000_000
		}, Invalid, "the driver stood still for 4.00 ms"},
		{"null's pause without a job", func(r *Run, p *Path, plan *Plan, _ *Doctor) {
			p.Path, plan.Effect = "null", EffectNone
			r.Instrument.PauseMaxNS = 6_000_000
		}, Invalid, "the driver stood still for 6.00 ms"},
		{"null's lesser pause without a job", func(r *Run, p *Path, plan *Plan, _ *Doctor) {
			p.Path, plan.Effect = "null", EffectNone
			r.Instrument.PauseMaxNS = 5_999_999
		}, Valid, ""},
		{"no lock to acquire: the whole job is the response", func(r *Run, p *Path, _ *Plan, _ *Doctor) {
			p.Path = "optimistic"
			acquire := r.Spans[SpanAcquire]
			for _, ns := range []*int64{acquire.P50NS, acquire.P90NS, acquire.P99NS, acquire.P999NS} {
				*ns = 300
			}
		}, Valid, ""},
		{"null's rate", func(r *Run, p *Path, _ *Plan, _ *Doctor) {
			p.Path, r.AchievedPerS = "null", 900
		}, Invalid, "900/s of 1000/s"},
		{"nothing at all", func(r *Run, _ *Path, _ *Plan, _ *Doctor) { *r = Run{} }, Invalid, "0/s of 1000/s"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run, path, plan, doctor := judged()
			c.change(&run, &path, &plan, &doctor)
			verdict, reasons := Judge(run, path, plan, doctor)
			if verdict != c.want {
				t.Errorf("%s %q, want %s", verdict, reasons, c.want)
			}
			if c.reason == "" && len(reasons) > 0 || c.reason != "" && !anyStarts(reasons, c.reason) {
				t.Errorf("reasons %q, want one that starts with %q", reasons, c.reason)
			}
		})
	}
}

func anyStarts(reasons []string, with string) bool {
	for _, reason := range reasons {
		if strings.HasPrefix(reason, with) {
			return true
		}
	}
	return false
}

func TestInvalidWinsAndKeepsAllReasons(t *testing.T) {
	run, path, plan, doctor := judged()
	run.Instrument.Overflow = 3
	run.Expired, run.Instrument.Queued, run.Instrument.Workers = 60, 600, 10
	verdict, reasons := Judge(run, path, plan, doctor)
	if verdict != Invalid || len(reasons) != 3 || !anyStarts(reasons, "workers: 10") {
		t.Errorf("%s %q", verdict, reasons)
	}
}
