package plots

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A page is pageWidth wide; its height follows from what is on it.
const (
	pageWidth  vg.Length = 576
	pageMargin vg.Length = 14

	// paragraphGap is added to the leading between two paragraphs.
	paragraphGap vg.Length = 1.5
)

// page is one figure: words above and below, and a body between them.
type page struct {
	title    string
	alarm    string   // in warning colour below the title, "" for none
	subtitle []string // paragraphs
	notes    []string // paragraphs below the body
	height   vg.Length
	// body draws into the rectangle it is given, which is height high.
	body func(c draw.Canvas)
}

// paragraph is text that is broken into lines as wide as the page.
type paragraph struct {
	style text.Style
	lines []string
}

// above returns the paragraphs above the body.
func (p page) above() []paragraph {
	width := pageWidth - 2*pageMargin
	all := []paragraph{wrapped(bold(textStyle(titleSize, ink)), p.title, width)}
	if p.alarm != "" {
		all = append(all, wrapped(bold(textStyle(subtitleSize, vermillion)), p.alarm, width))
	}
	for _, s := range p.subtitle {
		all = append(all, wrapped(textStyle(subtitleSize, softInk), s, width))
	}
	return all
}

// below returns the paragraphs below the body.
func (p page) below() []paragraph {
	var all []paragraph
	for _, n := range p.notes {
		all = append(all, wrapped(textStyle(smallSize, softInk), n, pageWidth-2*pageMargin))
	}
	return all
}

// size is the width and height of the whole page. The height is in whole
// points, so that pixels come out even.
func (p page) size() (w, h vg.Length) {
	const gap = 8
	h = 2*pageMargin + heightOf(p.above()) + gap + p.height
	if len(p.notes) > 0 {
		h += gap + heightOf(p.below())
	}
	return pageWidth, vg.Length(int(h + 0.999))
}

// draw draws the whole page.
func (p page) draw(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	left := c.Min.X + pageMargin
	top := write(c, p.above(), left, c.Max.Y-pageMargin)
	bottom := c.Min.Y + pageMargin
	if len(p.notes) > 0 {
		write(c, p.below(), left, bottom+heightOf(p.below()))
	}
	const gap = 8
	p.body(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: c.Min.X + pageMargin, Y: top - gap - p.height},
		Max: vg.Point{X: c.Max.X - pageMargin, Y: top - gap},
	}})
}

// write sets paragraphs from the given corner downwards, and returns the
// height at which they end.
func write(c draw.Canvas, all []paragraph, left, top vg.Length) vg.Length {
	for _, p := range all {
		for _, l := range p.lines {
			top -= leading(p.style.Font.Size)
			put(c, p.style, left, top+0.25*p.style.Font.Size, l)
		}
		top -= paragraphGap
	}
	return top
}

// heightOf is the height that write takes.
func heightOf(all []paragraph) vg.Length {
	var h vg.Length
	for _, p := range all {
		h += vg.Length(len(p.lines))*leading(p.style.Font.Size) + paragraphGap
	}
	return h
}

// wrapped breaks text between words so that no line is wider than width. A
// single word that is wider is broken where it must be.
func wrapped(style text.Style, s string, width vg.Length) paragraph {
	p := paragraph{style: style}
	current := ""
	for _, word := range words(s) {
		joined := strings.TrimSpace(current + " " + word)
		if style.Width(joined) <= width {
			current = joined
			continue
		}
		if current != "" {
			p.lines = append(p.lines, strings.TrimSuffix(current, strings.TrimRight(separator, " ")))
		}
		for style.Width(word) > width {
			n := fitting(style, word, width)
			p.lines = append(p.lines, word[:n])
			word = word[n:]
		}
		current = word
	}
	if current != "" {
		p.lines = append(p.lines, current)
	}
	return p
}

// words splits text where a line may end: not between a number and what
// follows it, which is its unit or what is counted.
func words(s string) []string {
	var all []string
	glued := false
	for _, word := range strings.Fields(s) {
		if glued {
			all[len(all)-1] += " " + word
		} else {
			all = append(all, word)
		}
		glued = isNumber(word)
	}
	return all
}

// isNumber says whether a word is a number and nothing else, such as 1,000
// or +2.5. The last number of a clause, with its comma, is none.
func isNumber(word string) bool {
	const digits = "0123456789"
	return strings.Trim(word, digits+".,+≥≤("+minus) == "" && strings.ContainsAny(word[len(word)-1:], digits)
}

// fitting returns the length in bytes of the longest start of a word that is
// not wider than width, at least one character.
func fitting(style text.Style, word string, width vg.Length) int {
	n := 0
	for i, r := range word {
		end := i + len(string(r))
		if n > 0 && style.Width(word[:end]) > width {
			break
		}
		n = end
	}
	return n
}

// shortened returns the text, cut with an ellipsis if it is wider than width.
func shortened(style text.Style, s string, width vg.Length) string {
	if style.Width(s) <= width {
		return s
	}
	return s[:fitting(style, s, width-style.Width("…"))] + "…"
}

// put sets one line of text with its baseline at y.
func put(c draw.Canvas, style text.Style, x, y vg.Length, s string) {
	if s == "" {
		return
	}
	// The plain text handler sets a line's baseline one ascent below the
	// anchor and one font size above that.
	anchor := y + style.FontExtents().Ascent - style.Font.Size
	c.FillText(style, vg.Point{X: x, Y: anchor}, s)
}

// putMiddle sets one line of text whose small letters are centred on y.
func putMiddle(c draw.Canvas, style text.Style, x, y vg.Length, s string) {
	put(c, style, x, y-0.34*style.Font.Size, s)
}

// putNothing says that a body is empty on purpose.
func putNothing(c draw.Canvas) {
	put(c, textStyle(labelSize, softInk), c.Min.X, c.Max.Y-2*labelSize, "Nothing to draw: see the notes below.")
}

// newPlot returns a plot in the figures' style, without axes' texts.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.LineStyle = line(0.6, softInk)
		axis.Padding = 0
		axis.Tick.LineStyle = line(0.6, softInk)
		axis.Tick.Length = 4
		axis.Label.Padding = 3
		label, tick := textStyle(labelSize, softInk), textStyle(tickSize, ink)
		label.XAlign, label.YAlign = axis.Label.TextStyle.XAlign, axis.Label.TextStyle.YAlign
		tick.XAlign, tick.YAlign = axis.Tick.Label.XAlign, axis.Tick.Label.YAlign
		axis.Label.TextStyle, axis.Tick.Label = label, tick
	}
	return p
}

// place draws a plot so that its data, without axes and texts, fill the
// given area, and returns the canvas of that area.
func place(p *plot.Plot, c draw.Canvas, area vg.Rectangle) draw.Canvas {
	outer := area
	for range 4 {
		inner := p.DataCanvas(draw.Canvas{Canvas: c.Canvas, Rectangle: outer}).Rectangle
		outer.Min = outer.Min.Add(area.Min.Sub(inner.Min))
		outer.Max = outer.Max.Add(area.Max.Sub(inner.Max))
	}
	canvas := draw.Canvas{Canvas: c.Canvas, Rectangle: outer}
	p.Draw(canvas)
	return p.DataCanvas(canvas)
}
