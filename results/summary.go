package results

import (
	"math"
	"slices"
	"strings"
)

// baseline is the path that costs are stated against.
const baseline = "setnx"

// costSpans are the spans whose cost is stated. The others are the
// instrument's, or of operations that did not get the lock.
var costSpans = []SpanName{SpanAcquire, SpanAcquireService, SpanEffect, SpanRelease, SpanTotal}

// Summarize fills in Summary and Cost of every path from the runs that count
// (Path.Usable); N says how many did. It reads nothing but the runs, so that
// calling it again changes nothing.
func (r *Record) Summarize() {
	for i := range r.Paths {
		p := &r.Paths[i]
		usable := p.Usable()
		p.Summary = summarize(usable)
		p.Cost = nil
		if base, found := r.baseOf(*p); found && !p.Floor && !p.IsBaseline() {
			p.Cost = costs(usable, base.Usable())
			if p.Lockless() {
				for _, span := range lockSpans {
					delete(p.Cost, span)
				}
			}
		}
	}
	r.correct()
}

// lockSpans have no cost where there is no lock: what they take is no part of
// the path's price, and a comparison with setnx would say nothing.
var lockSpans = []SpanName{SpanAcquire, SpanAcquireService, SpanRelease}

// IsBaseline tells whether costs are stated against the path: setnx without
// options.
func (p Path) IsBaseline() bool { return p.Path == baseline && len(p.Options) == 0 }

// baseOf is what the path's cost is stated against: the baseline at the same
// distance from the client. How far the replica is does not matter to it.
func (r *Record) baseOf(p Path) (base Path, found bool) {
	for _, other := range r.Paths {
		if other.IsBaseline() && other.ClientRTTNS == p.ClientRTTNS {
			return other, true
		}
	}
	return Path{}, false
}

func summarize(runs []Run) map[SpanName]map[Percentile]Level {
	summary := map[SpanName]map[Percentile]Level{}
	bounded := bounded(runs)
	for _, span := range SpanNames {
		levels := map[Percentile]Level{}
		for _, p := range Percentiles {
			if values := valuesOf(runs, span, p); len(values) > 0 {
				l := level(values)
				l.LowerBound = bounded && span != SpanLag
				levels[p] = l
			}
		}
		if len(levels) > 0 {
			summary[span] = levels
		}
	}
	return summary
}

// Usable are the runs whose numbers count: judged, not invalid, and not cut
// short, unless the path has none that was not.
func (p Path) Usable() []Run {
	var whole, short []Run
	for _, run := range p.Runs {
		switch {
		case run.Verdict != Valid && run.Verdict != Saturated:
		case run.Interrupted:
			short = append(short, run)
		default:
			whole = append(whole, run)
		}
	}
	if len(whole) > 0 {
		return whole
	}
	return short
}

// Censored counts the operations whose response is not known because it was
// too slow: slots that expired, and operations given up on at a timeout.
func (r Run) Censored() int64 {
	n := r.Expired
	for kind, count := range r.Errors {
		if strings.HasSuffix(kind, timeoutKind) {
			n += count
		}
	}
	return n
}

// timeoutKind ends the kinds of errors that mean that an operation was given
// up on: redis-timeout, ledger-timeout, pool-timeout.
const timeoutKind = "timeout"

// bounded tells whether percentiles over the runs are lower bounds: where
// the slowest operations are missing, and where a backlog grew, so that a
// longer run would have measured more.
func bounded(runs []Run) bool {
	return slices.ContainsFunc(runs, func(r Run) bool { return r.Censored() > 0 || r.Verdict == Saturated })
}

// valuesOf are the percentile's values in the runs that have it.
func valuesOf(runs []Run, span SpanName, p Percentile) []float64 {
	var values []float64
	for _, run := range runs {
		if ns, ok := run.Spans[span].At(p); ok {
			values = append(values, float64(ns))
		}
	}
	return values
}

func level(values []float64) Level {
	m := medianOf(values)
	l := Level{N: len(values), MedianNS: round(m.center), Confidence: m.confidence}
	if m.bounded {
		l.LowNS, l.HighNS = pointer(round(m.low)), pointer(round(m.high))
	}
	return l
}

func costs(runs, base []Run) map[SpanName]map[Percentile]Cost {
	all := map[SpanName]map[Percentile]Cost{}
	bound := boundOf(bounded(runs), bounded(base))
	for _, span := range costSpans {
		costs := map[Percentile]Cost{}
		for _, p := range Percentiles {
			if ours, theirs := paired(runs, base, span, p); len(ours) > 0 {
				c := cost(ours, theirs)
				c.Bound = bound
				costs[p] = c
			}
		}
		if len(costs) > 0 {
			all[span] = costs
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func boundOf(ours, theirs bool) Bound {
	switch {
	case ours && theirs:
		return BoundUnknown
	case ours:
		return BoundLower
	case theirs:
		return BoundUpper
	}
	return ""
}

// paired returns the percentile's values of the two paths, block by block,
// leaving out blocks in which either has none.
func paired(runs, base []Run, span SpanName, p Percentile) (ours, theirs []float64) {
	for _, run := range runs {
		a, okA := run.Spans[span].At(p)
		other, found := inBlock(base, run.Index)
		b, okB := other.Spans[span].At(p)
		if found && okA && okB && a > 0 && b > 0 {
			ours, theirs = append(ours, float64(a)), append(theirs, float64(b))
		}
	}
	return ours, theirs
}

func inBlock(runs []Run, index int) (run Run, found bool) {
	for _, run := range runs {
		if run.Index == index {
			return run, true
		}
	}
	return Run{}, false
}

// cost compares values that stand in the same blocks. Its p-value is not yet
// corrected.
func cost(ours, theirs []float64) Cost {
	var ratios, deltas []float64
	for i := range ours {
		ratios = append(ratios, ours[i]/theirs[i])
		deltas = append(deltas, ours[i]-theirs[i])
	}
	ratio, delta := medianOf(ratios), medianOf(deltas)
	c := Cost{N: len(ours), Ratio: middleRatio(ratios), DeltaNS: round(delta.center), Confidence: ratio.confidence}
	if ratio.bounded {
		c.RatioLow, c.RatioHigh = &ratio.low, &ratio.high
		c.DeltaLowNS, c.DeltaHighNS = pointer(round(delta.low)), pointer(round(delta.high))
	}
	if p, ok := mannWhitney(ours, theirs); ok {
		c.PValue = &p
	}
	return c
}

// middleRatio is the median of ratios, for which 2× and ½× are as far from
// 1×: of an even number the geometric mean of the middle two.
func middleRatio(ratios []float64) float64 {
	sorted := slices.Sorted(slices.Values(ratios))
	a, b := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	if a == b {
		return a
	}
	return math.Sqrt(a * b)
}

// correct applies Holm's correction to the p-values of all paths within one
// span and percentile. Where so few blocks could not have shown a difference
// among so many paths, there is no p-value.
func (r *Record) correct() {
	for _, span := range costSpans {
		for _, p := range Percentiles {
			var family []Cost
			var of []int
			for i, path := range r.Paths {
				if c, ok := path.Cost[span][p]; ok && c.PValue != nil {
					family, of = append(family, c), append(of, i)
				}
			}
			raw := make([]float64, len(family))
			for i, c := range family {
				raw[i] = *c.PValue
			}
			for i, value := range Holm(raw) {
				family[i].PValue = nil
				if leastP(family[i].N)*float64(len(family)) < 1-intervalConfidence {
					family[i].PValue = &value
				}
				r.Paths[of[i]].Cost[span][p] = family[i]
			}
		}
	}
}

func round(x float64) int64 { return int64(math.Round(x)) }

func pointer[T any](v T) *T { return &v }
