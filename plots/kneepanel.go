package plots

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// sloLine is the line of the SLO.
var sloLine = dashed(1.1, ink, 5, 2.5)

// limitGrey shades the rates that could not be driven, and othersGrey is the
// other paths' lines.
var (
	limitGrey  = color.RGBA{R: 0xec, G: 0xec, B: 0xec, A: 0xff}
	othersGrey = color.RGBA{R: 0xbc, G: 0xbc, B: 0xbc, A: 0xff}
)

// draw draws the legend, the panels and the list.
func (b kneeBody) draw(c draw.Canvas) {
	b.drawLegend(c)
	top := c.Max.Y - kneeLegend
	for i, l := range b.part {
		column, row := i%b.columns, i/b.columns
		left := c.Min.X + kneeAxis + vg.Length(column)*(b.panel.X+kneeGap)
		ceiling := top - vg.Length(row)*b.rowHeight() - kneeHead - b.lane
		area := vg.Rectangle{
			Min: vg.Point{X: left, Y: ceiling - b.panel.Y},
			Max: vg.Point{X: left + b.panel.X, Y: ceiling},
		}
		b.drawPanel(c, area, l, column == 0)
	}
	foot := top - vg.Length(b.rows())*b.rowHeight()
	label := aligned(textStyle(labelSize, softInk), draw.XCenter)
	put(c, label, (c.Min.X+kneeAxis+c.Max.X-kneeGap)/2, foot-6, "offered rate (operations per second), logarithmic")
	b.drawList(c, foot-kneeLabel)
}

// drawLegend explains the marks.
func (b kneeBody) drawLegend(c draw.Canvas) {
	style := textStyle(smallSize, ink)
	at := vg.Point{X: c.Min.X + 6, Y: c.Max.Y - 6}
	item := func(width vg.Length, name string, mark func(vg.Point)) {
		mark(at)
		putMiddle(c, style, at.X+width, at.Y, name)
		at.X += width + style.Width(name) + 16
	}
	for _, m := range []struct {
		name string
		step kneeStep
	}{
		{"passed", kneeStep{Step: results.Step{Outcome: results.StepPassed}}},
		{"failed", kneeStep{Step: results.Step{Outcome: results.StepFailed}}},
		{"failed, not kept up with: at least this", kneeStep{Step: results.Step{Outcome: results.StepFailed}, lower: true}},
	} {
		item(9, m.name, func(p vg.Point) { drawStep(c, m.step, ink, p) })
	}
	item(11, "highest rate that passed", func(p vg.Point) { drawEdge(c, ink, p) })
	item(11, "knee", func(p vg.Point) { drawKnee(c, p) })
	at = vg.Point{X: c.Min.X + 6, Y: c.Max.Y - 20}
	item(24, "SLO: "+b.slo.Title(), func(p vg.Point) { c.StrokeLine2(sloLine, p.X-3, p.Y, p.X+19, p.Y) })
	if slices.ContainsFunc(b.part, func(l ladder) bool { return slices.ContainsFunc(l.steps, kneeStep.undriven) }) {
		item(20, "instrument's limit: could not be driven", func(p vg.Point) {
			hatchLimit(c, vg.Rectangle{Min: vg.Point{X: p.X - 3, Y: p.Y - 4}, Max: vg.Point{X: p.X + 15, Y: p.Y + 4}})
			drawUndriven(c, vg.Point{X: p.X + 6, Y: p.Y})
		})
	}
	if len(b.all) > 1 {
		item(24, "the other paths", func(p vg.Point) { c.StrokeLine2(line(0.7, othersGrey), p.X-3, p.Y, p.X+19, p.Y) })
	}
}

// drawPanel draws one path.
func (b kneeBody) drawPanel(c draw.Canvas, area vg.Rectangle, l ladder, first bool) {
	chart := newPlot()
	ticks := logTicks{most: max(3, int(area.Size().Y/18)), label: durationTick}
	chart.Add(&plotter.Grid{Vertical: line(0.5, gridGrey)}, levelLines{ticks}, kneeMarks{b, l})
	chart.X.Min, chart.X.Max, chart.X.Scale = b.rate.lo, b.rate.hi, logScale{}
	makeRoom(&chart.X, logTicks{most: 6, label: rateTick}, area.Size().X)
	chart.Y.Min, chart.Y.Max, chart.Y.Scale = b.time.lo, b.time.hi, logScale{}
	chart.Y.Tick.Marker = ticks
	if first {
		chart.Y.Label.Text = b.slo.Percentile.Title() + ", log"
	} else {
		chart.Y.Tick.Marker = nameless{ticks}
	}
	data := place(chart, c, area)
	x, y := chart.Transforms(&data)
	style := bold(textStyle(labelSize, ink))
	put(c, style, area.Min.X, area.Max.Y+b.lane+4, shortened(style, l.name, area.Size().X+kneeGap-4))
	putMiddle(c, textStyle(smallSize, ink), area.Max.X+3, y(float64(b.slo.LimitNS)), "SLO")
	b.drawLane(c, area, l, x)
	b.nameEdge(c, area, l, x, y)
}

// nameless has the labelled marks of another ticker without their texts: the
// panel beside it has them. A mark without a text gets no grid line, see
// levelLines.
type nameless struct{ plot.Ticker }

// Ticks implements plot.Ticker.
func (n nameless) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for _, tick := range n.Ticker.Ticks(lo, hi) {
		if !tick.IsMinor() {
			ticks = append(ticks, plot.Tick{Value: tick.Value})
		}
	}
	return ticks
}

// levelLines are the horizontal grid lines of a ticker's labelled marks.
type levelLines struct{ plot.Ticker }

// Plot implements plot.Plotter.
func (l levelLines) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	for _, tick := range l.Ticks(p.Y.Min, p.Y.Max) {
		if !tick.IsMinor() {
			c.StrokeLine2(line(0.5, gridGrey), c.Min.X, y(tick.Value), c.Max.X, y(tick.Value))
		}
	}
}

// rateTick prints a rate on an axis.
func rateTick(perS float64) string {
	if perS >= 1000 {
		return plainNumber(perS/1000) + "k"
	}
	return plainNumber(perS)
}

// drawLane marks the steps that could not be driven, and those without a
// percentile, above the panel.
func (b kneeBody) drawLane(c draw.Canvas, area vg.Rectangle, l ladder, x func(float64) vg.Length) {
	left, height := area.Max.X, area.Max.Y+b.lane/2
	limit := false
	for _, step := range l.steps {
		at := x(step.RatePerS)
		switch {
		case step.undriven():
			drawUndriven(c, vg.Point{X: at, Y: height})
			left, limit = min(left, at), limit || step.Outcome == results.StepInstrument
		case !step.drawn():
			drawStep(c, step, l.look.color, vg.Point{X: at, Y: height})
			left = min(left, at)
		}
	}
	if !limit {
		return
	}
	style := textStyle(smallSize, softInk)
	const words = "instrument's limit"
	if at := left - 5 - style.Width(words); at >= area.Min.X-kneeGap/2 {
		putMiddle(c, style, at, height, words)
		return
	}
	right := left
	for _, step := range l.steps {
		if step.undriven() || !step.drawn() {
			right = max(right, x(step.RatePerS))
		}
	}
	if right+5+style.Width(words) <= area.Max.X+kneeGap-2 {
		putMiddle(c, style, right+5, height, words)
		return
	}
	// The marks are all over the lane: the words go into the panel.
	putClear(c, style, vg.Point{X: area.Min.X + 4, Y: area.Max.Y - 8}, words)
}

// nameEdge writes the highest passing rate beside its dot.
func (b kneeBody) nameEdge(c draw.Canvas, area vg.Rectangle, l ladder, x, y func(float64) vg.Length) {
	style := bold(textStyle(smallSize, ink))
	for _, step := range l.steps {
		if l.MaxRatePerS == nil || step.RatePerS != *l.MaxRatePerS || !step.drawn() {
			continue
		}
		// Lines rise to the right, so that there is room below them.
		rate, right := rateText(step.RatePerS), area.Max.X+kneeGap-4
		at := vg.Point{X: x(step.RatePerS) + 6, Y: y(float64(step.ns)) - 9}
		if math.Abs(float64(at.Y-y(float64(b.slo.LimitNS)))) < 10 {
			right = area.Max.X
		}
		at.X, at.Y = min(at.X, right-style.Width(rate)), max(at.Y, area.Min.Y+6)
		putClear(c, style, at, rate)
		return
	}
	if l.MaxRatePerS == nil && l.FirstFailingPerS != nil {
		at := vg.Point{X: area.Min.X + 4, Y: area.Min.Y + 7}
		if limit := y(float64(b.slo.LimitNS)); limit < at.Y+8 {
			at.Y = limit + 8
		}
		putClear(c, textStyle(smallSize, ink), at, "the lowest rate did not pass")
	}
}

// putClear sets text on white, centred on the height of the point.
func putClear(c draw.Canvas, style text.Style, at vg.Point, s string) {
	c.SetColor(color.White)
	c.Fill(vg.Rectangle{
		Min: vg.Point{X: at.X - 1, Y: at.Y - 4.5}, Max: vg.Point{X: at.X + style.Width(s) + 1, Y: at.Y + 4.5},
	}.Path())
	putMiddle(c, style, at.X, at.Y, s)
}

// kneeMarks draws the SLO, the other paths and the steps of one.
type kneeMarks struct {
	body kneeBody
	own  ladder
}

// Plot implements plot.Plotter.
func (m kneeMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := func(s kneeStep) vg.Point { return vg.Point{X: x(s.RatePerS), Y: y(float64(s.ns))} }
	for _, r := range m.own.undrivenRates() {
		band := vg.Rectangle{Min: vg.Point{X: x(r.lo) - 2, Y: c.Min.Y}, Max: vg.Point{X: x(math.Min(r.hi, p.X.Max)) + 2, Y: c.Max.Y}}
		band.Max.X = min(band.Max.X, c.Max.X)
		hatchLimit(c, band)
	}
	for _, l := range m.body.all {
		if l.name != m.own.name {
			c.StrokeLines(line(0.7, othersGrey), pointsOf(l, at))
		}
	}
	limit := y(float64(m.body.slo.LimitNS))
	c.StrokeLine2(sloLine, c.Min.X, limit, c.Max.X, limit)
	c.StrokeLines(m.own.look.stroke(1.5), pointsOf(m.own, at))
	for _, step := range m.own.steps {
		if !step.drawn() {
			continue
		}
		dot := at(step)
		if step.UpperNS != nil && *step.UpperNS > step.ns {
			upper := y(float64(*step.UpperNS))
			c.StrokeLine2(line(0.9, m.own.look.color), dot.X, dot.Y, dot.X, upper)
			c.StrokeLine2(line(0.9, m.own.look.color), dot.X-2, upper, dot.X+2, upper)
		}
		if m.own.KneeRatePerS != nil && *m.own.KneeRatePerS == step.RatePerS {
			drawKnee(c, dot)
		}
		drawStep(c, step, m.own.look.color, dot)
		if m.own.MaxRatePerS != nil && *m.own.MaxRatePerS == step.RatePerS {
			drawEdge(c, m.own.look.color, dot)
		}
	}
}

// pointsOf are the steps that have a value.
func pointsOf(l ladder, at func(kneeStep) vg.Point) (points []vg.Point) {
	for _, step := range l.steps {
		if step.drawn() {
			points = append(points, at(step))
		}
	}
	return points
}
