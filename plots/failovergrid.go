package plots

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// harm is how bad an event is: the worse, the darker, also in grey.
type harm int

const (
	harmMoney        harm = iota // the ledger is wrong
	harmExclusion                // two held one lock, and nothing came of it
	harmAvailability             // somebody could not work
)

// harms names them, and gives their fill and outline. The fills are tints of
// vermillion, orange and sky blue on which ink can be read, in grey too.
var harms = []struct {
	name    string
	fill    color.RGBA
	outline vg.Length
}{
	{"the ledger is wrong", color.RGBA{R: 0xdc, G: 0x73, B: 0x26, A: 0xff}, 1.1},
	{"the lock was not exclusive", color.RGBA{R: 0xf7, G: 0xd6, B: 0x8c, A: 0xff}, 0.5},
	{"somebody could not work", color.RGBA{R: 0xe3, G: 0xf1, B: 0xfb, A: 0xff}, 0.3},
}

// safetyMark is how an event is shown: its harm by the fill, and itself by
// name and shape.
type safetyMark struct {
	event results.Event
	name  string
	harm  harm
	shape draw.GlyphDrawer
	total func(results.Scenario) int64
}

// safetyMarks are what the safety figure shows, the worst first. Lost grants
// and outlived leases are causes, and harm nobody by themselves.
var safetyMarks = []safetyMark{
	{results.DoubleCharge, "double charges", harmMoney, draw.BoxGlyph{}, func(s results.Scenario) int64 { return s.DoubleCharges }},
	{results.LostCharge, "lost charges", harmMoney, draw.CrossGlyph{}, func(s results.Scenario) int64 { return s.LostCharges }},
	{results.DoubleGrant, "double grants", harmExclusion, draw.PyramidGlyph{}, func(s results.Scenario) int64 { return s.DoubleGrants }},
	{results.RepeatedToken, "repeated tokens", harmExclusion, draw.TriangleGlyph{}, func(s results.Scenario) int64 { return s.RepeatedTokens }},
	{results.RightfulRefused, "rightful refused", harmAvailability, draw.RingGlyph{}, func(s results.Scenario) int64 { return s.RightfulRefused }},
	{results.OrphanedLock, "orphaned locks", harmAvailability, draw.CircleGlyph{}, func(s results.Scenario) int64 { return s.OrphanedLocks }},
}

// Measures of the safety figure, in points.
const (
	safetyNames  vg.Length = 124
	safetyWidest vg.Length = 140
	safetyGap    vg.Length = 4 // between the chips of two columns
	safetyChip   vg.Length = 10.5
	safetyLeast  vg.Length = 15  // height of a row
	safetyText   vg.Length = 7.5 // of what is beside the cells
	safetyLegend vg.Length = 48
	safetyTurned vg.Length = 110 // height of heads that are turned, at most
)

// lineWidth is the room that a line takes in a cell.
func (g safetyGrid) lineWidth(l safetyLine) vg.Length {
	plain, strong := textStyle(g.size, ink), bold(textStyle(g.size, ink))
	width := g.glyph + strong.Width(g.share(l)) + 2
	if g.named {
		width += g.nameWidth() + 3
	}
	if g.totals {
		width += plain.Width(l.total) + 3
	}
	return width
}

// share says in how many trials it happened.
func (g safetyGrid) share(l safetyLine) string {
	if g.bare {
		return fmt.Sprint(l.trials)
	}
	return fmt.Sprintf("%d/%d", l.trials, l.of)
}

// name labels a row.
func (r safetyRow) name() []paragraph {
	const width = safetyNames - 8
	name := []paragraph{wrapped(bold(textStyle(labelSize, ink)), r.scenario, width)}
	if r.detail != "" {
		name = append(name, wrapped(textStyle(safetyText, softInk), r.detail, width))
	}
	return name
}

// rowHeight holds the row's name and its fullest cell.
func (g safetyGrid) rowHeight(r safetyRow) vg.Length {
	height := max(safetyLeast, heightOf(r.name())+3)
	for _, cell := range r.cells {
		if cell != nil {
			height = max(height, vg.Length(len(safetyLines(*cell))+len(quietLines(*cell)))*safetyChip+5)
		}
	}
	return height
}

// quietLines are a cell's texts without a mark.
func quietLines(s results.Scenario) []string {
	var lines []string
	if len(safetyLines(s)) == 0 {
		lines = present([]string{quietText(s)})
	}
	if s.Void > 0 {
		lines = append(lines, fmt.Sprintf("%d void", s.Void))
	}
	return lines
}

// safetyTallest is how high the rows of one page are, at most.
const safetyTallest vg.Length = 640

// split deals the rows out to as many grids as are about equally high and no
// higher than a page; all look alike.
func (g safetyGrid) split() []safetyGrid {
	all := vg.Length(0)
	for _, row := range g.rows {
		all += g.rowHeight(row)
	}
	pages := int(math.Ceil(float64(all / safetyTallest)))
	if pages < 2 {
		return []safetyGrid{g}
	}
	var parts []safetyGrid
	filled := all // of the last page
	for _, row := range g.rows {
		if filled+g.rowHeight(row)/2 > all/vg.Length(pages) {
			part := g
			part.rows, filled = nil, 0
			parts = append(parts, part)
		}
		last := &parts[len(parts)-1]
		last.rows = append(last.rows, row)
		filled += g.rowHeight(row)
	}
	return parts
}

func (g safetyGrid) height() vg.Length {
	_, kinds := g.kindHead()
	height := safetyLegend + kinds + g.headHeight() + 2
	for _, row := range g.rows {
		height += g.rowHeight(row)
	}
	return max(height, 60)
}

// draw draws the legend, the heads and the rows.
func (g safetyGrid) draw(c draw.Canvas) {
	if len(g.rows) == 0 {
		putNothing(c)
		return
	}
	drawSafetyLegend(c)
	_, kinds := g.kindHead()
	top := c.Max.Y - safetyLegend - kinds - g.headHeight()
	g.drawHeads(c, top)
	for i, row := range g.rows {
		bottom := top - g.rowHeight(row)
		if i%2 == 0 {
			c.SetColor(bandGrey)
			c.Fill(vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: bottom}, Max: vg.Point{X: g.left(c, len(g.columns)), Y: top}}.Path())
		}
		name := row.name()
		write(c, name, c.Min.X+3, (top+bottom)/2+heightOf(name)/2)
		for column, cell := range row.cells {
			if cell != nil {
				g.drawCell(c, g.left(c, column)+safetyGap/2, (top+bottom)/2, *cell)
			}
		}
		top = bottom
	}
	g.drawKinds(c, c.Max.Y-safetyLegend) // last, as its lines lie on the tinted rows
}

// left is the left edge of a column.
func (g safetyGrid) left(c draw.Canvas, column int) vg.Length {
	return c.Min.X + safetyNames + vg.Length(column)*g.width
}

// drawCell draws a cell's lines below each other, around middle.
func (g safetyGrid) drawCell(c draw.Canvas, left, middle vg.Length, s results.Scenario) {
	lines, quiet := safetyLines(s), quietLines(s)
	y := middle + vg.Length(len(lines)+len(quiet)-1)/2*safetyChip
	for _, l := range lines {
		g.drawLine(c, left, y, l)
		y -= safetyChip
	}
	for _, what := range quiet {
		style := textStyle(g.size, midGreyText)
		indent := max(0, min(g.glyph, g.width-safetyGap-style.Width(what)))
		putMiddle(c, style, left+indent, y, what)
		y -= safetyChip
	}
}

// midGreyText is for what need not be read: as faint as text may be.
var midGreyText = color.RGBA{R: 0x6e, G: 0x6e, B: 0x6e, A: 0xff}

// drawLine draws one chip.
func (g safetyGrid) drawLine(c draw.Canvas, left, y vg.Length, l safetyLine) {
	drawChip(c, l.mark, vg.Point{X: left, Y: y}, g.width-safetyGap, g.glyph)
	plain, strong := textStyle(g.size, ink), bold(textStyle(g.size, ink))
	x := left + g.glyph
	if g.named {
		putMiddle(c, g.nameStyle(l.mark), x, y, l.mark.name)
		x += g.nameWidth() + 3
	}
	putMiddle(c, strong, x, y, g.share(l))
	if g.totals {
		putMiddle(c, aligned(plain, draw.XRight), left+g.width-safetyGap-2, y, l.total)
	}
}

// nameStyle is the style of a mark's name: the worst are bold.
func (g safetyGrid) nameStyle(m safetyMark) text.Style {
	if m.harm == harmMoney {
		return bold(textStyle(g.size, ink))
	}
	return textStyle(g.size, ink)
}

// nameWidth is the width of the widest name.
func (g safetyGrid) nameWidth() vg.Length {
	width := vg.Length(0)
	for _, mark := range safetyMarks {
		width = max(width, g.nameStyle(mark).Width(mark.name))
	}
	return width
}

// drawChip draws the background of a line, from the middle of its left edge,
// and its glyph in the middle of the room before the text.
func drawChip(c draw.Canvas, m safetyMark, left vg.Point, width, glyph vg.Length) {
	how := harms[m.harm]
	chip := vg.Rectangle{
		Min: vg.Point{X: left.X, Y: left.Y - safetyChip/2 + 0.6},
		Max: vg.Point{X: left.X + width, Y: left.Y + safetyChip/2 - 0.6},
	}
	c.SetColor(how.fill)
	c.Fill(chip.Path())
	c.SetLineStyle(line(how.outline, ink))
	c.Stroke(chip.Path())
	c.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: 2.4, Shape: m.shape}, vg.Point{X: left.X + glyph/2, Y: left.Y})
}

// drawSafetyLegend shows the marks, those of a kind below their kind.
func drawSafetyLegend(c draw.Canvas) {
	kinds := len(harms)
	width := c.Size().X / vg.Length(kinds)
	for kind := range kinds {
		x, y := c.Min.X+vg.Length(kind)*width, c.Max.Y-8
		putMiddle(c, bold(textStyle(smallSize, ink)), x, y, harms[kind].name)
		for _, mark := range safetyMarks {
			if int(mark.harm) == kind {
				y -= safetyChip + 1.5
				drawChip(c, mark, vg.Point{X: x, Y: y}, 13, 13)
				putMiddle(c, textStyle(smallSize, ink), x+18, y, mark.name)
			}
		}
	}
}
