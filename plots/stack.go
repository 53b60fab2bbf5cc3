package plots

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// stackHead is the height of a heading above the rows of a kind.
const stackHead vg.Length = 17

// stack is how rows lie below each other, those of a kind below its heading.
// All lengths are from the top of the stack downwards.
type stack struct {
	tops, heights []vg.Length // of the rows
	headings      []heading
	height        vg.Length // of everything
}

// heading names the rows below it.
type heading struct {
	text string
	top  vg.Length
}

// newStack lays out the rows of the groups, in the order of the groups, each
// as high as it is said to be. A group without a kind has no heading.
func newStack[T any](groups []results.KindGroup[T], height func(T) vg.Length) stack {
	var s stack
	for _, g := range groups {
		if title := g.Kind.Title(); title != "" {
			s.headings = append(s.headings, heading{title, s.height})
			s.height += stackHead
		}
		for _, item := range g.Items {
			s.tops, s.heights = append(s.tops, s.height), append(s.heights, height(item))
			s.height += s.heights[len(s.heights)-1]
		}
	}
	return s
}

// flat are the items of all groups in their order.
func flat[T any](groups []results.KindGroup[T]) []T {
	var all []T
	for _, g := range groups {
		all = append(all, g.Items...)
	}
	return all
}

// byKind groups series by their kinds, setnx first within its own.
func byKind(all []series) []results.KindGroup[series] {
	return results.GroupByKind(sorted(all, isBaseline), func(one series) results.Kind { return one.path.Kind })
}

// hasKinds says whether the record says of what kind its paths are. Older
// ones do not, and are drawn without groups.
func hasKinds(all []series) bool {
	return slices.ContainsFunc(all, func(one series) bool { return one.path.Kind != "" })
}

// equal makes all rows as high as the highest.
func (s stack) equal() stack {
	highest := vg.Length(0)
	for _, h := range s.heights {
		highest = max(highest, h)
	}
	added := vg.Length(0)
	heads := s.headings
	s.headings, s.tops, s.heights = nil, slices.Clone(s.tops), slices.Clone(s.heights)
	for i := range s.tops {
		for len(heads) > 0 && heads[0].top < s.tops[i] {
			s.headings = append(s.headings, heading{heads[0].text, heads[0].top + added})
			heads = heads[1:]
		}
		s.tops[i] += added
		added += highest - s.heights[i]
		s.heights[i] = highest
	}
	s.height += added
	return s
}

// middle is how far below the top the middle of a row lies.
func (s stack) middle(row int) vg.Length { return s.tops[row] + s.heights[row]/2 }

// onAxis is the middle of a row on a chart's vertical axis that runs from 0 at
// the foot of the stack to its height.
func (s stack) onAxis(row int) float64 { return float64(s.height - s.middle(row)) }

// draw tints every second row of a group and writes the headings, over the
// whole width of the canvas, for a stack whose top is at y.
func (s stack) draw(c draw.Canvas, top vg.Length) {
	c.SetColor(bandGrey)
	nth, heads := 0, s.headings
	for row := range s.tops {
		for len(heads) > 0 && heads[0].top < s.tops[row] {
			nth, heads = 0, heads[1:]
		}
		if nth%2 == 0 {
			c.Fill(vg.Rectangle{
				Min: vg.Point{X: c.Min.X, Y: top - s.tops[row] - s.heights[row]},
				Max: vg.Point{X: c.Max.X, Y: top - s.tops[row]},
			}.Path())
		}
		nth++
	}
	style := bold(textStyle(labelSize, softInk))
	for _, h := range s.headings {
		foot := top - h.top - stackHead
		c.StrokeLine2(line(0.8, midGrey), c.Min.X, foot+0.4, c.Max.X, foot+0.4)
		put(c, style, c.Min.X, foot+4.5, h.text)
	}
}
