package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// sensitivityRows is how many conditions one page has room for.
const sensitivityRows = 4

// sensitivityPages draw what the other conditions do: levels against the
// values, as they were given.
func sensitivityPages(s sweep) (pages []page, missing string) {
	var rows []sensitivityRow
	for _, name := range s.conditions() {
		row := sensitivityRow{left: s.varied(name, results.P50), right: s.varied(name, results.P99)}
		if len(row.left.curves)+len(row.right.curves) > 0 {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil, "no value of a condition other than round trips was measured"
	}
	parts := slices.Collect(slices.Chunk(rows, sensitivityRows))
	for i, part := range parts {
		title := "What the times depend on"
		if len(parts) > 1 {
			title += fmt.Sprintf(" (%d of %d)", i+1, len(parts))
		}
		body := sensitivityBody{part}
		var panels []variedPanel
		notes := []string{"Values are set apart evenly, whatever their size. Lines only join the dots."}
		for _, row := range part {
			panels = append(panels, row.left, row.right)
			notes = append(notes, s.variedNotes(row.left, row.right)...)
			notes = append(notes, slopeNotes(row.left)...)
		}
		method := "Dots: medians over the blocks"
		if slices.ContainsFunc(panels, variedPanel.bounded) {
			method += ", with their intervals."
		} else {
			method += "; too few for intervals."
		}
		pages = append(pages, page{
			title:    title,
			subtitle: s.caption(part[0].left.name, s.variedLoad(part[0].left.name), method),
			notes:    present(append(notes, s.down())),
			height:   body.height(),
			body:     body.draw,
		})
	}
	return pages, ""
}

// conditions are those that have no page of their own.
func (s sweep) conditions() (names []string) {
	for _, one := range s.record.Sensitivity {
		if !isTrip(one.Name) && !slices.Contains(names, one.Name) {
			names = append(names, one.Name)
		}
	}
	return names
}

// slopeNotes are the lines that were fitted, of conditions that are not round
// trips.
func slopeNotes(p variedPanel) (notes []string) {
	for _, curve := range p.curves {
		if l := curve.line; l != nil {
			text := fmt.Sprintf("%s, %s: %s + %s", curve.name, p.percentile.Title(), duration(l.InterceptNS), duration(l.Slope))
			if l.SlopeLow != nil && l.SlopeHigh != nil {
				text += fmt.Sprintf(" [%s to %s]", duration(*l.SlopeLow), duration(*l.SlopeHigh))
			}
			notes = append(notes, fmt.Sprintf("%s × %s, R² %s.", text, p.name, r2Text(l.R2Ratio)))
		}
	}
	return notes
}

// sensitivityRow is one condition: P50 and P99 on one axis.
type sensitivityRow struct{ left, right variedPanel }

// sensitivityBody is the body of the figure.
type sensitivityBody struct{ rows []sensitivityRow }

// Measures of the figure, in points.
const (
	sensitivityAxis   vg.Length = 50
	sensitivityLabels vg.Length = 136
	sensitivityGap    vg.Length = 14
	sensitivityLeast  vg.Length = 110
	sensitivityName   vg.Length = 11.5
	sensitivityFoot   vg.Length = 22
)

func (r sensitivityRow) height() vg.Length {
	return max(sensitivityLeast, vg.Length(max(len(r.left.curves), len(r.right.curves)))*sensitivityName+6)
}

func (b sensitivityBody) height() (h vg.Length) {
	for _, row := range b.rows {
		h += rttHead + row.height() + sensitivityFoot
	}
	return h
}

// draw draws the rows below each other.
func (b sensitivityBody) draw(c draw.Canvas) {
	top := c.Max.Y
	width := (c.Size().X - sensitivityAxis - sensitivityLabels - sensitivityGap) / 2
	for _, row := range b.rows {
		area := vg.Rectangle{
			Min: vg.Point{X: c.Min.X + sensitivityAxis, Y: top - rttHead - row.height()},
			Max: vg.Point{X: c.Min.X + sensitivityAxis + width, Y: top - rttHead},
		}
		e := row.left.extent()
		if other := row.right.extent(); !other.empty() {
			e.add(other.lo, other.hi)
		}
		e = e.logPadded(1.3)
		row.drawPanel(c, area, row.left, e, true)
		if len(row.right.curves) == 0 {
			area.Max.X += sensitivityLabels // the names are between the panels
		}
		area.Min.X, area.Max.X = area.Max.X+sensitivityGap, area.Max.X+sensitivityGap+width
		row.drawPanel(c, area, row.right, e, false)
		top -= rttHead + row.height() + sensitivityFoot
	}
}

// values are those of both panels, in their order.
func (r sensitivityRow) values() []results.Value {
	if len(r.left.values) >= len(r.right.values) {
		return r.left.values
	}
	return r.right.values
}

func (r sensitivityRow) at(v results.Value) float64 {
	return float64(slices.Index(r.values(), v))
}

func (r sensitivityRow) drawPanel(c draw.Canvas, area vg.Rectangle, p variedPanel, e extent, first bool) {
	head := p.name + ": " + p.percentile.Title()
	if p.span != "" {
		head = p.name + ": " + p.span + " " + p.percentile.Title()
	}
	style := bold(textStyle(panelSize, ink))
	put(c, style, area.Min.X, area.Max.Y+6, shortened(style, head, area.Size().X))
	if len(p.curves) == 0 {
		put(c, textStyle(smallSize, softInk), area.Min.X+4, area.Max.Y-14, "too few samples for this percentile")
		return
	}
	chart := newPlot()
	marks := logTicks{most: max(3, int(area.Size().Y/18)), label: durationTick}
	chart.Add(levelLines{marks}, variedMarks{p, r.at, false})
	values := r.values()
	var ticks plot.ConstantTicks
	for i, v := range values {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: v.Text})
	}
	chart.X.Min, chart.X.Max = -0.4, math.Max(1, float64(len(values)))-0.6
	makeRoom(&chart.X, ticks, area.Size().X)
	chart.Y.Min, chart.Y.Max, chart.Y.Scale = e.lo, e.hi, logScale{}
	chart.Y.Tick.Marker = marks
	if first {
		chart.Y.Label.Text = "time, logarithmic"
	} else {
		chart.Y.Tick.Marker = nameless{marks}
	}
	data := place(chart, c, area)
	if first && len(r.right.curves) > 0 {
		return // the other panel has the names
	}
	x, y := chart.Transforms(&data)
	key := area.Max.X + 12
	placed := placeNames(p, area, sensitivityName, y)
	for i, curve := range p.curves {
		leadTo(c, p, i, vg.Point{X: key, Y: placed[i]}, r.at, x, y)
		name := textStyle(smallSize, ink)
		putMiddle(c, name, key+26, placed[i], shortened(name, curve.name, sensitivityLabels-40))
	}
}
