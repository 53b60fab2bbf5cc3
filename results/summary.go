package results

import "math"

// baseline is the path that costs are stated against.
const baseline = "setnx"

// costSpans are the spans whose cost is stated. The others are the
// instrument's, or of operations that did not get the lock.
var costSpans = []SpanName{SpanAcquire, SpanAcquireService, SpanEffect, SpanRelease, SpanTotal}

// Summarize fills in Summary and Cost of every path from its runs. Invalid
// runs do not enter; N says how many did. It reads nothing but the runs, so
// that calling it again changes nothing.
func (r *Record) Summarize() {
	base := r.base()
	for i := range r.Paths {
		p := &r.Paths[i]
		p.Summary = summarize(p.Runs)
		p.Cost = nil
		if base >= 0 && i != base && !p.Floor {
			p.Cost = costs(p.Runs, r.Paths[base].Runs)
		}
	}
	r.correct()
}

// base is the position of setnx without options, -1 if it was not run.
func (r *Record) base() int {
	for i, p := range r.Paths {
		if p.Path == baseline && len(p.Options) == 0 {
			return i
		}
	}
	return -1
}

func summarize(runs []Run) map[SpanName]map[Percentile]Level {
	summary := map[SpanName]map[Percentile]Level{}
	for _, span := range SpanNames {
		levels := map[Percentile]Level{}
		for _, p := range Percentiles {
			if values := valuesOf(runs, span, p); len(values) > 0 {
				levels[p] = level(values)
			}
		}
		if len(levels) > 0 {
			summary[span] = levels
		}
	}
	return summary
}

// usable says whether the run's numbers enter a summary. A run that was not
// judged does not.
func (r Run) usable() bool { return r.Verdict == Valid || r.Verdict == Saturated }

// valuesOf are the percentile's values in the runs that have it and count.
func valuesOf(runs []Run, span SpanName, p Percentile) []float64 {
	var values []float64
	for _, run := range runs {
		if ns, ok := run.Spans[span].At(p); ok && run.usable() {
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
	for _, span := range costSpans {
		costs := map[Percentile]Cost{}
		for _, p := range Percentiles {
			if ours, theirs := paired(runs, base, span, p); len(ours) > 0 {
				costs[p] = cost(ours, theirs)
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

// paired returns the percentile's values of the two paths, block by block,
// leaving out blocks in which either has none that counts.
func paired(runs, base []Run, span SpanName, p Percentile) (ours, theirs []float64) {
	for _, run := range runs {
		a, okA := run.Spans[span].At(p)
		other, found := inBlock(base, run.Index)
		b, okB := other.Spans[span].At(p)
		if found && okA && okB && b > 0 && run.usable() && other.usable() {
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
	c := Cost{N: len(ours), Ratio: ratio.center, DeltaNS: round(delta.center), Confidence: ratio.confidence}
	if ratio.bounded {
		c.RatioLow, c.RatioHigh = &ratio.low, &ratio.high
		c.DeltaLowNS, c.DeltaHighNS = pointer(round(delta.low)), pointer(round(delta.high))
	}
	if p, ok := mannWhitney(ours, theirs); ok {
		c.PValue = &p
	}
	return c
}

// correct applies Holm's correction to the p-values of all paths within one
// span and percentile.
func (r *Record) correct() {
	for _, span := range costSpans {
		for _, p := range Percentiles {
			var family []*float64
			for _, path := range r.Paths {
				if c, ok := path.Cost[span][p]; ok && c.PValue != nil {
					family = append(family, c.PValue)
				}
			}
			raw := make([]float64, len(family))
			for i, value := range family {
				raw[i] = *value
			}
			for i, value := range Holm(raw) {
				*family[i] = value
			}
		}
	}
}

func round(x float64) int64 { return int64(math.Round(x)) }

func pointer[T any](v T) *T { return &v }
