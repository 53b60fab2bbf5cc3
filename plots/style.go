package plots

import (
	"image/color"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The Okabe–Ito palette, which stays apart for the common kinds of colour
// blindness. Its yellow is used for fills only: on white a yellow line is
// hard to see. Source: Okabe and Ito, "Color Universal Design", 2008.
var (
	black      = color.RGBA{A: 0xff}
	orange     = color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}
	skyBlue    = color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}
	green      = color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}
	yellow     = color.RGBA{R: 0xf0, G: 0xe4, B: 0x42, A: 0xff}
	blue       = color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	vermillion = color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	purple     = color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}
)

// Greys for what is not data.
var (
	ink      = color.RGBA{R: 0x1a, G: 0x1a, B: 0x1a, A: 0xff}
	softInk  = color.RGBA{R: 0x55, G: 0x55, B: 0x55, A: 0xff}
	midGrey  = color.RGBA{R: 0x8c, G: 0x8c, B: 0x8c, A: 0xff}
	gridGrey = color.RGBA{R: 0xe2, G: 0xe2, B: 0xe2, A: 0xff}
	bandGrey = color.RGBA{R: 0xf5, G: 0xf5, B: 0xf5, A: 0xff}
)

// Sizes of text, in points on a page that is pageWidth wide.
const (
	titleSize    vg.Length = 13.5
	subtitleSize vg.Length = 8.5
	panelSize    vg.Length = 9.5
	labelSize    vg.Length = 9
	tickSize     vg.Length = 8.5
	smallSize    vg.Length = 8
)

// leading is the distance between two lines of text of the given size.
func leading(size vg.Length) vg.Length { return size * 1.25 }

// textStyle returns left-aligned sans-serif text whose anchor is on its
// baseline.
func textStyle(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		XAlign:  draw.XLeft,
		YAlign:  draw.YBottom,
		Handler: plot.DefaultTextHandler,
	}
}

// bold returns the style in bold.
func bold(s text.Style) text.Style {
	s.Font.Weight = xfont.WeightBold
	return s
}

// aligned returns the style with its anchor at the given side.
func aligned(s text.Style, x text.XAlignment) text.Style {
	s.XAlign = x
	return s
}

// line returns a solid line.
func line(width vg.Length, c color.Color) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width}
}

// The dash patterns, from solid to sparse.
var dashPatterns = [][]vg.Length{
	nil,
	{7, 2.5},
	{2, 2},
	{8, 2, 2, 2},
	{4, 2},
	{10, 2, 2, 2, 2, 2},
	{1, 3},
}

// look is how one path is told from the others: by colour, and without
// colour by its dashes.
type look struct {
	color  color.Color
	dashes []vg.Length
}

// knownLooks gives a path the same look in every run's figures, so that two
// figures in one document can be read together.
var knownLooks = map[string]struct {
	color color.Color
	dash  int
}{
	"setnx":      {blue, 0},
	"setnx-wait": {vermillion, 1},
	"fencing":    {green, 3},
	"idempotent": {orange, 2},
	"combined":   {purple, 4},
	"watchdog":   {skyBlue, 5},
	"redlock":    {black, 0},
	"etcd":       {purple, 0},
	"zookeeper":  {green, 2},
	"waitaof":    {orange, 4},
	"optimistic": {black, 3},
	"null":       {midGrey, 2},
	"ping":       {midGrey, 0},
}

// spareColors are handed out to paths without a look of their own.
var spareColors = []color.Color{skyBlue, purple, black, green, orange, vermillion, blue}

// lookOf returns the look of a path. Nth counts the earlier paths of the same
// name in the same record, spare those without a look of their own.
func lookOf(name string, nth, spare int) look {
	known, ok := knownLooks[name]
	if !ok {
		known.color = spareColors[spare%len(spareColors)]
		known.dash = spare
	}
	return look{
		color:  known.color,
		dashes: dashPatterns[(known.dash+nth)%len(dashPatterns)],
	}
}

// stroke returns the line of the look in the given width.
func (l look) stroke(width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: l.color, Width: width, Dashes: l.dashes}
}
