package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// costPercentiles are the percentiles whose cost is drawn, and how: the
// shape tells them apart without colour.
var costPercentiles = []struct {
	percentile results.Percentile
	shape      draw.GlyphDrawer
	hollow     draw.GlyphDrawer // for runs that are not valid
	color      color.Color
}{
	{results.P50, draw.CircleGlyph{}, draw.RingGlyph{}, blue},
	{results.P99, draw.PyramidGlyph{}, draw.TriangleGlyph{}, vermillion},
	{results.P999, draw.BoxGlyph{}, draw.SquareGlyph{}, black},
}

// costDot is one percentile of one path's cost, in the unit of its panel: a
// multiple of setnx, or nanoseconds of difference. Low and high are NaN where
// there is no interval.
type costDot struct {
	row, slot        int // which path, which of costPercentiles
	value, low, high float64
	text             string
	beside           string // the difference, where it has no panel of its own
	doubtful         bool   // of runs that are not valid
}

// costPanel is one of the figure's panels.
type costPanel struct {
	title string
	span  results.SpanName
	ratio bool // else difference
	// doubtful says that setnx is invalid, and so every dot.
	doubtful bool
	both     bool // the difference stands in numbers beside the multiple
	dots     []costDot
	blank    map[int]string // rows without a dot, and why
}

// costPage draws what each path costs beside plain setnx.
func costPage(s *study) ([]page, error) {
	grid := newCostGrid(s)
	title := "What each path costs beside plain setnx, at P50, P99 and P99.9"
	if len(grid.rows) < 2 {
		title = "Cost beside plain setnx: nothing to compare"
	}
	return []page{{
		title:    title,
		alarm:    s.alarm(),
		subtitle: s.caption(costMethod(grid.rows), costDurability(grid.rows)),
		notes:    s.footnotes(costNotes(grid.rows)...),
		height:   grid.height(),
		body:     grid.draw,
	}}, nil
}

// manyRows is how many rows are a page: more of them are set closer, and the
// differences of costs have no panels of their own.
const manyRows = 9

// costRows lists the paths that get a row: by kind, and setnx first.
func (s *study) costRows() []series { return flat(byKind(s.paths())) }

// costPanels fills the panels: acquire, and the whole job where there is one;
// multiples of setnx and, unless the rows are many, differences from it.
func (s *study) costPanels(rows []series) []costPanel {
	spans := []struct {
		span results.SpanName
		name string
	}{{results.SpanAcquire, "Acquire"}}
	if s.whole() {
		spans = append(spans, struct {
			span results.SpanName
			name string
		}{results.SpanTotal, "Whole job"})
	}
	var panels []costPanel
	tiers := []bool{true, false}
	if len(rows) > manyRows {
		tiers = tiers[:1]
	}
	for _, ratio := range tiers {
		for _, span := range spans {
			title := span.name + ": difference from setnx"
			if ratio {
				title = span.name + ": multiple of setnx"
			}
			if len(tiers) == 1 {
				title = span.name // the numbers beside it have heads of their own
			}
			panels = append(panels, fillCostPanel(costPanel{
				title: title, span: span.span, ratio: ratio, doubtful: s.baselineInvalid(), both: len(tiers) == 1,
			}, rows))
		}
	}
	return panels
}

// fillCostPanel adds the dots of every row.
func fillCostPanel(p costPanel, rows []series) costPanel {
	p.blank = map[int]string{}
	for row, one := range rows {
		before := len(p.dots)
		for slot := range costPercentiles {
			if dot, ok := p.dot(one, row, slot); ok {
				p.dots = append(p.dots, dot)
			}
		}
		if len(p.dots) == before {
			p.blank[row] = "no block with enough samples of both"
			if one.path.Lockless() && p.span == results.SpanAcquire {
				p.blank[row] = "no lock to acquire"
			}
			if !hasBaseline(rows) {
				p.blank[row] = "no setnx to compare with"
			}
		}
	}
	return p
}

// dot returns one path's cost at one percentile. The baseline stands at 1×,
// or no difference, and its text is its own level.
func (p costPanel) dot(one series, row, slot int) (costDot, bool) {
	percentile := costPercentiles[slot].percentile
	dot := costDot{row: row, slot: slot, low: math.NaN(), high: math.NaN(), doubtful: one.mark != "" || p.doubtful}
	if one.baseline {
		level, ok := one.path.Summary[p.span][percentile]
		dot.text = results.FormatDuration(level.MedianNS)
		if level.LowerBound {
			dot.text = boundSigns[results.BoundLower] + dot.text
		}
		if p.ratio {
			dot.value = 1
		}
		return dot, ok && level.N > 0
	}
	cost, ok := one.path.Cost[p.span][percentile]
	if !ok || cost.N == 0 {
		return dot, false
	}
	if p.ratio {
		dot.value, dot.text = cost.Ratio, boundSigns[cost.Bound]+ratioText(cost.Ratio)
		if cost.RatioLow != nil && cost.RatioHigh != nil {
			dot.low, dot.high = *cost.RatioLow, *cost.RatioHigh
		}
		if p.both {
			dot.beside = boundSigns[cost.Bound] + signedDuration(cost.DeltaNS)
		}
		return dot, cost.Ratio > 0
	}
	dot.value, dot.text = float64(cost.DeltaNS), boundSigns[cost.Bound]+signedDuration(cost.DeltaNS)
	if cost.DeltaLowNS != nil && cost.DeltaHighNS != nil {
		dot.low, dot.high = float64(*cost.DeltaLowNS), float64(*cost.DeltaHighNS)
	}
	return dot, true
}

// boundSigns stand before numbers that lack their slowest operations.
var boundSigns = map[results.Bound]string{
	results.BoundLower: "≥ ", results.BoundUpper: "≤ ", results.BoundUnknown: "? ",
}

// isBound says whether the cost of a series is a bound and no value.
func isBound(one series) bool {
	for _, byPercentile := range one.path.Cost {
		for _, c := range byPercentile {
			if c.Bound != "" {
				return true
			}
		}
	}
	return false
}

// ratioText prints a multiple to three digits.
func ratioText(r float64) string {
	switch {
	case r >= 99.95:
		return grouped(int64(math.Round(r))) + "×"
	case r >= 9.995:
		return fmt.Sprintf("%.1f×", r)
	default:
		return fmt.Sprintf("%.2f×", r)
	}
}

// signedDuration prints a difference in its unit.
func signedDuration(ns int64) string {
	if ns < 0 {
		return minus + results.FormatDuration(-ns)
	}
	return "+" + results.FormatDuration(ns)
}

// hasBaseline says whether setnx is among the rows.
func hasBaseline(rows []series) bool {
	return slices.ContainsFunc(rows, isBaseline)
}

func isBaseline(one series) bool { return one.baseline }

// isControl says whether a series takes the baseline's own lock, so that its
// acquire shows the error of the comparison.
func isControl(one series) bool { return one.path.Path == "idempotent" && len(one.path.Options) == 0 }

// Measures of the grid of panels, in points.
const (
	costNames   vg.Length = 108 // column of path names
	costNumbers vg.Length = 48  // column of numbers beside each panel
	costBoth    vg.Length = 92  // columns of multiples and of differences
	costTight   vg.Length = 9.5 // height of one percentile where rows are many
	costGap     vg.Length = 12
	costSlot    vg.Length = 11 // height of one percentile
	costRowPad  vg.Length = 7
	costHead    vg.Length = 20 // panel title
	costFoot    vg.Length = 34 // axis
	costLegend  vg.Length = 18
)
