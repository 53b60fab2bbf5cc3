package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// kindTimes is the body of the time series where paths have kinds: for each
// kind P50, P99 and rates below each other, with a line for each path.
type kindTimes struct {
	kinds []kindRow
	timeBody
}

// kindRow are the panels of one kind.
type kindRow struct {
	title    string
	p50, p99 []trace
	rate     []trace
	keepUp   bool // no path's rate is far from the one offered
}

// Measures of the time series by kind, in points.
const (
	kindTimeLeast vg.Length = 64 // height of a panel of a percentile
	kindRate      vg.Length = 46
	kindBetween   vg.Length = 9
	kindNames     vg.Length = 205 // right of the data, at most
	kindName      vg.Length = 10.5
	kindRateNear            = 0.03 // of the offered rate: a path that keeps up
)

// kindTimesPage draws how the paths of each kind went second by second.
func (s *study) kindTimesPage() page {
	b := kindTimes{}
	var references []series
	for _, one := range s.series {
		if one.baseline && len(one.seconds) > 0 {
			references = append(references, one)
		}
	}
	for _, g := range byKind(s.paths()) {
		if row := s.kindRowOf(g, references); len(row.rate) > 1 {
			b.kinds = append(b.kinds, row)
			b.rows = append(b.rows, timeRow{latency: slices.Concat(row.p50, row.p99), rate: row.rate})
		}
	}
	b.setRanges()
	return page{
		title: "Second by second: acquire at P50 and P99, and rates, by kind",
		alarm: s.alarm(),
		subtitle: s.caption("Histograms of all runs merged for each second of the measured window; warm-up is before 0 s. "+
			"A line has a gap where a second has too few samples for its percentile. All kinds have the same axes. Broad grey line: setnx, for reference. "+
			"Lag: from the time due to the start of an operation, the instrument's own delay, P99 of the path with the greatest. "+
			"Rates: operations answered in a second; those that keep up with what is offered are not named."+s.shortNote(),
			offeredNote(s.record.Plan)),
		notes:  s.footnotes(),
		height: b.height(),
		body:   b.draw,
	}
}

// kindRowOf turns the seconds of a kind's paths into traces.
func (s *study) kindRowOf(g results.KindGroup[series], references []series) kindRow {
	row := kindRow{title: g.Kind.Title(), keepUp: true}
	lag := trace{label: "lag P99, greatest", style: dashed(1.2, midGrey, 1.5, 1.5)}
	offered := trace{label: "offered", style: dashed(2.6, midGrey, 4, 3)}
	if isRandom(s.record.Plan) {
		offered.label = "mean offered"
	}
	if g.Kind != results.KindOneServer {
		for _, one := range references {
			p50, p99 := secondTraces(one, line(2.4, referenceGrey), nil)
			row.p50, row.p99 = append(row.p50, p50), append(row.p99, p99)
		}
	}
	for i, one := range g.Items {
		if len(one.seconds) == 0 {
			continue
		}
		if !one.path.Lockless() {
			p50, p99 := secondTraces(one, one.look.stroke(1.4), curveShapes[i%len(curveShapes)])
			row.p50, row.p99 = append(row.p50, p50), append(row.p99, p99)
		}
		achieved := trace{label: one.short(), style: one.look.stroke(1.2), shape: curveShapes[i%len(curveShapes)]}
		for at, sec := range one.seconds {
			middle := (float64(sec.startNS) + float64(sec.lengthNS)/2) / 1e9
			achieved.add(middle, sec.achievedPerS)
			lag.widen(at, middle, latencyOf(sec.lagP99))
			if at == len(offered.at) {
				offered.add(middle, s.record.Plan.RatePerS)
			}
		}
		if near := achieved.near(s.record.Plan.RatePerS); near {
			achieved.label, achieved.shape = "", nil
		} else {
			row.keepUp = false
		}
		row.rate = append(row.rate, achieved)
	}
	row.p99 = append(row.p99, lag)
	if row.keepUp {
		offered.label += ", and all keep up"
	}
	row.rate = append([]trace{offered}, row.rate...)
	return row
}

// secondTraces are a path's percentiles of acquire.
func secondTraces(one series, style draw.LineStyle, shape draw.GlyphDrawer) (p50, p99 trace) {
	name := joined(" ", one.short(), one.mark)
	p50 = trace{label: name, style: style, shape: shape}
	p99 = p50
	for _, sec := range one.seconds {
		at := (float64(sec.startNS) + float64(sec.lengthNS)/2) / 1e9
		p50.add(at, latencyOf(sec.p50))
		p99.add(at, latencyOf(sec.p99))
	}
	return p50, p99
}

// widen makes a trace the greatest of several at the second with the given
// position.
func (t *trace) widen(position int, at, value float64) {
	if position == len(t.at) {
		t.add(at, value)
		return
	}
	if math.IsNaN(t.value[position]) || value > t.value[position] {
		t.value[position] = value
	}
}

// near says whether a trace, as a whole, stays with a rate.
func (t trace) near(rate float64) bool {
	sum := 0.0
	for _, v := range t.value {
		sum += v
	}
	return math.Abs(sum/float64(len(t.value))-rate) <= kindRateNear*rate
}

// percentileHeight is the height of a kind's panels of percentiles, which
// holds the names of the lines.
func (r kindRow) percentileHeight() vg.Length {
	return max(kindTimeLeast, vg.Length(len(r.p99))*kindName+8)
}

// rateHeight is the height of its panel of rates.
func (r kindRow) rateHeight() vg.Length {
	return max(kindRate, vg.Length(len(namedTraces(r.rate)))*kindName+8)
}

func (b kindTimes) height() vg.Length {
	height := timeFoot
	for _, r := range b.kinds {
		height += timeHead + 2*r.percentileHeight() + r.rateHeight() + 2*kindBetween + timeTicks
	}
	return max(height, timeHead+timeHeight)
}

// namedTraces are those that are named at their ends.
func namedTraces(all []trace) []trace {
	return slices.DeleteFunc(slices.Clone(all), func(t trace) bool { return t.label == "" })
}

// draw draws the kinds below each other.
func (b kindTimes) draw(c draw.Canvas) {
	if len(b.kinds) == 0 {
		putNothing(c)
		return
	}
	names := vg.Length(0)
	for _, r := range b.kinds {
		for _, t := range slices.Concat(r.p50, r.p99, r.rate) {
			names = max(names, textStyle(smallSize, ink).Width(t.label))
		}
	}
	names = min(names, kindNames) + 26
	top := c.Max.Y
	for i, r := range b.kinds {
		put(c, bold(textStyle(panelSize, ink)), c.Min.X+timeAxis, top-timeHead+5, r.title)
		top -= timeHead
		last := i == len(b.kinds)-1
		for _, p := range []struct {
			name   string
			traces []trace
			height vg.Length
			chart  *plot.Plot
		}{
			{"P50, log", r.p50, r.percentileHeight(), b.onLatency(r.p50)},
			{"P99, log", r.p99, r.percentileHeight(), b.onLatency(r.p99)},
			{"per second", r.rate, r.rateHeight(), b.onRate(r.rate)},
		} {
			p.chart.Y.Label.Text = p.name
			area := vg.Rectangle{
				Min: vg.Point{X: c.Min.X + timeAxis, Y: top - p.height},
				Max: vg.Point{X: c.Max.X - names, Y: top},
			}
			data := place(p.chart, c, area)
			nameTraces(c, data, p.chart, namedTraces(p.traces))
			top -= p.height + kindBetween
			if last && p.name == "per second" {
				style := aligned(textStyle(labelSize, softInk), draw.XCenter)
				put(c, style, (area.Min.X+area.Max.X)/2, area.Min.Y-timeTicks-10, "time in the measured window")
			}
		}
		top += kindBetween - timeTicks
	}
}

// onLatency makes a plot of a percentile, without labels at the seconds: the
// plot of rates below has them.
func (b kindTimes) onLatency(traces []trace) *plot.Plot {
	chart := b.chart(traces, 8)
	chart.Y.Min, chart.Y.Max = b.latency.lo, b.latency.hi
	chart.Y.Scale = logScale{}
	chart.Y.Tick.Marker = logTicks{most: 4, label: durationTick}
	chart.X.Tick.Marker = unlabelled{chart.X.Tick.Marker}
	return chart
}

// onRate makes a plot of rates.
func (b kindTimes) onRate(traces []trace) *plot.Plot {
	chart := b.chart(traces, 8)
	chart.Y.Min, chart.Y.Max = b.rate.lo, b.rate.hi
	chart.Y.Tick.Marker = linearTicks{most: 3, label: plainNumber}
	return chart
}
