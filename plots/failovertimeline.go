package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// timelineBody is the body of the timeline: a panel for each scenario and
// path, rates above response.
type timelineBody struct {
	panels        []faultPanel
	rate, latency extent
	time          map[string]extent // by the panel's scenario
}

// Measures of the timeline, in points.
const (
	timelineAxis    vg.Length = 56
	timelineKeys    vg.Length = 62 // names of the lines, right of the data
	timelineHead    vg.Length = 16 // title of a panel
	timelineMarks   vg.Length = 30 // names of the steps, and what leads to their lines
	timelineRate    vg.Length = 50
	timelineBetween vg.Length = 6
	timelineLatency vg.Length = 46
	timelineTicks   vg.Length = 21
	timelinePanel             = timelineHead + timelineMarks + timelineRate + timelineBetween + timelineLatency + timelineTicks
	timelineFoot    vg.Length = 14
)

// shadeGrey is what the fault window is shaded with.
var shadeGrey = color.RGBA{R: 0xe9, G: 0xe9, B: 0xe9, A: 0xff}

// dashed returns a dashed line.
func dashed(width vg.Length, c color.Color, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dashes}
}

// draw draws the panels.
func (b timelineBody) draw(c draw.Canvas) {
	for i, p := range b.panels {
		top := c.Max.Y - vg.Length(i)*timelinePanel
		name, detail := bold(textStyle(panelSize, ink)), textStyle(smallSize, softInk)
		title := shortened(name, p.title, c.Size().X*0.6)
		put(c, name, c.Min.X, top-10, title)
		x := c.Min.X + name.Width(title) + 8
		put(c, detail, x, top-10, shortened(detail, p.detail, c.Max.X-x))
		area := vg.Rectangle{
			Min: vg.Point{X: c.Min.X + timelineAxis, Y: top - timelinePanel + timelineTicks},
			Max: vg.Point{X: c.Max.X - timelineKeys, Y: top - timelineHead - timelineMarks},
		}
		b.drawPanel(c, area, p)
		if i == len(b.panels)-1 {
			style := aligned(textStyle(labelSize, softInk), draw.XCenter)
			put(c, style, (area.Min.X+area.Max.X)/2, area.Min.Y-timelineTicks-10, "time from the fault (s)")
		}
	}
}

// drawPanel draws the two plots of a panel, and the marks across both.
func (b timelineBody) drawPanel(c draw.Canvas, area vg.Rectangle, p faultPanel) {
	upper, lower := area, area
	upper.Min.Y = area.Max.Y - timelineRate
	lower.Max.Y = area.Min.Y + timelineLatency
	rates := b.chart(p, p.rates)
	rates.Y.Min, rates.Y.Max = b.rate.lo, b.rate.hi
	rates.Y.Tick.Marker = linearTicks{most: 3, label: plainNumber}
	rates.Y.Label.Text = "per second"
	rates.X.Tick.Marker = unlabelled{rates.X.Tick.Marker}
	latency := b.chart(p, p.latency)
	latency.Y.Min, latency.Y.Max = b.latency.lo, b.latency.hi
	latency.Y.Scale = logScale{}
	latency.Y.Tick.Marker = logTicks{most: 3, label: durationTick}
	latency.Y.Label.Text = "response"
	above := place(rates, c, upper)
	below := place(latency, c, lower)
	x, _ := rates.Transforms(&above)
	drawSteps(c, area, x, p.steps)
	nameTraces(c, above, rates, p.rates)
	nameTraces(c, below, latency, p.latency)
}

// chart makes a plot over the time around the fault.
func (b timelineBody) chart(p faultPanel, traces []trace) *plot.Plot {
	chart := newPlot()
	chart.Add(shade{from: p.from, until: p.until})
	chart.Add(&plotter.Grid{Vertical: line(0.5, gridGrey), Horizontal: line(0.5, gridGrey)})
	for _, t := range traces {
		chart.Add(t)
	}
	time := b.time[p.scenario]
	chart.X.Min, chart.X.Max = time.lo, time.hi
	chart.X.Tick.Marker = linearTicks{most: 10, label: func(v float64) string { return plainNumber(v) + " s" }}
	return chart
}

// unlabelled has the marks of another ticker without their labels: the plot
// below has them.
type unlabelled struct{ plot.Ticker }

// Ticks implements plot.Ticker.
func (u unlabelled) Ticks(lo, hi float64) []plot.Tick {
	ticks := u.Ticker.Ticks(lo, hi)
	for i := range ticks {
		ticks[i].Label = " " // a mark without a label would be a minor one, without a grid line
	}
	return ticks
}

// shade fills the fault window.
type shade struct{ from, until float64 }

// Plot implements plot.Plotter.
func (s shade) Plot(c draw.Canvas, p *plot.Plot) {
	if math.IsNaN(s.until) {
		return
	}
	x, _ := p.Transforms(&c)
	c.SetColor(shadeGrey)
	c.Fill(vg.Rectangle{
		Min: vg.Point{X: x(s.from), Y: c.Min.Y},
		Max: vg.Point{X: max(x(s.from), min(x(s.until), c.Max.X)), Y: c.Max.Y},
	}.Path())
}

// drawSteps marks the steps by lines from the top of the upper plot to the
// foot of the lower, and names them above, apart from each other.
func drawSteps(c draw.Canvas, area vg.Rectangle, x func(float64) vg.Length, steps []faultStep) {
	name, when := aligned(textStyle(safetyText, ink), draw.XCenter), aligned(textStyle(safetyText, softInk), draw.XCenter)
	want := make([]vg.Length, len(steps))
	widest := vg.Length(0)
	for i, step := range steps {
		want[i] = x(step.at)
		widest = max(widest, name.Width(step.name), when.Width(step.when))
	}
	foot := area.Max.Y + 11 // of the names
	for i, at := range spread(want, widest+5, area.Min.X+widest/2, c.Max.X-widest/2) {
		style := dashed(0.7, softInk, 2, 1.5)
		if i == 0 {
			style = line(1.1, ink)
		}
		c.StrokeLine2(style, want[i], area.Min.Y, want[i], area.Max.Y)
		c.StrokeLine2(line(0.5, midGrey), want[i], area.Max.Y, at, foot-2)
		put(c, name, at, foot+safetyText+2, steps[i].name)
		put(c, when, at, foot, steps[i].when)
	}
}

// nameTraces names the lines of a plot at their ends, with a piece of each.
func nameTraces(c, data draw.Canvas, chart *plot.Plot, traces []trace) {
	_, y := chart.Transforms(&data)
	var want []vg.Length
	var named []trace
	for _, t := range traces {
		if pieces := t.pieces(); len(pieces) > 0 {
			last := pieces[len(pieces)-1]
			want, named = append(want, y(t.value[last[len(last)-1]])), append(named, t)
		}
	}
	for i, at := range spread(want, 10.5, data.Min.Y+4, data.Max.Y-4) {
		c.StrokeLine2(named[i].style, data.Max.X+5, at, data.Max.X+21, at)
		if named[i].shape != nil {
			c.DrawGlyph(draw.GlyphStyle{Color: named[i].style.Color, Radius: 2.2, Shape: named[i].shape}, vg.Point{X: data.Max.X + 13, Y: at})
		}
		name := textStyle(smallSize, ink)
		putMiddle(c, name, data.Max.X+25, at, shortened(name, named[i].label, c.Max.X-data.Max.X-25))
	}
}
