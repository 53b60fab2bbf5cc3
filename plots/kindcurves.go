package plots

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// referenceGrey is setnx among paths of another kind.
var referenceGrey = color.RGBA{R: 0xb0, G: 0xb0, B: 0xb0, A: 0xff}

// curveShapes tell lines of one panel apart where there is no colour. The
// cross is not among them: it marks what is not to be believed.
var curveShapes = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.TriangleGlyph{}, draw.BoxGlyph{}, draw.RingGlyph{}, draw.PyramidGlyph{}, draw.SquareGlyph{}, draw.PlusGlyph{},
}

// Measures of the percentiles by kind, in points.
const (
	kindLeast vg.Length = 112 // height of a panel's data
	kindFloor vg.Length = 56  // the same of the floors
	kindTicks vg.Length = 20  // below each panel
	kindFoot  vg.Length = 16  // more below the last one
)

// kindCurves draws whole distributions in a panel for each kind, all with the
// same axes: acquire on one page, and the whole job on another.
func (s *study) kindCurves() []page {
	pages := []page{s.kindCurvePage(results.SpanAcquire, "acquire")}
	if s.whole() {
		pages = append(pages, s.kindCurvePage(results.SpanTotal, "the whole job"))
	}
	for i := range pages {
		if len(pages) > 1 {
			pages[i].title += fmt.Sprintf(" (%d of %d)", i+1, len(pages))
		}
	}
	return pages
}

// kindCurvePage is the page of one span.
func (s *study) kindCurvePage(span results.SpanName, what string) page {
	panels := s.kindPanels(span)
	heights, labels := make([]vg.Length, len(panels)), vg.Length(0)
	height := kindFoot
	for i, p := range panels {
		heights[i] = max(p.least, vg.Length(len(p.curves))*labelGap+10)
		labels = max(labels, p.labelWidth())
		height += curveHead + heights[i] + kindTicks
	}
	return page{
		title:    "Response by percentile: " + what,
		alarm:    s.alarm(),
		subtitle: s.caption(curveMethod + "All panels have the same axes. Broad grey line: setnx, for reference. Marks: P50, P90, P99 and P99.9." + s.shortNote()),
		notes:    s.footnotes(),
		height:   max(height, curveHead+curveEmpty+curveFoot),
		body: func(c draw.Canvas) {
			if len(panels) == 0 {
				putNothing(c)
			}
			top := c.Max.Y
			for i, p := range panels {
				top -= curveHead
				p.draw(c, vg.Rectangle{
					Min: vg.Point{X: c.Min.X + curveAxis, Y: top - heights[i]},
					Max: vg.Point{X: c.Max.X - labelKey - labels, Y: top},
				})
				top -= heights[i] + kindTicks
			}
		},
	}
}

// kindPanels makes a panel for each kind that has a line, with setnx's line in
// each.
func (s *study) kindPanels(span results.SpanName) []curvePanel {
	var all, references []curve
	for _, one := range s.series {
		c, ok := one.curve(span)
		if !ok {
			continue
		}
		all = append(all, c)
		if one.baseline {
			c.reference, c.label, c.aside = true, one.short(), ""
			references = append(references, c)
		}
	}
	axis, end := latencyAxis(all), 0.0
	for _, c := range all {
		end = max(end, c.points[len(c.points)-1].quantile)
	}
	var panels []curvePanel
	for _, g := range byKind(s.series) {
		curves := kindLines(g, span)
		if len(curves) == 0 {
			continue
		}
		if g.Kind != results.KindOneServer {
			curves = append(references[:len(references):len(references)], curves...)
		}
		p := curvePanelOn(g.Kind.Title(), curves, axis)
		p.end, p.unnamed, p.least = end, true, kindLeast
		if g.Kind == results.KindFloor {
			p.least = kindFloor
		}
		panels = append(panels, p)
	}
	if len(panels) > 0 {
		panels[len(panels)-1].unnamed = false
	}
	return panels
}

// kindLines are the lines of one kind, each with a mark of its own.
func kindLines(g results.KindGroup[series], span results.SpanName) []curve {
	var curves []curve
	for _, one := range g.Items {
		if c, ok := one.curve(span); ok {
			c.shape, c.label, c.aside = curveShapes[len(curves)%len(curveShapes)], one.short(), ""
			curves = append(curves, c)
		}
	}
	return curves
}
