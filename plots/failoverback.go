package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// Measures of the figure of the way back, in points.
const (
	backNames   vg.Length = 168
	backNumbers vg.Length = 92
	backRow     vg.Length = 22 // height of a row, at least
	backHead    vg.Length = 20
	backFoot    vg.Length = 34
)

// backPages draws for each path how long nobody was granted a lock: from the
// fault to the first grant after it. It is drawn where paths have kinds, and so
// more than Sentinel's failover brings them back.
func (f faults) backPages() []page {
	chosen := backChoice(f.record.Scenarios)
	if len(chosen) < 2 || chosen[0].Kind == "" {
		return nil
	}
	body := newBackBody(faultKinds(chosen))
	return []page{{
		title: "How long no lock is granted, path by path",
		subtitle: f.caption(trialsOf(chosen, "of each path"),
			"From the fault to the first grant after it. Small: each trial. Bar: median, with its interval at 95 % where there are trials enough. "+
				"Below each name: what was done, as not every service can have the same fault."),
		notes:  backNotes(chosen),
		height: backHead + body.stack.height + backFoot,
		body:   body.draw,
	}}
}

// backChoice picks a scenario for each path: the main one without a variant,
// else its first one that tells when the first grant came.
func backChoice(all []results.Scenario) []results.Scenario {
	usable := only(all, func(s results.Scenario) bool { return s.Times[results.FirstGrant].N > 0 })
	rank := func(s results.Scenario) int {
		switch {
		case s.Scenario == mainScenario && s.Variant == "":
			return 0
		case s.Timed:
			return 1
		}
		return 2
	}
	var chosen []results.Scenario
	for _, path := range distinct(usable, columnOf) {
		own := only(usable, func(s results.Scenario) bool { return columnOf(s) == path })
		chosen = append(chosen, slices.MinFunc(own, func(a, b results.Scenario) int { return rank(a) - rank(b) }))
	}
	columns := faultColumns(all)
	slices.SortFunc(chosen, func(a, b results.Scenario) int {
		return slices.Index(columns, columnOf(a)) - slices.Index(columns, columnOf(b))
	})
	return chosen
}

// backNotes says where some trials had no grant any more.
func backNotes(chosen []results.Scenario) []string {
	for _, s := range chosen {
		if s.Times[results.FirstGrant].N < valid(s) {
			return []string{"n: trials in which a lock was granted again while they were watched, where not all were."}
		}
	}
	return nil
}

// backBody is the body of the figure.
type backBody struct {
	scenarios []results.Scenario
	stack     stack
	time      extent // nanoseconds
}

func newBackBody(groups []results.KindGroup[results.Scenario]) backBody {
	b := backBody{scenarios: flat(groups), time: newExtent()}
	b.stack = newStack(groups, func(s results.Scenario) vg.Length { return max(backRow, heightOf(backName(s))+4) })
	for _, s := range b.scenarios {
		st := firstGrant(s)
		b.time.add(st.trials...)
		b.time.add(st.median, st.low, st.high)
	}
	b.time = b.time.logPadded(1.15)
	return b
}

// firstGrant is the step that ends the time without a grant.
func firstGrant(s results.Scenario) stepTime {
	return stepTimes(s)[len(stepLooks)-1]
}

// backName labels a row: the path, and what was done.
func backName(s results.Scenario) []paragraph {
	const width = backNames - 10
	done := s.Label()
	if s.DownAfterNS > 0 {
		done = joined(", ", done, settingsOf(s)[1])
	}
	name := []paragraph{wrapped(bold(textStyle(labelSize, ink)), s.Path, width)}
	for _, detail := range present([]string{optionsOf(results.Path{Options: s.Options}), done}) {
		name = append(name, wrapped(textStyle(safetyText, softInk), detail, width))
	}
	return name
}

// draw draws the rows.
func (b backBody) draw(c draw.Canvas) {
	area := room(c, backNames, backNumbers, backFoot, backHead)
	b.stack.draw(c, area.Max.Y)
	put(c, bold(textStyle(panelSize, ink)), area.Min.X, area.Max.Y+6, "First grant after the fault")
	place(b.chart(), c, area)
	number := aligned(textStyle(smallSize, ink), draw.XRight)
	for row, s := range b.scenarios {
		middle := area.Max.Y - b.stack.middle(row)
		name := backName(s)
		write(c, name, c.Min.X+3, middle+heightOf(name)/2)
		level := s.Times[results.FirstGrant]
		text := results.FormatDuration(level.MedianNS)
		if level.N < valid(s) {
			text += fmt.Sprintf(", n %d of %d", level.N, valid(s))
		}
		putMiddle(c, number, c.Max.X-4, middle, text)
	}
}

// chart makes the gonum plot, whose vertical axis is in points.
func (b backBody) chart() *plot.Plot {
	chart := newPlot()
	chart.Add(&plotter.Grid{Vertical: line(0.5, gridGrey)}, backMarks(b))
	chart.X.Min, chart.X.Max, chart.X.Scale = b.time.lo, b.time.hi, logScale{}
	chart.X.Tick.Marker = logTicks{most: 7, label: durationTick}
	chart.X.Label.Text = "time from the fault, logarithmic"
	chart.Y.Min, chart.Y.Max = 0, float64(b.stack.height)
	chart.Y.Tick.Marker = plot.ConstantTicks(nil)
	return chart
}

// backMarks draws the trials, the medians and their intervals.
type backMarks backBody

// Plot implements plot.Plotter.
func (b backMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for row, s := range b.scenarios {
		st, at := firstGrant(s), y(b.stack.onAxis(row))
		glyph := draw.GlyphStyle{Color: blue, Radius: 1.8, Shape: draw.RingGlyph{}}
		for i, ns := range st.trials {
			spreadOut := vg.Length(0)
			if n := len(st.trials); n > 1 {
				spreadOut = 10 * (vg.Length(i)/vg.Length(n-1) - 0.5)
			}
			c.DrawGlyph(glyph, vg.Point{X: x(ns), Y: at + spreadOut})
		}
		if math.IsNaN(st.median) {
			continue
		}
		c.StrokeLine2(line(2, ink), x(st.median), at-7, x(st.median), at+7)
		if !math.IsNaN(st.low) && !math.IsNaN(st.high) {
			drawInterval(c, ink, x(st.low), x(st.high), at)
		}
	}
}
