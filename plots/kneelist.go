package plots

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// drawStep draws a step's dot: filled where it passed, hollow and crossed where
// it failed, an arrow where its value is a lower bound.
func drawStep(c draw.Canvas, step kneeStep, clr color.Color, at vg.Point) {
	shape := func(size vg.Length, clr color.Color, shape draw.GlyphDrawer) {
		c.DrawGlyph(draw.GlyphStyle{Color: clr, Radius: size, Shape: shape}, at)
	}
	switch {
	case step.lower && step.Outcome == results.StepFailed:
		shape(3.2, color.White, draw.PyramidGlyph{})
		shape(3.2, clr, draw.TriangleGlyph{})
		c.StrokeLine2(line(0.9, clr), at.X, at.Y-1.6, at.X, at.Y-5.5)
	case step.Outcome == results.StepFailed:
		shape(2.9, color.White, draw.CircleGlyph{})
		shape(2.9, clr, draw.RingGlyph{})
		shape(2.6, clr, draw.CrossGlyph{})
	default:
		shape(2.4, clr, draw.CircleGlyph{})
	}
}

// drawEdge rings the highest step that passed.
func drawEdge(c draw.Canvas, clr color.Color, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: clr, Radius: 2.8, Shape: draw.CircleGlyph{}}, at)
	ring := vg.Path{}
	const radius = 5
	ring.Move(vg.Point{X: at.X + radius, Y: at.Y})
	ring.Arc(at, radius, 0, 6.2832)
	ring.Close()
	c.SetLineStyle(line(1.1, ink))
	c.Stroke(ring)
}

// drawKnee draws a diamond around a step.
func drawKnee(c draw.Canvas, at vg.Point) {
	const r = 5.6
	c.StrokeLines(line(1, ink), []vg.Point{
		{X: at.X - r, Y: at.Y}, {X: at.X, Y: at.Y + r}, {X: at.X + r, Y: at.Y}, {X: at.X, Y: at.Y - r}, {X: at.X - r, Y: at.Y},
	})
}

// drawUndriven marks a step that says nothing of the system.
func drawUndriven(c draw.Canvas, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: softInk, Radius: 2.4, Shape: draw.CrossGlyph{}}, at)
}

// hatchLimit shades rates beyond what the instrument could drive.
func hatchLimit(c draw.Canvas, r vg.Rectangle) {
	c.SetColor(limitGrey)
	c.Fill(r.Path())
	h := r.Size().Y
	inside := draw.Canvas{Canvas: c.Canvas, Rectangle: r}
	for x := r.Min.X - h; x < r.Max.X; x += 6 {
		c.StrokeLines(line(0.4, midGrey), inside.ClipLinesXY([]vg.Point{{X: x, Y: r.Min.Y}, {X: x + h, Y: r.Max.Y}})...)
	}
}

// kneeColumns are the columns of the list: where each ends, right-aligned, but
// for the last.
var kneeColumns = []struct {
	head  string
	right vg.Length
	text  func(ladder) string
}{
	{"passes", 236, func(l ladder) string { return orNone(l.MaxRatePerS) }},
	{"at", 286, func(l ladder) string { return edgeText(l, func(s results.Step) *int64 { return s.ValueNS }) }},
	{"at most", 336, func(l ladder) string { return edgeText(l, func(s results.Step) *int64 { return s.UpperNS }) }},
	{"first that does not", 426, func(l ladder) string { return orNone(l.FirstFailingPerS) }},
	{"knee", 476, func(l ladder) string { return orNone(l.KneeRatePerS) }},
}

// drawList writes a row for each path from top downwards.
func (b kneeBody) drawList(c draw.Canvas, top vg.Length) {
	head, cell := bold(textStyle(smallSize, softInk)), textStyle(smallSize, ink)
	const limit = 488
	y := top - kneeRow
	put(c, head, c.Min.X+26, y, "path")
	put(c, head, c.Min.X+limit, y, "limit")
	for _, column := range kneeColumns {
		put(c, aligned(head, draw.XRight), c.Min.X+column.right, y, column.head)
	}
	c.StrokeLine2(line(0.5, midGrey), c.Min.X, y-3, c.Max.X, y-3)
	for _, l := range b.part {
		y -= kneeRow
		c.StrokeLine2(l.look.stroke(1.5), c.Min.X, y+2, c.Min.X+20, y+2)
		put(c, cell, c.Min.X+26, y, shortened(cell, l.name, 162))
		for _, column := range kneeColumns {
			put(c, aligned(cell, draw.XRight), c.Min.X+column.right, y, column.text(l))
		}
		text := string(l.Limit)
		if !l.Confirmed {
			text += " *"
		}
		put(c, cell, c.Min.X+limit, y, text)
	}
}

func orNone(perS *float64) string {
	if perS == nil {
		return "–"
	}
	return rateText(*perS)
}

// edgeText is a time of the highest step that passed.
func edgeText(l ladder, of func(results.Step) *int64) string {
	for _, step := range l.Steps {
		if l.MaxRatePerS != nil && step.RatePerS == *l.MaxRatePerS {
			if ns := of(step); ns != nil {
				return results.FormatDuration(*ns)
			}
		}
	}
	return "–"
}
