package plots

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// windowPoint is a percentile of the visible time, in nanoseconds.
type windowPoint struct {
	name  string
	value float64
	color color.Color
	shape draw.GlyphDrawer
}

// Measures of the window figure, in points.
const (
	windowNames   vg.Length = 128
	windowGap     vg.Length = 22
	windowNumbers vg.Length = 104 // right of the shares
	windowHead    vg.Length = 22
	windowLegend  vg.Length = 20
	windowRow     vg.Length = 27 // height of a row, at least
	windowFoot    vg.Length = 34
)

// windowPage draws how long a granted lock is on the primary alone, and how
// often a crash therefore loses one.
func windowPage(f faults) ([]page, string) {
	windows := f.record.Windows
	if len(windows) == 0 {
		return nil, "the replication window was not measured"
	}
	grants := windows[0].Visible.Count
	most := grants
	for _, w := range windows {
		grants, most = min(grants, w.Visible.Count), max(most, w.Visible.Count)
	}
	samples := grouped(grants) + " to " + grouped(most) + " grants a row"
	if grants == most {
		samples = grouped(grants) + " grants a row"
	}
	body := windowBody(windows)
	return []page{{
		title: "The replication window, and the grants that a crash loses in it",
		subtitle: []string{joined(separator, samples, measuredTrials(windows)), f.place(),
			"Visible: from the reply that grants the lock to the key being on the replica, 0 where it was there before the reply. " +
				"Predicted: the share of crashes with a grant not yet visible, 1 − exp(−rate × mean), for Poisson arrivals, " +
				"if a crash lost all that is on its way. What a process has sent before it dies still arrives, though."},
		notes: present([]string{earlyNote(windows),
			"Measured: the share of crashes in " + mainScenario + " at the same rate of grants and round trip that lost a grant, with its 95 % interval (Clopper and Pearson)."}),
		height: body.height(),
		body:   body.draw,
	}}, ""
}

// measuredTrials says how many crashes stand behind a measured share.
func measuredTrials(windows []results.Window) string {
	least, most := math.MaxInt, 0
	for _, w := range windows {
		if w.Measured != nil {
			least, most = min(least, w.Measured.Of), max(most, w.Measured.Of)
		}
	}
	switch {
	case most == 0:
		return "no crashes at these rates"
	case least == most:
		return counted(most, "trial") + " a measured share"
	}
	return fmt.Sprintf("%d to %s a measured share", least, counted(most, "trial"))
}

// earlyNote says how many grants were visible before their reply.
func earlyNote(windows []results.Window) string {
	var early, all int64
	for _, w := range windows {
		early, all = early+w.Early, all+w.Visible.Count
	}
	if early == 0 || all == 0 {
		return ""
	}
	return fmt.Sprintf("Visible before the reply, so that nothing could have lost them: %s of %s grants.", grouped(early), grouped(all))
}

// windowBody is the body of the window figure.
type windowBody []results.Window

func (b windowBody) height() vg.Length {
	return windowLegend + windowHead + vg.Length(len(b))*b.rowHeight() + windowFoot
}

// windowPoints are the percentiles that a window has.
func windowPoints(w results.Window) []windowPoint {
	all := []windowPoint{
		{"P50", knownNS(w.Visible.P50NS), blue, draw.CircleGlyph{}},
		{"P90", knownNS(w.Visible.P90NS), orange, draw.BoxGlyph{}},
		{"P99", knownNS(w.Visible.P99NS), vermillion, draw.PyramidGlyph{}},
	}
	return all
}

// draw draws the rows: names, visible times, shares, and shares in numbers.
func (b windowBody) draw(c draw.Canvas) {
	top, row := c.Max.Y-windowLegend-windowHead, b.rowHeight()
	bottom := top - vg.Length(len(b))*row
	width := (c.Size().X - windowNames - windowGap - windowNumbers) / 2
	times := vg.Rectangle{
		Min: vg.Point{X: c.Min.X + windowNames, Y: bottom},
		Max: vg.Point{X: c.Min.X + windowNames + width, Y: top},
	}
	shares := times
	shares.Min.X, shares.Max.X = times.Max.X+windowGap, times.Max.X+windowGap+width
	for i, w := range b {
		y := top - (vg.Length(i)+0.5)*row
		if i%2 == 0 {
			c.SetColor(bandGrey)
			c.Fill(vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: y - row/2}, Max: vg.Point{X: c.Max.X, Y: y + row/2}}.Path())
		}
		name := windowName(w)
		write(c, name, c.Min.X+3, y+heightOf(name)/2)
		drawWindowNumbers(c, y, w)
	}
	b.drawLegend(c, times.Min.X, shares.Min.X)
	head := bold(textStyle(panelSize, ink))
	put(c, head, times.Min.X, top+6, "Time to be visible")
	put(c, head, shares.Min.X, top+6, "Crashes that lose a grant")
	place(b.timesChart(times.Size().X), c, times)
	place(b.sharesChart(shares.Size().X), c, shares)
}

// windowName labels a row: the path, its options, and what the row is of.
func windowName(w results.Window) []paragraph {
	const width = windowNames - 8
	small := textStyle(smallSize, softInk)
	path, options, _ := strings.Cut(w.Path, ":")
	name := []paragraph{wrapped(bold(textStyle(labelSize, ink)), path, width)}
	for _, detail := range present([]string{
		strings.ReplaceAll(options, ":", ", "),
		plainNumber(w.RatePerS) + " grants/s, replica at " + distanceTick(w.ReplicaRTT),
	}) {
		name = append(name, wrapped(small, detail, width))
	}
	return name
}

// rowHeight is the height of every row.
func (b windowBody) rowHeight() vg.Length {
	height := windowRow
	for _, w := range b {
		height = max(height, heightOf(windowName(w))+4)
	}
	return height
}

// drawWindowNumbers prints a row's shares.
func drawWindowNumbers(c draw.Canvas, y vg.Length, w results.Window) {
	style := aligned(textStyle(smallSize, ink), draw.XRight)
	putMiddle(c, style, c.Max.X-4, y+5.5, "predicted "+shareText(w.PredictedLoss))
	measured := "not measured"
	if w.Measured != nil {
		measured = fmt.Sprintf("measured %d/%d", w.Measured.Trials, w.Measured.Of)
	} else {
		style.Color = softInk
	}
	putMiddle(c, style, c.Max.X-4, y-5.5, measured)
}

// shareText prints a share to two digits.
func shareText(share float64) string {
	switch p := 100 * share; {
	case p == 0:
		return "0 %"
	case p < 0.01:
		return "< 0.01 %"
	case p < 10:
		return fmt.Sprintf("%.2g %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// drawLegend shows the marks of both panels.
func (b windowBody) drawLegend(c draw.Canvas, times, shares vg.Length) {
	y := c.Max.Y - windowLegend/2
	style := textStyle(smallSize, ink)
	key := func(x vg.Length, name string, clr color.Color, shape draw.GlyphDrawer) vg.Length {
		c.DrawGlyph(draw.GlyphStyle{Color: clr, Radius: 3, Shape: shape}, vg.Point{X: x + 4, Y: y})
		putMiddle(c, style, x+11, y, name)
		return x + 11 + style.Width(name) + 9
	}
	x := times
	for _, pt := range windowPoints(b[0]) {
		x = key(x, pt.name, pt.color, pt.shape)
	}
	c.StrokeLine2(windowRange, x, y, x+12, y)
	putMiddle(c, style, x+16, y, "range")
	x = key(shares, "predicted", blue, draw.RingGlyph{})
	key(x, "measured, 95 % interval", black, draw.BoxGlyph{})
}

// windowRange is the line from the least to the greatest visible time.
var windowRange = line(1, midGrey)

// timesChart makes the plot of the visible times.
func (b windowBody) timesChart(width vg.Length) *plot.Plot {
	chart := b.chart(windowTimes(b))
	e := newExtent()
	e.add(0, 1e5)
	for _, w := range b {
		e.add(float64(w.Visible.MinNS), float64(w.Visible.MaxNS))
		for _, pt := range windowPoints(w) {
			e.add(pt.value)
		}
	}
	scale := signedScale{linear: 1e4}
	e = extent{lo: 0, hi: scale.undo(scale.apply(e.hi) * 1.05)}
	chart.X.Min, chart.X.Max, chart.X.Scale = e.lo, e.hi, scale
	chart.X.Label.Text = "time, linear to 10 µs, then log"
	makeRoom(&chart.X, signedTicks{most: 9, linear: scale.linear, label: durationTick}, width)
	return chart
}

// sharesChart makes the plot of the shares.
func (b windowBody) sharesChart(width vg.Length) *plot.Plot {
	chart := b.chart(windowShares(b))
	scale := signedScale{linear: 0.01}
	chart.X.Min, chart.X.Max, chart.X.Scale = 0, 1.05, scale
	chart.X.Label.Text = "share, linear to 1 %, then log"
	makeRoom(&chart.X, signedTicks{most: 9, linear: scale.linear, label: percentTick}, width)
	return chart
}

// chart makes a plot in which a row is 1 high, and the first is on top.
func (b windowBody) chart(marks plot.Plotter) *plot.Plot {
	chart := newPlot()
	chart.Add(&plotter.Grid{Vertical: line(0.5, gridGrey)}, marks)
	chart.Y.Min, chart.Y.Max = 0, float64(len(b))
	chart.Y.LineStyle.Width = 0
	chart.Y.Tick.Marker = plot.ConstantTicks(nil)
	return chart
}

// windowTimes draws the visible times, windowShares the shares.
type (
	windowTimes  windowBody
	windowShares windowBody
)

// Plot implements plot.Plotter.
func (b windowTimes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, w := range b {
		at := y(float64(len(b)-i) - 0.5)
		if w.Visible.Count > 0 {
			c.StrokeLine2(windowRange, x(float64(w.Visible.MinNS)), at, x(float64(w.Visible.MaxNS)), at)
		}
		for _, pt := range windowPoints(w) {
			if !math.IsNaN(pt.value) {
				c.DrawGlyph(draw.GlyphStyle{Color: pt.color, Radius: 3, Shape: pt.shape}, vg.Point{X: x(pt.value), Y: at})
			}
		}
	}
}

// Plot implements plot.Plotter.
func (b windowShares) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, w := range b {
		at := y(float64(len(b)-i) - 0.5)
		c.DrawGlyph(draw.GlyphStyle{Color: blue, Radius: 3.2, Shape: draw.RingGlyph{}}, vg.Point{X: x(w.PredictedLoss), Y: at + 4})
		if m := w.Measured; m != nil && m.Of > 0 {
			drawInterval(c, black, x(m.Low), x(m.High), at-4)
			share := float64(m.Trials) / float64(m.Of)
			c.DrawGlyph(draw.GlyphStyle{Color: black, Radius: 2.6, Shape: draw.BoxGlyph{}}, vg.Point{X: x(share), Y: at - 4})
		}
	}
}
