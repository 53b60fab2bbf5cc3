package plots

import (
	"image/color"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// costGrid is the body of the cost figure: path names on the left, then the
// panels, ratios above differences. Where rows are many there are panels of
// ratios alone, and differences are numbers.
type costGrid struct {
	study  *study
	rows   []series
	panels []costPanel
	stack  stack
	slot   vg.Length // height of one percentile
}

// newCostGrid makes the rows high enough for their dots and names: all of them
// equally high, but where they are many.
func newCostGrid(s *study) costGrid {
	groups := byKind(s.paths())
	rows := flat(groups)
	g := costGrid{study: s, rows: rows, panels: s.costPanels(rows), slot: costSlot}
	if g.tight() {
		g.slot = costTight
	}
	least := vg.Length(len(costPercentiles))*g.slot + costRowPad
	g.stack = newStack(groups, func(one series) vg.Length { return max(least, heightOf(g.name(one))+4) })
	if !g.tight() {
		g.stack = g.stack.equal()
	}
	return g
}

// tight says whether the rows are many.
func (g costGrid) tight() bool { return len(g.rows) > manyRows }

// tiers is how many panels stand below each other.
func (g costGrid) tiers() int {
	if g.tight() {
		return 1
	}
	return 2
}

func (g costGrid) columns() int { return max(1, len(g.panels)/g.tiers()) }

// numbers is the width of what stands beside a panel.
func (g costGrid) numbers() vg.Length {
	if g.tight() {
		return costBoth
	}
	return costNumbers
}

// panelHeight is the height of a panel's data.
func (g costGrid) panelHeight() vg.Length { return max(2*costSlot, g.stack.height) }

func (g costGrid) height() vg.Length {
	return costLegend + vg.Length(g.tiers())*(costHead+g.panelHeight()+costFoot)
}

// name labels a row.
func (g costGrid) name(one series) []paragraph {
	return rowName(one, costNames-8, durabilityOf(one), g.remark(one))
}

// draw draws the grid.
func (g costGrid) draw(c draw.Canvas) {
	if len(g.rows) == 0 {
		putNothing(c)
		return
	}
	drawCostLegend(c)
	width := (c.Size().X - costNames) / vg.Length(g.columns())
	for i, p := range g.panels {
		column, tier := i%g.columns(), i/g.columns()
		top := costLegend + vg.Length(tier)*(costHead+g.panelHeight()+costFoot) + costHead
		left := costNames + vg.Length(column)*width
		area := vg.Rectangle{
			Min: vg.Point{X: c.Min.X + left, Y: c.Max.Y - top - g.panelHeight()},
			Max: vg.Point{X: c.Min.X + left + width - g.numbers() - costGap, Y: c.Max.Y - top},
		}
		if column == 0 {
			g.stack.draw(c, area.Max.Y)
			g.drawNames(c, area)
		}
		g.drawPanel(c, area, p)
	}
}

// drawCostLegend shows which shape is which percentile.
func drawCostLegend(c draw.Canvas) {
	x, y := c.Min.X+costNames, c.Max.Y-costLegend/2
	style := textStyle(labelSize, ink)
	for _, p := range costPercentiles {
		c.StrokeLine2(line(1.2, p.color), x-8, y, x+8, y)
		c.DrawGlyph(draw.GlyphStyle{Color: p.color, Radius: 3.2, Shape: p.shape}, vg.Point{X: x, Y: y})
		putMiddle(c, style, x+12, y, p.percentile.Title())
		x += 62
	}
}

// drawNames labels the rows directly.
func (g costGrid) drawNames(c draw.Canvas, area vg.Rectangle) {
	for row, one := range g.rows {
		middle := area.Max.Y - g.stack.middle(row)
		name := g.name(one)
		write(c, name, c.Min.X+3, middle+heightOf(name)/2)
	}
}

// remark is what the reader must know of a row.
func (g costGrid) remark(one series) string {
	switch {
	case one.baseline:
		return "reference: its level at right"
	case g.study.baselineInvalid():
		return "against " + markInvalid + " setnx"
	case isControl(one):
		return "acquire: A/A control"
	default:
		return ""
	}
}

// drawPanel draws one panel's axes, dots and numbers.
func (g costGrid) drawPanel(c draw.Canvas, area vg.Rectangle, p costPanel) {
	chart := g.chart(p, area.Size().X)
	data := place(chart, c, area)
	put(c, bold(textStyle(panelSize, ink)), area.Min.X, area.Max.Y+6, p.title)
	_, y := chart.Transforms(&data)
	numbers := aligned(textStyle(smallSize, ink), draw.XRight)
	right := area.Max.X + costNumbers - 4
	if !p.both {
		right = area.Max.X + costNumbers
	} else {
		heads := aligned(textStyle(smallSize, softInk), draw.XRight)
		put(c, heads, right, area.Max.Y+6, "multiple")
		put(c, heads, area.Max.X+costBoth, area.Max.Y+6, "difference")
	}
	for _, dot := range p.dots {
		putMiddle(c, numbers, right, y(g.position(dot)), dot.text)
		putMiddle(c, numbers, area.Max.X+costBoth, y(g.position(dot)), dot.beside)
	}
	for _, row := range slices.Sorted(maps.Keys(p.blank)) { // in their order: the same record gives the same bytes
		g.drawBlank(c, area, y(g.stack.onAxis(row)), p.blank[row], p.both)
	}
}

// drawBlank says around the given height why a row has no dot: among the dots,
// or among the numbers where these have the room.
func (g costGrid) drawBlank(c draw.Canvas, area vg.Rectangle, at vg.Length, why string, amongNumbers bool) {
	style, x, width := textStyle(smallSize, softInk), area.Min.X+4, area.Size().X-6
	if amongNumbers {
		style, x, width = aligned(style, draw.XRight), area.Max.X+costBoth, costBoth-8
	}
	lines := wrapped(style, why, width).lines
	for i, l := range lines {
		shift := (vg.Length(len(lines)-1)/2 - vg.Length(i)) * leading(smallSize)
		putMiddle(c, style, x, at+shift, l)
	}
}

// position is where a dot lies on the panel's vertical axis, which runs from
// 0 at its foot in points.
func (g costGrid) position(dot costDot) float64 {
	return g.stack.onAxis(dot.row) + (float64(len(costPercentiles)-1)/2-float64(dot.slot))*float64(g.slot)
}

// chart makes the gonum plot of a panel whose data are width points wide.
func (g costGrid) chart(p costPanel, width vg.Length) *plot.Plot {
	chart := newPlot()
	chart.Add(&plotter.Grid{Vertical: line(0.5, gridGrey)}, costMarks{grid: g, panel: p})
	chart.Y.Min, chart.Y.Max = 0, float64(g.panelHeight())
	chart.Y.LineStyle.Width = 0
	chart.Y.Tick.Marker = plot.ConstantTicks(nil)
	if p.ratio {
		setRatioAxis(&chart.X, p.dots)
	} else {
		setDifferenceAxis(&chart.X, p.dots)
	}
	makeRoom(&chart.X, chart.X.Tick.Marker, width)
	return chart
}

// costExtent is the range of the dots and their intervals.
func costExtent(dots []costDot, reference float64) extent {
	e := newExtent()
	e.add(reference)
	for _, dot := range dots {
		e.add(dot.value, dot.low, dot.high)
	}
	return e
}

// setRatioAxis makes an axis of multiples.
func setRatioAxis(axis *plot.Axis, dots []costDot) {
	e := costExtent(dots, 1).logPadded(1.05)
	axis.Min, axis.Max = e.lo, e.hi
	axis.Scale = logScale{}
	axis.Tick.Marker = logTicks{most: 7, label: ratioTick}
	axis.Label.Text = "multiple of setnx (×), logarithmic"
}

// setDifferenceAxis makes an axis of differences: linear where they are of
// one size, else linear near zero and logarithmic beyond.
func setDifferenceAxis(axis *plot.Axis, dots []costDot) {
	e := costExtent(dots, 0)
	e.add(-1e3, 1e3)
	typical := typicalSize(dots)
	if math.Max(e.hi, -e.lo) < 40*typical || typical == 0 {
		e = e.paddedOn(identity, identity, 0.05)
		axis.Tick.Marker = linearTicks{most: 5, label: signedDurationTick}
		axis.Label.Text = "difference from setnx (time), linear"
	} else {
		linear := math.Pow10(int(math.Round(math.Log10(math.Max(typical, 1e3)))))
		scale := signedScale{linear: linear}
		e = e.paddedOn(scale.apply, scale.undo, 0.05)
		axis.Scale = scale
		axis.Tick.Marker = signedTicks{most: 9, linear: linear, label: signedDurationTick}
		axis.Label.Text = "difference, linear to ±" + durationTick(linear) + ", then log"
	}
	axis.Min, axis.Max = e.lo, e.hi
}

// typicalSize is the lower quartile of the differences' sizes, in nanoseconds:
// what an axis must be able to show, whatever the dearest path costs.
func typicalSize(dots []costDot) float64 {
	var sizes []float64
	for _, dot := range dots {
		if dot.value != 0 {
			sizes = append(sizes, math.Abs(dot.value))
		}
	}
	if len(sizes) == 0 {
		return 0
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/4]
}

func identity(v float64) float64 { return v }

// costMarks draws the reference line, the intervals and the dots.
type costMarks struct {
	grid  costGrid
	panel costPanel
}

// Plot implements plot.Plotter.
func (m costMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	reference := 0.0
	if m.panel.ratio {
		reference = 1
	}
	c.StrokeLine2(draw.LineStyle{Color: softInk, Width: 1, Dashes: []vg.Length{3, 2}},
		x(reference), c.Min.Y, x(reference), c.Max.Y)
	for _, dot := range m.panel.dots {
		at := vg.Point{X: x(dot.value), Y: y(m.grid.position(dot))}
		how := costPercentiles[dot.slot]
		if !math.IsNaN(dot.low) {
			drawInterval(c, how.color, x(dot.low), x(dot.high), at.Y)
		}
		shape := how.shape
		if dot.doubtful {
			c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: 3.2, Shape: shape}, at)
			shape = how.hollow
		}
		c.DrawGlyph(draw.GlyphStyle{Color: how.color, Radius: 3.2, Shape: shape}, at)
	}
}

// drawInterval draws a line with ends from lo to hi.
func drawInterval(c draw.Canvas, clr color.Color, lo, hi, y vg.Length) {
	style := line(1.2, clr)
	c.StrokeLine2(style, lo, y, hi, y)
	for _, x := range []vg.Length{lo, hi} {
		c.StrokeLine2(style, x, y-2.2, x, y+2.2)
	}
}
