package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// draw draws the legend, the bars and the table.
func (b resourceBody) draw(c draw.Canvas) {
	if len(b.rows) == 0 {
		putNothing(c)
		return
	}
	top := c.Max.Y - resourceHead
	b.stack.draw(c, top)
	for row, r := range b.rows {
		name := r.name()
		write(c, name, c.Min.X+3, top-b.stack.middle(row)+heightOf(name)/2)
	}
	b.drawLegend(c)
	left := c.Min.X + resourceNames
	b.drawBars(c, left, resourceCPU, top, b.cpu, "CPU time", durationTick, func(v float64) string {
		return results.FormatDuration(int64(math.Round(v)))
	})
	left += resourceCPU + resourceTotal + 8
	b.drawBars(c, left, resourceBytes, top, b.bytes, "network bytes", byteTick, byteText)
	b.drawTable(c, top)
}

// drawLegend shows the fills that occur.
func (b resourceBody) drawLegend(c draw.Canvas) {
	style := textStyle(smallSize, ink)
	at := vg.Point{X: c.Min.X + 3, Y: c.Max.Y - 7}
	for _, side := range []struct {
		name  string
		bars  []resourceBar
		fills []resourceFill
	}{{"CPU time:", b.cpu, append(slices.Clone(resourceFills), otherServers)}, {"Bytes:", b.bytes, byteFills}} {
		put(c, bold(style), at.X, at.Y-3, side.name)
		at.X += bold(style).Width(side.name) + 8
		for _, fill := range side.fills {
			if !occurs(fill, side.bars) {
				continue
			}
			drawFill(c, fill, vg.Rectangle{Min: vg.Point{X: at.X, Y: at.Y - 4.5}, Max: vg.Point{X: at.X + 14, Y: at.Y + 4.5}})
			putMiddle(c, style, at.X+18, at.Y, fill.name)
			at.X += 30 + style.Width(fill.name)
		}
		at = vg.Point{X: c.Min.X + 3, Y: at.Y - 15}
	}
}

func occurs(fill resourceFill, bars []resourceBar) bool {
	return slices.ContainsFunc(bars, func(b resourceBar) bool {
		return slices.ContainsFunc(b.parts, func(p resourcePart) bool { return p.fill.name == fill.name })
	})
}

// drawBars draws one panel of bars with a number beside each.
func (b resourceBody) drawBars(c draw.Canvas, left, width, top vg.Length, bars []resourceBar, title string,
	tick, text func(float64) string,
) {
	area := vg.Rectangle{Min: vg.Point{X: left, Y: top - b.stack.height}, Max: vg.Point{X: left + width, Y: top}}
	longest := 0.0
	for _, bar := range bars {
		longest = max(longest, bar.total)
	}
	chart := newPlot()
	chart.Add(resourceBars{b.stack, bars})
	chart.X.Min, chart.X.Max = 0, max(longest, 1)*1.03
	makeRoom(&chart.X, linearTicks{most: max(3, int(width/36)), label: tick}, width)
	chart.X.Label.Text = "for each operation, linear"
	if width < 120 {
		chart.X.Label.Text = "each, linear"
	}
	chart.Y.Min, chart.Y.Max = 0, float64(b.stack.height)
	chart.Y.LineStyle.Width = 0
	chart.Y.Tick.Marker = plot.ConstantTicks(nil)
	place(chart, c, area)
	put(c, bold(textStyle(panelSize, ink)), left, top+6, title)
	style := aligned(textStyle(smallSize, ink), draw.XRight)
	for row, bar := range bars {
		value := "–"
		if bar.total > 0 {
			value = text(bar.total)
			if bar.lacks {
				value = "≥ " + value
			}
		}
		putMiddle(c, style, area.Max.X+resourceTotal, top-b.stack.middle(row), value)
	}
}

// byteTick and byteText print bytes, in kB of 1,000.
func byteTick(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 1000:
		return plainNumber(v/1000) + " kB"
	}
	return plainNumber(v) + " B"
}

func byteText(v float64) string {
	if v >= 999.5 {
		return fmt.Sprintf("%.2f kB", v/1000)
	}
	return fmt.Sprintf("%.0f B", v)
}

// drawTable writes the numbers at the right.
func (b resourceBody) drawTable(c draw.Canvas, top vg.Length) {
	style := aligned(textStyle(smallSize, ink), draw.XRight)
	right := c.Max.X - 2 - vg.Length(len(resourceTable)-1)*resourceColumn
	for _, column := range resourceTable {
		for i, head := range column.head {
			put(c, bold(style), right, top+6+vg.Length(1-i)*leading(smallSize), head)
		}
		for row, r := range b.rows {
			putMiddle(c, style, right, top-b.stack.middle(row), r.cell(column.ledger, column.of))
		}
		right += resourceColumn
	}
}

// resourceBars draws the stacks.
type resourceBars struct {
	stack stack
	bars  []resourceBar
}

// Plot implements plot.Plotter.
func (b resourceBars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for row, bar := range b.bars {
		middle, from := y(b.stack.onAxis(row)), 0.0
		b.drawGrid(c, p, middle-b.stack.heights[row]/2, middle+b.stack.heights[row]/2)
		for _, part := range bar.parts {
			drawFill(c, part.fill, vg.Rectangle{
				Min: vg.Point{X: x(from), Y: middle - 6.5},
				Max: vg.Point{X: x(from + part.value), Y: middle + 6.5},
			})
			from += part.value
		}
	}
}

// drawGrid draws the grid of one row, so that none lies over a heading.
func (b resourceBars) drawGrid(c draw.Canvas, p *plot.Plot, bottom, top vg.Length) {
	x, _ := p.Transforms(&c)
	for _, tick := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		c.StrokeLine2(line(0.5, gridGrey), x(tick.Value), bottom, x(tick.Value), top)
	}
	c.StrokeLine2(line(0.6, softInk), x(0), bottom, x(0), top)
}
