package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// trace is one line over the seconds of the measured window.
type trace struct {
	label string
	style draw.LineStyle
	shape draw.GlyphDrawer // nil for none
	at    []float64        // seconds; the middle of each
	value []float64        // NaN where a second has none: the line has a gap there
}

// timeRow is one path's small multiples.
type timeRow struct {
	title, mark   string
	latency, rate []trace
}

// Measures of the time series, in points.
const (
	timeAxis   vg.Length = 50
	timeHeight vg.Length = 74 // data of one small multiple
	timeHead   vg.Length = 17
	timeTicks  vg.Length = 18 // below each row
	timeFoot   vg.Length = 18 // axis label below the last row
	timeLabels vg.Length = 46
	timeGap    vg.Length = 10
	rateWidth  vg.Length = 118 // data of the right column
	rateLabels vg.Length = 50
	timeTop    vg.Length = 16 // heads of the columns
)

// timeseriesPage draws how each path went second by second.
func timeseriesPage(s *study) ([]page, error) {
	if hasKinds(s.paths()) {
		return []page{s.kindTimesPage()}, nil
	}
	shown := s.paths()
	if len(shown) == 0 {
		shown = s.series
	}
	body := timeBody{}
	for _, one := range shown {
		if len(one.seconds) > 0 {
			body.rows = append(body.rows, timeRowOf(one, s.record.Plan))
		}
	}
	body.setRanges()
	return []page{{
		title: "Second by second: acquire, the instrument's lag, and rates",
		alarm: s.alarm(),
		subtitle: s.caption("Histograms of all runs merged for each second of the measured window; warm-up is before 0 s. "+
			"A percentile's line has a gap where a second has too few samples for it. "+
			"Lag: from the time due to the start of an operation, the instrument's own delay, P99.",
			offeredNote(s.record.Plan)),
		notes:  s.footnotes(),
		height: timeTop + vg.Length(max(1, len(body.rows)))*(timeHead+timeHeight+timeTicks) + timeFoot,
		body:   body.draw,
	}}, nil
}

// isRandom says whether the number of operations that fall due in a second is
// left to chance.
func isRandom(plan results.Plan) bool { return plan.Arrivals == "poisson" }

// offeredNote says what the line of the offered rate is where that rate is
// not the same in every second.
func offeredNote(plan results.Plan) string {
	if !isRandom(plan) {
		return ""
	}
	return "Offered: the planned mean of Poisson arrivals; how many fell due in each single second is not logged."
}

// timeRowOf turns a path's seconds into traces.
func timeRowOf(one series, plan results.Plan) timeRow {
	p50 := trace{label: "P50", style: line(1.5, blue), shape: draw.CircleGlyph{}}
	p99 := trace{label: "P99", style: draw.LineStyle{Color: vermillion, Width: 1.5, Dashes: []vg.Length{5, 2}}, shape: draw.PyramidGlyph{}}
	lag := trace{label: "lag P99", style: draw.LineStyle{Color: midGrey, Width: 1.2, Dashes: []vg.Length{1.5, 1.5}}}
	offered := trace{label: "offered", style: draw.LineStyle{Color: midGrey, Width: 2.6, Dashes: []vg.Length{4, 3}}}
	if isRandom(plan) {
		offered.label = "mean offered"
	}
	achieved := trace{label: "achieved", style: line(1.3, black), shape: draw.SquareGlyph{}}
	for _, sec := range one.seconds {
		at := (float64(sec.startNS) + float64(sec.lengthNS)/2) / 1e9
		p50.add(at, latencyOf(sec.p50))
		p99.add(at, latencyOf(sec.p99))
		lag.add(at, latencyOf(sec.lagP99))
		offered.add(at, plan.RatePerS)
		achieved.add(at, sec.achievedPerS)
	}
	return timeRow{
		title: withAside(one.title(), one.aside), mark: one.mark,
		latency: []trace{p50, p99, lag},
		rate:    []trace{offered, achieved},
	}
}

// latencyOf is a second's percentile, NaN where the second has none.
func latencyOf(ns int64) float64 {
	if ns == 0 {
		return math.NaN()
	}
	return float64(ns)
}

// add appends a second.
func (t *trace) add(at, value float64) {
	t.at, t.value = append(t.at, at), append(t.value, value)
}

// pieces splits the positions of a trace where a second has no value.
func (t trace) pieces() [][]int {
	var all [][]int
	joins := false
	for i, v := range t.value {
		switch {
		case math.IsNaN(v):
			joins = false
			continue
		case joins:
			all[len(all)-1] = append(all[len(all)-1], i)
		default:
			all = append(all, []int{i})
		}
		joins = true
	}
	return all
}

// timeBody is the body of the time series. All rows have the same axes, so
// that they can be compared.
type timeBody struct {
	rows          []timeRow
	seconds       float64
	latency, rate extent
}

// setRanges makes the axes hold every row.
func (b *timeBody) setRanges() {
	b.latency, b.rate = newExtent(), newExtent()
	for _, row := range b.rows {
		for _, t := range row.latency {
			b.latency.add(t.value...)
			b.extend(t)
		}
		for _, t := range row.rate {
			b.rate.add(t.value...)
			b.extend(t)
		}
	}
	b.latency = b.latency.logPadded(1.4)
	b.rate = extent{lo: 0, hi: max(b.rate.hi, 1) * 1.25}
}

// extend makes the time axis hold a trace.
func (b *timeBody) extend(t trace) {
	for _, at := range t.at {
		b.seconds = max(b.seconds, at+0.5)
	}
}

// draw draws the rows.
func (b timeBody) draw(c draw.Canvas) {
	if len(b.rows) == 0 {
		putNothing(c)
		return
	}
	latencyEnd := c.Max.X - rateLabels - rateWidth - timeAxis - timeGap - timeLabels
	for i, row := range b.rows {
		top := c.Max.Y - timeTop - vg.Length(i)*(timeHead+timeHeight+timeTicks) - timeHead
		left := vg.Rectangle{
			Min: vg.Point{X: c.Min.X + timeAxis, Y: top - timeHeight},
			Max: vg.Point{X: latencyEnd, Y: top},
		}
		right := vg.Rectangle{
			Min: vg.Point{X: c.Max.X - rateLabels - rateWidth, Y: top - timeHeight},
			Max: vg.Point{X: c.Max.X - rateLabels, Y: top},
		}
		if i == 0 {
			head := textStyle(labelSize, softInk)
			put(c, head, left.Min.X, c.Max.Y-10, "acquire response and lag, logarithmic")
			put(c, head, right.Min.X, c.Max.Y-10, "operations per second")
		}
		row.putTitle(c, left.Min.X, top+5)
		b.drawPanel(c, left, b.latencyChart(row), row.latency, i == len(b.rows)-1)
		b.drawPanel(c, right, b.rateChart(row), row.rate, i == len(b.rows)-1)
	}
}

// putTitle sets a row's title, and its mark beside it.
func (r timeRow) putTitle(c draw.Canvas, x, y vg.Length) {
	name, mark := bold(textStyle(panelSize, ink)), bold(textStyle(smallSize, vermillion))
	const gap = 6
	title := shortened(name, r.title, c.Max.X-x-gap-mark.Width(r.mark))
	put(c, name, x, y, title)
	put(c, mark, x+name.Width(title)+gap, y, r.mark)
}

// latencyChart makes the left plot of a row.
func (b timeBody) latencyChart(row timeRow) *plot.Plot {
	chart := b.chart(row.latency, 7)
	chart.Y.Min, chart.Y.Max = b.latency.lo, b.latency.hi
	chart.Y.Scale = logScale{}
	chart.Y.Tick.Marker = logTicks{most: 4, label: durationTick}
	return chart
}

// rateChart makes the right plot of a row.
func (b timeBody) rateChart(row timeRow) *plot.Plot {
	chart := b.chart(row.rate, 4)
	chart.Y.Min, chart.Y.Max = b.rate.lo, b.rate.hi
	chart.Y.Tick.Marker = linearTicks{most: 4, label: plainNumber}
	return chart
}

// chart makes a plot over the seconds, with at most so many ticks on them.
func (b timeBody) chart(traces []trace, ticks int) *plot.Plot {
	chart := newPlot()
	chart.Add(&plotter.Grid{Vertical: line(0.5, gridGrey), Horizontal: line(0.5, gridGrey)})
	for _, t := range traces {
		chart.Add(t)
	}
	chart.X.Min, chart.X.Max = 0, b.seconds
	chart.X.Tick.Marker = linearTicks{most: ticks, label: func(v float64) string { return plainNumber(v) + " s" }}
	return chart
}

// drawPanel draws a plot, names its lines at their ends, and names the time
// axis below the last row.
func (b timeBody) drawPanel(c draw.Canvas, area vg.Rectangle, chart *plot.Plot, traces []trace, last bool) {
	data := place(chart, c, area)
	if last {
		style := aligned(textStyle(labelSize, softInk), draw.XCenter)
		put(c, style, (area.Min.X+area.Max.X)/2, area.Min.Y-timeTicks-10, "time in the measured window")
	}
	_, y := chart.Transforms(&data)
	var want []vg.Length
	var named []trace
	for _, t := range traces {
		if pieces := t.pieces(); len(pieces) > 0 {
			last := pieces[len(pieces)-1]
			want, named = append(want, y(t.value[last[len(last)-1]])), append(named, t)
		}
	}
	for i, at := range spread(want, 10.5, area.Min.Y+4, area.Max.Y-4) {
		putMiddle(c, textStyle(smallSize, textColor(named[i].style.Color)), area.Max.X+4, at, named[i].label)
	}
}

// textColor is the colour of a line's label: the line's own, darkened where
// text would be too faint.
func textColor(c color.Color) color.Color {
	if c == midGrey {
		return softInk
	}
	return c
}

// Plot implements plot.Plotter.
func (t trace) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	const crowded = 40 // glyphs on more points than this would touch
	glyph := draw.GlyphStyle{Color: t.style.Color, Radius: 1.9, Shape: t.shape}
	if glyph.Shape == nil {
		glyph.Shape = draw.CircleGlyph{}
	}
	for _, piece := range t.pieces() {
		path := make([]vg.Point, len(piece))
		for i, at := range piece {
			path[i] = vg.Point{X: x(t.at[at]), Y: y(t.value[at])}
		}
		alone := len(path) == 1 // a line through one point would not be seen
		if !alone {
			c.StrokeLines(t.style, path)
		}
		if alone || t.shape != nil && len(t.at) <= crowded {
			for _, at := range path {
				c.DrawGlyph(glyph, at)
			}
		}
	}
}
