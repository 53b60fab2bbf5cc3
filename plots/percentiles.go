package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// curve is one line of the percentiles figure.
type curve struct {
	label  string
	aside  string // what must be known of it, in brackets behind the label
	look   look
	mark   string
	floor  bool
	idle   bool // does no work: the instrument's own bottom
	points []point

	reference bool             // setnx among paths of another kind
	shape     draw.GlyphDrawer // of marks at the percentiles that have names; nil for none
}

// Measures of the percentiles figure, in points.
const (
	curveAxis  vg.Length = 54 // left of the data
	curveHead  vg.Length = 20
	curveFoot  vg.Length = 36
	curveLeast vg.Length = 200 // height of a panel's data
	curveEmpty vg.Length = 24  // the same where there are none
	labelGap   vg.Length = 12.5
	labelKey   vg.Length = 38 // from the data to a label's text
	labelMost  vg.Length = 290
)

// curvePanel is the response of one span.
type curvePanel struct {
	title   string
	unnamed bool // the axis of percentiles is named below another panel
	curves  []curve
	latency extent    // of the axis, in nanoseconds
	least   vg.Length // height of the data, where panels differ in it
	end     float64   // the quantile that the other axis reaches at least
}

// newCurvePanel makes a panel with an axis that suits its own curves.
func newCurvePanel(title string, curves []curve) curvePanel {
	return curvePanelOn(title, curves, latencyAxis(curves))
}

// latencyAxis chooses an axis. Null answers in less than a microsecond: an
// axis down to there would squeeze the paths into a band, so it starts a
// little below the others, and null is given in words where it is under it.
func latencyAxis(curves []curve) extent {
	all, working := newExtent(), newExtent()
	for _, one := range curves {
		for _, pt := range one.points {
			all.add(float64(pt.ns))
			if !one.idle {
				working.add(float64(pt.ns))
			}
		}
	}
	latency := all.logPadded(1.15)
	if !working.empty() {
		latency.lo = max(latency.lo, working.lo/3)
	}
	return latency
}

// curvePanelOn makes a panel with the given axis.
func curvePanelOn(title string, curves []curve, latency extent) curvePanel {
	p := curvePanel{title: title, curves: slices.Clone(curves), latency: latency}
	for i, one := range p.curves {
		p.curves[i] = one.named(latency.lo)
	}
	return p
}

// named returns the curve with its whole label, which says in words where a
// curve is that begins under an axis that starts at lo nanoseconds.
func (one curve) named(lo float64) curve {
	middle := slices.IndexFunc(one.points, func(pt point) bool { return pt.quantile >= results.P50.Quantile() })
	if middle >= 0 && float64(one.points[middle].ns) < lo {
		one.aside = joined(", ", one.aside, results.FormatDuration(one.points[middle].ns)+" at P50")
	}
	if float64(one.points[len(one.points)-1].ns) < lo {
		one.label += ", below"
	}
	one.label = withAside(one.label, one.aside)
	return one
}

// percentilesPage draws whole distributions, with the tail stretched out.
func percentilesPage(s *study) ([]page, error) {
	if hasKinds(s.series) {
		return s.kindCurves(), nil
	}
	panels := []curvePanel{newCurvePanel("Acquire", s.curves(results.SpanAcquire))}
	title := "Response by percentile: acquire"
	if s.whole() {
		panels = append(panels, newCurvePanel("Whole job: acquire, effect and release", s.curves(results.SpanTotal)))
		title = "Response by percentile: acquire, and the whole job"
	}
	height, labels := curveEmpty, vg.Length(0)
	for _, p := range panels {
		if len(p.curves) > 0 {
			height = max(height, curveLeast)
		}
		height = max(height, vg.Length(len(p.curves))*labelGap+10)
		labels = max(labels, p.labelWidth())
	}
	return []page{{
		title:    title,
		alarm:    s.alarm(),
		subtitle: s.caption(curveMethod + "Grey: the floors, the same loop without a lock (null) and with one round trip (ping)."),
		notes:    s.footnotes(),
		height:   vg.Length(len(panels)) * (curveHead + height + curveFoot),
		body: func(c draw.Canvas) {
			for i, p := range panels {
				top := vg.Length(i)*(curveHead+height+curveFoot) + curveHead
				area := vg.Rectangle{
					Min: vg.Point{X: c.Min.X + curveAxis, Y: c.Max.Y - top - height},
					Max: vg.Point{X: c.Max.X - labelKey - labels, Y: c.Max.Y - top},
				}
				p.draw(c, area)
			}
		},
	}}, nil
}

// curveMethod says what a curve is.
const curveMethod = "Granted operations of all runs merged. Each line ends at the highest percentile that its samples support. "

// curves lists the lines of one span, floors first so that they lie below.
func (s *study) curves(span results.SpanName) []curve {
	var all []curve
	for _, one := range sorted(s.series, isFloor) {
		if c, ok := one.curve(span); ok {
			all = append(all, c)
		}
	}
	return all
}

// curve is a series' line of a span, if it has one. There is none of the
// acquire where there is no lock.
func (one *series) curve(span results.SpanName) (c curve, ok bool) {
	points := one.curves[span]
	return curve{
		label: one.title(), aside: one.aside, look: one.look, mark: one.mark,
		floor: one.path.Floor, idle: one.path.Path == "null", points: points,
	}, len(points) > 0 && !(one.path.Lockless() && span == results.SpanAcquire)
}

// labelWidth is the width of the widest label.
func (p curvePanel) labelWidth() vg.Length {
	widest := vg.Length(0)
	for _, one := range p.curves {
		name := textStyle(labelSize, ink).Width(one.label)
		widest = max(widest, name+4+bold(textStyle(smallSize, ink)).Width(one.mark))
	}
	return min(widest, labelMost)
}

// draw draws a panel and labels its lines at their ends.
func (p curvePanel) draw(c draw.Canvas, area vg.Rectangle) {
	put(c, bold(textStyle(panelSize, ink)), area.Min.X, area.Max.Y+6, p.title)
	if len(p.curves) == 0 {
		putNothing(draw.Canvas{Canvas: c.Canvas, Rectangle: area})
		return
	}
	chart := p.chart(area.Size())
	data := place(chart, c, area)
	p.drawLabels(c, data, chart)
}

// chart makes the gonum plot of a panel whose data are as large as size.
func (p curvePanel) chart(size vg.Point) *plot.Plot {
	chart := newPlot()
	chart.Add(&plotter.Grid{Vertical: line(0.5, gridGrey), Horizontal: line(0.5, gridGrey)})
	end := 0.0
	for _, one := range p.curves {
		chart.Add(one)
		end = max(end, one.points[len(one.points)-1].quantile)
	}
	chart.X.Min, chart.X.Max = 0, ninesEnd(max(end, p.end))
	chart.X.Scale = ninesScale{}
	makeRoom(&chart.X, ninesTicks{}, size.X)
	if !p.unnamed {
		chart.X.Label.Text = "percentile of operations (each further nine takes the same width)"
	}
	chart.Y.Min, chart.Y.Max = p.latency.lo, p.latency.hi
	chart.Y.Scale = logScale{}
	chart.Y.Tick.Marker = logTicks{most: max(3, int(size.Y/20)), label: durationTick}
	chart.Y.Label.Text = "response time, logarithmic"
	if size.Y < curveLeast/1.2 {
		chart.Y.Label.Text = "response, log"
	}
	return chart
}

// ninesEnd is where an axis ends that must show quantile q: at the next whole
// nine, or a little beyond q where that is far off.
func ninesEnd(q float64) float64 {
	n := nines(q)
	if next := math.Ceil(n - 1e-9); next-n < 0.45 {
		return quantileAt(next)
	}
	return quantileAt(n + 0.05)
}

// Plot implements plot.Plotter.
func (one curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	// A curve only rises. The last point under the axis is kept: the scale
	// puts it on the axis, where the line comes in.
	above := slices.IndexFunc(one.points, func(pt point) bool { return float64(pt.ns) >= p.Y.Min })
	if above < 0 {
		return
	}
	shown := one.points[max(0, above-1):]
	path := make([]vg.Point, len(shown))
	for i, pt := range shown {
		path[i] = vg.Point{X: x(pt.quantile), Y: y(float64(pt.ns))}
	}
	c.StrokeLines(one.stroke(), path)
	one.drawMarks(c, x, y, p.Y.Min)
	if one.mark != "" {
		for i := 0; i < len(path); i += 15 {
			c.DrawGlyph(draw.GlyphStyle{Color: one.look.color, Radius: 2.5, Shape: draw.CrossGlyph{}}, path[i])
		}
	}
}

// drawMarks marks the curve at the percentiles that have names, as far as it
// goes.
func (one curve) drawMarks(c draw.Canvas, x, y func(float64) vg.Length, least float64) {
	if one.shape == nil {
		return
	}
	last := one.points[len(one.points)-1]
	for _, percentile := range results.Percentiles {
		at := slices.IndexFunc(one.points, func(pt point) bool { return pt.quantile >= percentile.Quantile()-1e-9 })
		if at < 0 || float64(one.points[at].ns) < least || one.points[at].quantile > last.quantile {
			continue
		}
		c.DrawGlyph(one.glyph(), vg.Point{X: x(one.points[at].quantile), Y: y(float64(one.points[at].ns))})
	}
}

// glyph is the mark of a curve.
func (one curve) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: one.stroke().Color, Radius: 2.6, Shape: one.shape}
}

// stroke is the line of a curve: floors are thin, and a reference is broad and
// grey.
func (one curve) stroke() draw.LineStyle {
	if one.reference {
		return line(2.4, referenceGrey)
	}
	if one.floor {
		return one.look.stroke(1)
	}
	return one.look.stroke(1.7)
}

// drawLabels names each line to the right of its end, moved apart where they
// would touch, with a piece of the line beside the name.
func (p curvePanel) drawLabels(c, data draw.Canvas, chart *plot.Plot) {
	x, y := chart.Transforms(&data)
	ends := make([]vg.Point, len(p.curves))
	want := make([]vg.Length, len(p.curves))
	for i, one := range p.curves {
		last := one.points[len(one.points)-1]
		ends[i] = vg.Point{X: x(last.quantile), Y: y(float64(last.ns))}
		want[i] = ends[i].Y
	}
	placed := spread(want, labelGap, data.Min.Y+4, data.Max.Y-4)
	key := data.Max.X + 14
	for i, one := range p.curves {
		c.StrokeLine2(line(0.5, midGrey), ends[i].X+1, ends[i].Y, key-2, placed[i])
		c.StrokeLine2(one.stroke(), key, placed[i], key+20, placed[i])
		if one.shape != nil {
			c.DrawGlyph(one.glyph(), vg.Point{X: key + 10, Y: placed[i]})
		}
		style := textStyle(labelSize, ink)
		if one.floor || one.reference {
			style.Color = softInk
		}
		mark := bold(textStyle(smallSize, vermillion))
		name := shortened(style, one.label, labelMost-4-mark.Width(one.mark))
		putMiddle(c, style, key+24, placed[i], name)
		putMiddle(c, mark, key+28+style.Width(name), placed[i], one.mark)
	}
}
