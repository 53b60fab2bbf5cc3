package plots

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// curve is one line of the percentiles figure.
type curve struct {
	label  string
	look   look
	mark   string
	floor  bool
	points []point
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
	title  string
	curves []curve
}

// percentilesPage draws whole distributions, with the tail stretched out.
func percentilesPage(s *study) (page, error) {
	panels := []curvePanel{{"Acquire", s.curves(results.SpanAcquire)}}
	title := "Response by percentile: acquire"
	if s.whole() {
		panels = append(panels, curvePanel{"Whole job: acquire, effect and release", s.curves(results.SpanTotal)})
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
	return page{
		title: title,
		alarm: s.alarm(),
		subtitle: s.caption("Granted operations of all runs merged. Each line ends at the highest percentile " +
			"that its samples support. Grey: the floors, the same loop without work (null) and with one round trip (ping)."),
		notes:  s.footnotes(),
		height: vg.Length(len(panels)) * (curveHead + height + curveFoot),
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
	}, nil
}

// curves lists the lines of one span, floors first so that they lie below.
func (s *study) curves(span results.SpanName) []curve {
	var all []curve
	for _, floors := range []bool{true, false} {
		for _, one := range s.series {
			points := one.curves[span]
			if one.path.Floor != floors || len(points) == 0 {
				continue
			}
			label := one.title()
			if one.aside != "" {
				label += " (" + one.aside + ")"
			}
			all = append(all, curve{label: label, look: one.look, mark: one.mark, floor: floors, points: points})
		}
	}
	return all
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
	latency, end := newExtent(), 0.0
	for _, one := range p.curves {
		chart.Add(one)
		for _, pt := range one.points {
			latency.add(float64(pt.ns))
			end = max(end, pt.quantile)
		}
	}
	chart.X.Min, chart.X.Max = 0, ninesEnd(end)
	chart.X.Scale = ninesScale{}
	makeRoom(&chart.X, ninesTicks{}, size.X)
	chart.X.Label.Text = "percentile of operations (each further nine takes the same width)"
	latency = latency.logPadded(1.15)
	chart.Y.Min, chart.Y.Max = latency.lo, latency.hi
	chart.Y.Scale = logScale{}
	chart.Y.Tick.Marker = logTicks{most: int(size.Y / 20), label: durationTick}
	chart.Y.Label.Text = "response time, logarithmic"
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
	path := make([]vg.Point, len(one.points))
	for i, pt := range one.points {
		path[i] = vg.Point{X: x(pt.quantile), Y: y(float64(pt.ns))}
	}
	c.StrokeLines(one.stroke(), path)
	if one.mark != "" {
		for i := 0; i < len(path); i += 15 {
			c.DrawGlyph(draw.GlyphStyle{Color: one.look.color, Radius: 2.5, Shape: draw.CrossGlyph{}}, path[i])
		}
	}
}

// stroke is the line of a curve: floors are thin.
func (one curve) stroke() draw.LineStyle {
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
		style := textStyle(labelSize, ink)
		if one.floor {
			style.Color = softInk
		}
		mark := bold(textStyle(smallSize, vermillion))
		name := shortened(style, one.label, labelMost-4-mark.Width(one.mark))
		putMiddle(c, style, key+24, placed[i], name)
		putMiddle(c, mark, key+28+style.Width(name), placed[i], one.mark)
	}
}
