package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// stage is a part of the job, and how it is filled: dark, light and hatched
// stay apart in grey.
type stage struct {
	name    string
	span    results.SpanName // "" for what the total has beyond the stages
	fill    color.Color
	hatched bool
}

// stages are stacked in the order in which they happen; the rest is at the
// end, wherever it fell.
var stages = []stage{
	{"acquire", results.SpanAcquire, blue, false},
	{"effect", results.SpanEffect, yellow, false},
	{"release", results.SpanRelease, orange, true},
	{"rest", "", color.RGBA{R: 0xc8, G: 0xc8, B: 0xc8, A: 0xff}, false},
}

// stageRow is one path's bar: the mean of each stage in nanoseconds, and the
// lowest and highest mean total of a single run.
type stageRow struct {
	series    series
	means     []float64 // as in stages
	total     float64
	low, high float64
}

// Measures of the stages figure, in points.
const (
	stageNames  vg.Length = 118
	stageColumn vg.Length = 50 // of numbers, one a stage and one for the total
	stageRoom   vg.Length = 34 // least height of a row
	stageTight  vg.Length = 21 // the same where there are many
	stageHead   vg.Length = 24
	stageFoot   vg.Length = 36
)

// stagesPage draws where the time goes on average.
func stagesPage(s *study) ([]page, error) {
	groups := results.GroupByKind(sorted(s.series, isPath), func(one series) results.Kind { return one.path.Kind })
	if hasKinds(s.series) {
		groups = byKind(s.series)
	}
	body := stageBody{stack: stageStack(groups)}
	for _, one := range flat(groups) {
		body.rows = append(body.rows, stageRowOf(one))
	}
	body.columns = shownStages(body.rows)
	return []page{{
		title: "Where the time goes: mean time of each stage",
		alarm: s.alarm(),
		subtitle: s.caption("Means of granted operations over all runs; unlike percentiles they add up. " +
			"Whisker: the lowest and highest mean of a single run."),
		notes:  s.footnotes(restNote(body)),
		height: stageHead + max(stageRoom, body.stack.height) + stageFoot,
		body:   body.draw,
	}}, nil
}

// stageRowOf weighs the runs' means by their samples.
func stageRowOf(one series) stageRow {
	row := stageRow{series: one, means: make([]float64, len(stages)), low: math.Inf(1), high: math.Inf(-1)}
	row.total = meanOf(one.runs, results.SpanTotal)
	rest := row.total
	for i, st := range stages {
		if st.span != "" && !(one.path.Lockless() && st.span != results.SpanEffect) {
			row.means[i] = meanOf(one.runs, st.span)
			rest -= row.means[i]
		}
	}
	const rounding = 0.01 // a run's stages are kept to the nanosecond, its total too
	if rest > rounding*row.total {
		row.means[len(stages)-1] = rest
	}
	if row.total == 0 {
		row.total = -rest
	}
	for _, run := range one.runs {
		if span, ok := run.Spans[results.SpanTotal]; ok && span.Count > 0 {
			row.low = math.Min(row.low, float64(span.MeanNS))
			row.high = math.Max(row.high, float64(span.MeanNS))
		}
	}
	return row
}

// meanOf is the mean of a span over all samples of the runs, in nanoseconds.
func meanOf(runs []results.Run, name results.SpanName) float64 {
	var sum, n float64
	for _, run := range runs {
		span := run.Spans[name]
		sum += float64(span.MeanNS) * float64(span.Count)
		n += float64(span.Count)
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// shownStages lists the stages that any row has.
func shownStages(rows []stageRow) []int {
	var shown []int
	for i := range stages {
		for _, row := range rows {
			if row.means[i] > 0 {
				shown = append(shown, i)
				break
			}
		}
	}
	return shown
}

// restNote explains the rest where there is one.
func restNote(b stageBody) string {
	for _, i := range b.columns {
		if stages[i].span == "" {
			return "Rest: what the whole job took beyond its stages, such as the time that the lock was held on purpose."
		}
	}
	return ""
}

// stageBody is the body of the stages figure: names, bars, and a table of
// the values whose heads are the legend.
type stageBody struct {
	rows    []stageRow
	stack   stack
	columns []int // of stages that are shown
}

// stageName labels a row.
func stageName(one series) []paragraph {
	remark := ""
	if one.path.Floor && one.path.Kind == "" {
		remark = "floor"
	}
	return rowName(one, stageNames-10, remark)
}

// stageStack lays the rows out: all as high as the highest, but where there
// are many each as high as its name.
func stageStack(groups []results.KindGroup[series]) stack {
	least, many := stageRoom, len(flat(groups)) > manyRows
	if many {
		least = stageTight
	}
	rows := newStack(groups, func(one series) vg.Length { return max(least, heightOf(stageName(one))+4) })
	if !many {
		rows = rows.equal()
	}
	return rows
}

// draw draws the body.
func (b stageBody) draw(c draw.Canvas) {
	table := vg.Length(len(b.columns)+1) * stageColumn
	area := room(c, stageNames, table+8, stageFoot, stageHead)
	if len(b.rows) == 0 {
		putNothing(c)
		return
	}
	if len(b.stack.headings) > 0 {
		b.stack.draw(c, area.Max.Y)
	}
	data := place(b.chart(), c, area)
	for row, one := range b.rows {
		middle := data.Max.Y - b.stack.middle(row)
		name := stageName(one.series)
		write(c, name, c.Min.X+3, middle+heightOf(name)/2)
	}
	b.drawTable(c, data)
}

// chart makes the gonum plot of the bars.
func (b stageBody) chart() *plot.Plot {
	chart := newPlot()
	chart.Add(&plotter.Grid{Vertical: line(0.5, gridGrey)}, stageBars(b))
	longest := 1.0
	for _, row := range b.rows {
		longest = max(longest, row.total, row.high)
	}
	chart.X.Min, chart.X.Max = 0, longest*1.04
	chart.X.Tick.Marker = linearTicks{most: 6, label: durationTick}
	chart.X.Label.Text = "mean time per operation, linear"
	chart.Y.Min, chart.Y.Max = 0, float64(b.stack.height)
	chart.Y.Tick.Marker = plot.ConstantTicks(nil)
	return chart
}

// drawTable prints every value, for the parts of a bar that are too short
// for a label, under a head which shows the stage's fill.
func (b stageBody) drawTable(c, data draw.Canvas) {
	style := aligned(textStyle(smallSize, ink), draw.XRight)
	for column := range len(b.columns) + 1 {
		right := data.Max.X + 8 + vg.Length(column+1)*stageColumn
		heads := bold(style)
		head, value := "total", func(r stageRow) float64 { return r.total }
		if column < len(b.columns) {
			i := b.columns[column]
			head, value = stages[i].name, func(r stageRow) float64 { return r.means[i] }
			swatch := vg.Rectangle{
				Min: vg.Point{X: right - heads.Width(head) - 12, Y: data.Max.Y + 7},
				Max: vg.Point{X: right - heads.Width(head) - 4, Y: data.Max.Y + 15},
			}
			fillStage(c, stages[i], swatch)
		}
		put(c, heads, right, data.Max.Y+8, head)
		for row, r := range b.rows {
			text := "–"
			if v := value(r); v > 0 {
				text = results.FormatDuration(int64(math.Round(v)))
			}
			putMiddle(c, style, right, data.Max.Y-b.stack.middle(row), text)
		}
	}
}

// stageBars draws the stacks.
type stageBars stageBody

// Plot implements plot.Plotter.
func (b stageBars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for row, r := range b.rows {
		middle := y(b.stack.onAxis(row))
		from := 0.0
		for _, i := range b.columns {
			if r.means[i] == 0 {
				continue
			}
			fillStage(c, stages[i], vg.Rectangle{
				Min: vg.Point{X: x(from), Y: middle - 8},
				Max: vg.Point{X: x(from + r.means[i]), Y: middle + 8},
			})
			from += r.means[i]
		}
		if r.low < r.high {
			drawInterval(c, ink, x(r.low), x(r.high), middle)
		}
	}
}

// fillStage fills a rectangle in a stage's style, with an outline.
func fillStage(c draw.Canvas, st stage, r vg.Rectangle) {
	c.SetColor(st.fill)
	c.Fill(r.Path())
	if st.hatched {
		hatch(c, r)
	}
	c.SetLineStyle(line(0.5, ink))
	c.Stroke(r.Path())
}

// hatch draws diagonals through a rectangle.
func hatch(c draw.Canvas, r vg.Rectangle) {
	const step = 4
	h := r.Size().Y
	inside := draw.Canvas{Canvas: c.Canvas, Rectangle: r}
	for x := r.Min.X - h; x < r.Max.X; x += step {
		diagonal := []vg.Point{{X: x, Y: r.Min.Y}, {X: x + h, Y: r.Max.Y}}
		c.StrokeLines(line(0.6, ink), inside.ClipLinesXY(diagonal)...)
	}
}
