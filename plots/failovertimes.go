package plots

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// timesBody is the body of the failover-time figure: whole times above, and
// below what they are beyond the floor.
type timesBody struct{ scenarios []results.Scenario }

// timesPanel is one of its panels: a category for each scenario.
type timesPanel struct {
	title      string
	categories [][]stepTime
	floors     []float64 // nanoseconds
	names      []string  // below the categories
}

// panels makes both panels.
func (b timesBody) panels() (whole, beyond timesPanel) {
	whole.title = "Time from the crash to each step"
	beyond.title = "The same, less the floor"
	for _, s := range b.scenarios {
		floor := float64(s.DownAfterNS)
		steps := stepTimes(s)
		after := make([]stepTime, len(steps))
		for i, st := range steps {
			after[i] = st.since(floor)
		}
		whole.categories, beyond.categories = append(whole.categories, steps), append(beyond.categories, after)
		whole.floors, beyond.floors = append(whole.floors, floor), append(beyond.floors, 0)
		whole.names = append(whole.names, durationTick(floor))
	}
	beyond.names = whole.names
	return whole, beyond
}

// draw draws both panels.
func (b timesBody) draw(c draw.Canvas) {
	whole, beyond := b.panels()
	top := c.Max.Y - timesHead
	upper := vg.Rectangle{
		Min: vg.Point{X: c.Min.X + timesAxis, Y: top - timesHeight},
		Max: vg.Point{X: c.Max.X - timesLabels, Y: top},
	}
	lower := upper
	lower.Max.Y = upper.Min.Y - timesFoot - timesHead
	lower.Min.Y = lower.Max.Y - timesAdded
	e := whole.extent(whole.floors...).logPadded(1.25)
	chart := whole.chart(e)
	chart.Y.Scale, chart.Y.Tick.Marker = logScale{}, logTicks{most: 8, label: durationTick}
	chart.Y.Label.Text = "time from the crash, logarithmic"
	whole.draw(c, upper, chart)
	chart = beyond.chart(extent{})
	setBeyondAxis(&chart.Y, beyond)
	beyond.draw(c, lower, chart)
}

// setBeyondAxis makes an axis of times beyond the floor: linear where they
// are of one size, else linear near zero and logarithmic beyond.
func setBeyondAxis(axis *plot.Axis, p timesPanel) {
	e := p.extent(0)
	var medians []costDot
	for _, steps := range p.categories {
		for _, st := range steps {
			if !math.IsNaN(st.median) {
				medians = append(medians, costDot{value: st.median})
			}
		}
	}
	typical := typicalSize(medians)
	axis.Label.Text = "time beyond down-after, linear"
	axis.Tick.Marker = linearTicks{most: 7, label: signedDurationTick}
	if math.Max(e.hi, -e.lo) < 15*typical || typical == 0 {
		e.add(e.lo+1e6, e.hi)
		e = e.paddedOn(identity, identity, 0.09)
	} else {
		scale := signedScale{linear: math.Pow10(int(math.Floor(math.Log10(typical))))}
		e = e.paddedOn(scale.apply, scale.undo, 0.09)
		axis.Scale = scale
		axis.Tick.Marker = signedTicks{most: 9, linear: scale.linear, label: signedDurationTick}
		axis.Label.Text = "beyond down-after, linear to " + durationTick(scale.linear) + ", then log"
	}
	axis.Min, axis.Max = e.lo, e.hi
}

// extent is the range of a panel's times and of the given ones.
func (p timesPanel) extent(also ...float64) extent {
	e := newExtent()
	e.add(also...)
	for _, steps := range p.categories {
		for _, st := range steps {
			e.add(st.trials...)
			e.add(st.median, st.low, st.high)
		}
	}
	return e
}

// chart makes the gonum plot of a panel, in which a category is 1 wide.
func (p timesPanel) chart(e extent) *plot.Plot {
	chart := newPlot()
	chart.Add(&plotter.Grid{Horizontal: line(0.5, gridGrey)}, timesMarks(p))
	chart.X.Min, chart.X.Max = 0, float64(len(p.categories))
	chart.X.Tick.Marker = plot.ConstantTicks(nil)
	chart.Y.Min, chart.Y.Max = e.lo, e.hi
	return chart
}

// draw draws a panel, names its categories below and its steps at the right.
func (p timesPanel) draw(c draw.Canvas, area vg.Rectangle, chart *plot.Plot) {
	put(c, bold(textStyle(panelSize, ink)), area.Min.X, area.Max.Y+6, p.title)
	data := place(chart, c, area)
	x, y := chart.Transforms(&data)
	tick, label := aligned(textStyle(tickSize, ink), draw.XCenter), aligned(textStyle(labelSize, softInk), draw.XCenter)
	for i, name := range p.names {
		put(c, tick, x(float64(i)+0.5), area.Min.Y-13, name)
		if i > 0 {
			c.StrokeLine2(line(0.5, gridGrey), x(float64(i)), area.Min.Y, x(float64(i)), area.Max.Y)
		}
	}
	put(c, label, (area.Min.X+area.Max.X)/2, area.Min.Y-26, "Sentinel's down-after")
	put(c, textStyle(smallSize, softInk), area.Min.X+4, y(p.floors[0])-9, "floor: down-after")
	p.nameSteps(c, area, x, y)
}

// nameSteps names the steps beside the last category, at the height of their
// medians there.
func (p timesPanel) nameSteps(c draw.Canvas, area vg.Rectangle, x, y func(float64) vg.Length) {
	last := len(p.categories) - 1
	var ends []vg.Point
	var shown []int
	for i, st := range p.categories[last] {
		if !math.IsNaN(st.median) {
			ends = append(ends, vg.Point{X: x(timesAt(last, i)) + p.barWidth(area.Size().X)/2, Y: y(st.median)})
			shown = append(shown, i)
		}
	}
	want := make([]vg.Length, len(ends))
	for i, end := range ends {
		want[i] = end.Y
	}
	for i, at := range spread(want, 12.5, area.Min.Y+4, area.Max.Y-4) {
		key := area.Max.X + 24
		c.StrokeLine2(line(0.4, midGrey), ends[i].X, ends[i].Y, key-6, at)
		look := stepLooks[shown[i]]
		c.DrawGlyph(draw.GlyphStyle{Color: look.color, Radius: 2.8, Shape: look.shape}, vg.Point{X: key, Y: at})
		text := look.name + ", " + signedOrNot(p, p.categories[last][shown[i]].median)
		putMiddle(c, textStyle(smallSize, ink), key+10, at, text)
	}
}

// signedOrNot prints a time of a panel.
func signedOrNot(p timesPanel, ns float64) string {
	text := results.FormatDuration(int64(math.Round(ns)))
	if p.floors[0] == 0 && ns > 0 {
		return "+" + text
	}
	return text
}

// timesFloor is the line of the floor.
var timesFloor = dashed(1.2, softInk, 4, 2)

// timesAt is where a step stands within a category.
func timesAt(category, step int) float64 {
	return float64(category) + (float64(step)+1)/float64(len(stepLooks)+1)
}

// barWidth is the width of a step's median in a panel that is so wide.
func (p timesPanel) barWidth(panel vg.Length) vg.Length {
	slot := panel / vg.Length(len(p.categories)*(len(stepLooks)+1))
	return min(slot*0.8, 26)
}

// timesMarks draws the floors, the trials and the medians.
type timesMarks timesPanel

// Plot implements plot.Plotter.
func (m timesMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, steps := range m.categories {
		c.StrokeLine2(timesFloor, x(float64(i)), y(m.floors[i]), x(float64(i+1)), y(m.floors[i]))
		width := timesPanel(m).barWidth(c.Size().X)
		for _, st := range steps {
			m.drawStep(c, st, x(timesAt(i, st.step)), width, y)
		}
	}
}

// drawStep draws one step around x, with its trials side by side in their
// order.
func (m timesMarks) drawStep(c draw.Canvas, st stepTime, x, width vg.Length, y func(float64) vg.Length) {
	drawMedian(c, st, x, width, y)
	look := stepLooks[st.step]
	glyph := draw.GlyphStyle{Color: look.color, Radius: 1.7, Shape: look.shape}
	for i, ns := range st.trials {
		at := x
		if n := len(st.trials); n > 1 {
			at += width * (vg.Length(i)/vg.Length(n-1) - 0.5) * 0.8
		}
		c.DrawGlyph(glyph, vg.Point{X: at, Y: y(ns)})
	}
}

// drawMedian draws a step's median as a bar, and its interval.
func drawMedian(c draw.Canvas, st stepTime, x, width vg.Length, y func(float64) vg.Length) {
	if math.IsNaN(st.median) {
		return
	}
	c.StrokeLine2(line(1.6, ink), x-width/2, y(st.median), x+width/2, y(st.median))
	if math.IsNaN(st.low) || math.IsNaN(st.high) {
		return
	}
	c.StrokeLine2(line(0.8, ink), x, y(st.low), x, y(st.high))
	for _, end := range []float64{st.low, st.high} {
		c.StrokeLine2(line(0.8, ink), x-2.5, y(end), x+2.5, y(end))
	}
}
