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

// variedShapes tell paths apart without colour, with their dashes.
var variedShapes = []struct{ filled, hollow draw.GlyphDrawer }{
	{draw.CircleGlyph{}, draw.RingGlyph{}},
	{draw.BoxGlyph{}, draw.SquareGlyph{}},
	{draw.PyramidGlyph{}, draw.TriangleGlyph{}},
}

// draw draws the panels below each other.
func (b rttBody) draw(c draw.Canvas) {
	top := c.Max.Y
	for _, p := range b.panels {
		if len(p.curves) == 0 {
			continue
		}
		height := b.panelHeight(p)
		area := vg.Rectangle{
			Min: vg.Point{X: c.Min.X + rttAxis, Y: top - rttHead - height},
			Max: vg.Point{X: c.Max.X - rttLabels, Y: top - rttHead},
		}
		b.drawPanel(c, area, p)
		top -= rttHead + height + rttFoot
	}
}

func (b rttBody) drawPanel(c draw.Canvas, area vg.Rectangle, p variedPanel) {
	put(c, bold(textStyle(panelSize, ink)), area.Min.X, area.Max.Y+6, p.span+" "+p.percentile.Title())
	chart := newPlot()
	chart.Add(&plotter.Grid{Vertical: line(0.5, gridGrey), Horizontal: line(0.5, gridGrey)}, variedMarks{p, b.at, true})
	far := p.values[len(p.values)-1].Number
	chart.X.Min, chart.X.Max = 0, math.Max(far, 1e3)*1.03
	makeRoom(&chart.X, valueTicks(p.values), area.Size().X)
	chart.X.Label.Text = b.axis + ", linear"
	label := durationTick
	if p.cost {
		label = signedDurationTick
	}
	e := p.extent()
	e.add(0, 1e3)
	e = e.paddedOn(identity, identity, 0.06)
	chart.Y.Min, chart.Y.Max = e.lo, e.hi
	chart.Y.Tick.Marker = linearTicks{most: max(4, min(9, int(area.Size().Y/22))), label: label}
	chart.Y.Label.Text = b.value + ", linear"
	data := place(chart, c, area)
	x, y := chart.Transforms(&data)
	b.nameCurves(c, area, p, x, y)
}

// at is where a value lies on the axis.
func (b rttBody) at(v results.Value) float64 { return v.Number }

// extent is the range of the dots and their intervals.
func (p variedPanel) extent() extent {
	e := newExtent()
	for _, curve := range p.curves {
		for _, dot := range curve.dots {
			e.add(dot.ns, dot.low, dot.high)
		}
	}
	return e
}

// valueTicks mark the values that were measured: none and the greatest first,
// as they must be seen.
func valueTicks(values []results.Value) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for i := len(values) - 1; i >= 0; i-- {
		ticks = append(ticks, plot.Tick{Value: values[i].Number, Label: distanceTick(int64(values[i].Number))})
	}
	if values[0].Number == 0 && len(ticks) > 1 {
		none := ticks[len(ticks)-1]
		ticks = append(plot.ConstantTicks{none}, ticks[:len(ticks)-1]...)
	}
	return ticks
}

// variedMarks draws the dots of a panel, and its lines: fitted, or from dot to
// dot.
type variedMarks struct {
	panel  variedPanel
	at     func(results.Value) float64
	fitted bool
}

// Plot implements plot.Plotter.
func (m variedMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	if m.panel.cost {
		c.StrokeLine2(line(1, softInk), c.Min.X, y(0), c.Max.X, y(0))
	}
	for i, curve := range m.panel.curves {
		var joining []vg.Point
		switch {
		case m.fitted && curve.line != nil:
			for _, at := range []float64{p.X.Min, curve.dots[len(curve.dots)-1].Number} {
				joining = append(joining, vg.Point{X: x(at), Y: y(curve.line.InterceptNS + curve.line.Slope*at)})
			}
		case !m.fitted:
			for _, dot := range curve.dots {
				joining = append(joining, vg.Point{X: x(m.at(dot.Value)), Y: y(dot.ns)})
			}
		}
		for _, part := range c.ClipLinesXY(joining) {
			c.StrokeLines(curve.look.stroke(1.2), part)
		}
		for _, dot := range curve.dots {
			drawVaried(c, dot, curve.look.color, i, vg.Point{X: x(m.at(dot.Value)), Y: y(dot.ns)}, y)
		}
	}
}

// drawVaried draws a dot and its interval; a doubtful one is hollow, and one
// that is a bound has an arrow.
func drawVaried(c draw.Canvas, dot variedDot, clr color.Color, nth int, at vg.Point, y func(float64) vg.Length) {
	if !math.IsNaN(dot.low) {
		c.StrokeLine2(line(1, clr), at.X, y(dot.low), at.X, y(dot.high))
		for _, end := range []float64{dot.low, dot.high} {
			c.StrokeLine2(line(1, clr), at.X-2.2, y(end), at.X+2.2, y(end))
		}
	}
	const radius = 2.7
	shape := variedShapes[nth%len(variedShapes)]
	if dot.doubtful {
		c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: radius, Shape: shape.filled}, at)
		c.DrawGlyph(draw.GlyphStyle{Color: clr, Radius: radius, Shape: shape.hollow}, at)
	} else {
		c.DrawGlyph(draw.GlyphStyle{Color: clr, Radius: radius, Shape: shape.filled}, at)
	}
	arrow := func(way vg.Length) {
		tip := vg.Point{X: at.X, Y: at.Y + 9*way}
		c.StrokeLine2(line(0.9, clr), at.X, at.Y+3*way, tip.X, tip.Y)
		c.StrokeLines(line(0.9, clr), []vg.Point{{X: tip.X - 2, Y: tip.Y - 3*way}, tip, {X: tip.X + 2, Y: tip.Y - 3*way}})
	}
	if dot.bound == results.BoundLower || dot.bound == results.BoundUnknown {
		arrow(1)
	}
	if dot.bound == results.BoundUpper || dot.bound == results.BoundUnknown {
		arrow(-1)
	}
}

// nameCurves names the paths beside their last dots, with the formula of the
// line.
func (b rttBody) nameCurves(c draw.Canvas, area vg.Rectangle, p variedPanel, x, y func(float64) vg.Length) {
	placed := placeNames(p, area, rttLabel, y)
	key := area.Max.X + 14
	small := textStyle(7.5, softInk)
	for i, curve := range p.curves {
		leadTo(c, p, i, vg.Point{X: key, Y: placed[i] + 9}, b.at, x, y)
		name := bold(textStyle(smallSize, ink))
		putMiddle(c, name, key+26, placed[i]+9, shortened(name, curve.name, rttLabels-42))
		start, slope := "no line", ""
		if curve.line != nil {
			start, slope = formula(curve.line)
		}
		putMiddle(c, small, key+26, placed[i]-1, start)
		putMiddle(c, small, key+26, placed[i]-10.5, slope)
	}
}

// placeNames are the heights of the paths' names, near their last dots.
func placeNames(p variedPanel, area vg.Rectangle, gap vg.Length, y func(float64) vg.Length) []vg.Length {
	want := make([]vg.Length, len(p.curves))
	for i, curve := range p.curves {
		want[i] = y(curve.dots[len(curve.dots)-1].ns)
	}
	return spread(want, gap, area.Min.Y+gap/2, area.Max.Y-gap/2)
}

// leadTo draws a line from a curve's last dot to its key, and the key.
func leadTo(c draw.Canvas, p variedPanel, i int, key vg.Point, at func(results.Value) float64, x, y func(float64) vg.Length) {
	curve := p.curves[i]
	last := curve.dots[len(curve.dots)-1]
	c.StrokeLine2(line(0.5, midGrey), x(at(last.Value))+4, y(last.ns), key.X-2, key.Y)
	c.StrokeLine2(curve.look.stroke(1.2), key.X, key.Y, key.X+22, key.Y)
	c.DrawGlyph(draw.GlyphStyle{Color: curve.look.color, Radius: 2.7, Shape: variedShapes[i%len(variedShapes)].filled},
		vg.Point{X: key.X + 11, Y: key.Y})
}
