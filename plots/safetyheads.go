package plots

import (
	"math"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// heads are the names of the columns, each as paragraphs of its width.
func (g safetyGrid) heads() [][]paragraph {
	var all [][]paragraph
	for _, column := range g.columns {
		path, options, _ := strings.Cut(column, " ")
		head := []paragraph{wrapped(bold(textStyle(labelSize, ink)), path, g.width-safetyGap)}
		if options != "" {
			head = append(head, wrapped(textStyle(safetyText, softInk), options, g.width-safetyGap))
		}
		all = append(all, head)
	}
	return all
}

// headHeight is the height of the highest head.
func (g safetyGrid) headHeight() vg.Length {
	height := vg.Length(0)
	if !g.turned {
		for _, head := range g.heads() {
			height = max(height, heightOf(head))
		}
		return height + 4
	}
	for _, column := range g.columns {
		path, options, _ := strings.Cut(column, " ")
		height = max(height, bold(textStyle(labelSize, ink)).Width(path), textStyle(safetyText, ink).Width(options))
	}
	return min(safetyTurned, height) + 6
}

// kindHead is the headings of the kinds above the columns.
func (g safetyGrid) kindHead() (heads []paragraph, height vg.Length) {
	for _, kind := range g.kinds {
		head := wrapped(bold(textStyle(smallSize, softInk)), kind.title, vg.Length(kind.columns)*g.width-safetyGap)
		heads, height = append(heads, head), max(height, heightOf([]paragraph{head})+4)
	}
	return heads, height
}

// drawKinds writes the kinds from top downwards, each above its columns, with
// a line between two kinds down to the last row.
func (g safetyGrid) drawKinds(c draw.Canvas, top vg.Length) {
	heads, height := g.kindHead()
	first := 0
	for i, kind := range g.kinds {
		left, right := g.left(c, first)+safetyGap/2, g.left(c, first+kind.columns)-safetyGap/2
		write(c, heads[i:i+1], left, top)
		c.StrokeLine2(line(0.8, midGrey), left, top-height+2, right, top-height+2)
		if i > 0 {
			c.StrokeLine2(line(0.5, midGrey), left-safetyGap/2, top-height, left-safetyGap/2, c.Min.Y+2)
		}
		first += kind.columns
	}
}

// drawHeads writes the heads of the columns, which end at bottom.
func (g safetyGrid) drawHeads(c draw.Canvas, bottom vg.Length) {
	if !g.turned {
		for i, head := range g.heads() {
			write(c, head, g.left(c, i)+safetyGap/2, bottom+3+heightOf(head))
		}
		return
	}
	for i, column := range g.columns {
		path, options, _ := strings.Cut(column, " ")
		at := vg.Point{X: g.left(c, i) + g.width/2, Y: bottom + 4}
		if options != "" {
			at.X += 5
			putTurned(c, textStyle(safetyText, softInk), at, options)
			at.X -= 10
		}
		putTurned(c, bold(textStyle(labelSize, ink)), at, path)
	}
}

// putTurned writes upwards from a point, as far as heads may go.
func putTurned(c draw.Canvas, style text.Style, at vg.Point, s string) {
	shown := shortened(style, s, safetyTurned)
	style.Rotation, style.YAlign = math.Pi/2, draw.YCenter
	c.FillText(style, at, shown)
}
