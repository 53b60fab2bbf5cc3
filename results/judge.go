package results

import (
	"fmt"
	"math"
)

// The thresholds of a verdict.
const (
	lagShare    = 0.10 // of the response at the same percentile
	timerFactor = 2    // times the timer's own lag there
	busyShare   = 0.80 // of the driver's CPUs
	rateShare   = 0.99 // of the rate that was due
	poolShare   = 0.10 // of the acquire response
)

// nullPath does no work under the lock stages, so it has no response that an
// instrument's fault could be compared with.
const nullPath = "null"

// Judge says whether the run's numbers may be believed, and why not. It is a
// function of the record alone.
//
// Invalid means that the instrument was at fault, and wins over saturated;
// the reasons of both are kept. Saturated means that the system did not keep
// up, so that percentiles are lower bounds. An interrupted run is judged on
// what it has, which excludes its rate. The path null is judged by rate and
// pauses only.
func Judge(r Run, p Path, plan Plan, d Doctor) (Verdict, []string) {
	j := judgement{run: r, plan: plan, doctor: d, lockless: p.Lockless()}
	j.faultIf(r.LinkFault != "", "%s", r.LinkFault)
	measured := p.Path != nullPath
	if measured {
		j.lag()
		j.pauses()
		j.driver()
	} else {
		j.pausesOfNull()
	}
	j.rate()
	j.expired()
	if measured {
		j.pool()
	}
	switch {
	case len(j.invalid) > 0:
		return Invalid, append(j.invalid, j.saturated...)
	case len(j.saturated) > 0:
		return Saturated, j.saturated
	}
	return Valid, []string{}
}

// judgement gathers the reasons against one run.
type judgement struct {
	run       Run
	plan      Plan
	doctor    Doctor
	invalid   []string
	saturated []string
	lockless  bool // there is nothing to acquire
}

func (j *judgement) faultIf(fault bool, format string, args ...any) {
	if fault {
		j.invalid = append(j.invalid, fmt.Sprintf(format, args...))
	}
}

func (j *judgement) saturatedIf(limit bool, format string, args ...any) {
	if limit {
		j.saturated = append(j.saturated, fmt.Sprintf(format, args...))
	}
}

// response is the span that the instrument's faults are compared with:
// acquire's, or where nothing was granted often enough to have a percentile,
// the next that has one.
func (j *judgement) response() (SpanName, Span, bool) {
	for _, name := range []SpanName{SpanAcquire, SpanTotal, SpanRefused, SpanFailed} {
		if name == SpanAcquire && j.lockless {
			continue
		}
		span := j.run.Spans[name]
		if _, _, ok := span.Highest(); ok {
			return name, span, true
		}
	}
	return "", Span{}, false
}

// lag compares the instrument's delay with the response, at the highest
// percentile that both have.
func (j *judgement) lag() {
	name, response, ok := j.response()
	if !ok {
		return
	}
	for i := len(Percentiles) - 1; i >= 0; i-- {
		p := Percentiles[i]
		ns, okResponse := response.At(p)
		lag, okLag := j.run.Spans[SpanLag].At(p)
		if !okResponse || !okLag {
			continue
		}
		timer := j.doctor.timerLag(p)
		j.faultIf(float64(lag) > lagShare*float64(ns) && lag > timerFactor*timer,
			"lag %s of %s is over a tenth of the %s response's %s, and over twice the timer's own %s",
			p.Title(), FormatDuration(lag), name, FormatDuration(ns), FormatDuration(timer))
		return
	}
}

// timerLag is the timer's own lag at the percentile in nanoseconds. A record
// without P90 is given P99's: too lenient for a run of under 368 operations.
func (d Doctor) timerLag(p Percentile) int64 {
	switch {
	case p == P50:
		return d.TimerLagP50NS
	case p == P90 && d.TimerLagP90NS > 0:
		return d.TimerLagP90NS
	case p == P999:
		return d.TimerLagP999NS
	}
	return d.TimerLagP99NS
}

// pauses compares the driver's longest standstill with the response at the
// highest percentile: one as long would have made it up.
func (j *judgement) pauses() {
	if name, span, ok := j.response(); ok {
		j.pauseAgainst(name, span)
	}
}

func (j *judgement) pauseAgainst(name SpanName, span Span) {
	p, ns, _ := span.Highest()
	pause := j.run.Instrument.PauseMaxNS
	j.faultIf(pause > 0 && pause >= ns, "the driver stood still for %s, at least as long as the %s response's %s of %s",
		FormatDuration(pause), name, p.Title(), FormatDuration(ns))
}

// pausesOfNull compares a pause with the whole job, where there is one under
// null's empty lock. Without, null reports nothing but lag, and a pause is
// at fault if it lasts long enough to make up the highest percentile of
// that: for P99.9, a thousandth of the window.
func (j *judgement) pausesOfNull() {
	if total, ok := j.run.Spans[SpanTotal]; ok && j.plan.Effect == EffectCharge {
		if _, _, ok := total.Highest(); ok {
			j.pauseAgainst(SpanTotal, total)
			return
		}
	}
	p, _, ok := j.run.Spans[SpanLag].Highest()
	if !ok {
		return
	}
	pause := j.run.Instrument.PauseMaxNS
	limit := int64(math.Round((1 - p.Quantile()) * float64(j.plan.DurationNS)))
	j.faultIf(pause > 0 && pause >= limit, "the driver stood still for %s, and %s is enough to make up %s",
		FormatDuration(pause), FormatDuration(limit), p.Title())
}

func (j *judgement) driver() {
	in := j.run.Instrument
	j.faultIf(in.CPUBusyRatio > busyShare, "the driver's CPUs were %s busy or taken away from it, over %s",
		percent(in.CPUBusyRatio), percent(busyShare))
	j.faultIf(in.Overflow > 0, "%d samples were outside the histograms' range", in.Overflow)
}

// rate compares what completed inside the window with what was due. What is
// missing was left in flight, in a backlog that grew, or expired. Where the
// driver kept it from starting, it is the driver's.
func (j *judgement) rate() {
	seconds := float64(j.plan.DurationNS) / 1e9
	due := j.dueRate()
	missing := (due - j.run.AchievedPerS) * seconds
	in := j.run.Instrument
	// In a system that keeps up, the numbers in flight at both ends differ
	// by chance, as counts do.
	chance := 1 + 3*math.Sqrt(float64(in.InFlightAtStart+in.InFlightAtEnd))
	if j.run.Interrupted || j.plan.Clients > 0 || missing <= max((1-rateShare)*due*seconds, chance) {
		return
	}
	achieved := fmt.Sprintf("%.4g/s of %.4g/s were achieved", j.run.AchievedPerS, due)
	if idle := float64(in.LateAtEnd); idle > missing/2 || in.InFlightAtEnd == 0 && j.run.Expired == 0 {
		j.faultIf(true, "%s, with workers idle", achieved)
		return
	}
	j.saturatedIf(true, "%s: %d operations were in flight when the window began, and %d when it ended",
		achieved, in.InFlightAtStart, in.InFlightAtEnd)
}

// dueRate is the rate that the schedule came to, per second. Random arrivals
// come to what they come to; constant ones must come to the rate.
func (j *judgement) dueRate() float64 {
	if j.plan.Arrivals == "poisson" && j.plan.DurationNS > 0 {
		return float64(j.run.Offered) / (float64(j.plan.DurationNS) / 1e9)
	}
	return j.plan.RatePerS
}

// expired slots are the system's where slots queued for workers. Those that
// nothing but the driver can have delayed are its own fault. An operation
// that was given up on at its timeout is no better than a slot that expired.
func (j *judgement) expired() {
	in := j.run.Instrument
	if j.run.Expired > 0 {
		j.faultIf(in.Queued == 0, "%d slots expired with workers idle", j.run.Expired)
		j.saturatedIf(in.Queued > 0, "%d of %d slots expired, with all workers inside operations",
			j.run.Expired, j.run.Offered)
	}
	few := (1 - rateShare) * float64(j.run.Offered)
	timeouts := j.run.Censored() - j.run.Expired
	failed := j.run.failed() - timeouts
	j.saturatedIf(float64(timeouts) > few, "%d of %d operations were given up on at their timeout", timeouts, j.run.Offered)
	j.saturatedIf(float64(failed) > few, "%d of %d operations failed", failed, j.run.Offered)
	j.saturatedIf(float64(j.run.Unreplicated) > few, "%d of %d locks were not acknowledged by enough replicas",
		j.run.Unreplicated, j.run.Offered)
	if len(j.saturated) > 0 || float64(in.Queued) > few {
		j.workers()
	}
}

func (r Run) failed() (n int64) {
	for _, count := range r.Errors {
		n += count
	}
	return n
}

// workers adds the bound on workers to the reasons where it set the limit:
// each slot may hold one for as long as the timeout and the hold.
func (j *judgement) workers() {
	seconds := float64(j.plan.OpTimeoutNS+j.plan.HoldNS) / 1e9
	needed := math.Ceil(j.plan.RatePerS * seconds)
	in := j.run.Instrument
	j.saturatedIf(in.Queued > 0 && float64(in.Workers) < needed,
		"workers: %d are fewer than the %.0f that the rate, the timeout and the hold may need, and %d slots waited for one",
		in.Workers, needed, in.Queued)
}

// pool names the connection pool that set the limit: of those that are
// smaller than the workers, the one that was waited for longest.
func (j *judgement) pool() {
	wait, okWait := j.run.Spans[SpanPoolWait].At(P99)
	name, span, ok := j.response()
	in := j.run.Instrument
	pool, size := "lock client", in.PoolSize
	if in.LedgerPoolWaitNS > in.PoolWaitNS {
		pool, size = "ledger", in.LedgerPoolSize
		if total, there := j.run.Spans[SpanTotal]; there { // the acquire does not use it
			name, span = SpanTotal, total
		}
	}
	response, okP99 := span.At(P99)
	if !ok || !okWait || !okP99 || float64(wait) <= poolShare*float64(response) {
		return
	}
	j.saturatedIf(size > 0 && size < in.Workers,
		"pool: operations waited %s for a connection at P99, over a tenth of the %s response's %s; the %s has %d connections for %d workers",
		FormatDuration(wait), name, FormatDuration(response), pool, size, in.Workers)
}
