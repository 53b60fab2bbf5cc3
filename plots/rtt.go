package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"lockcost/results"
)

// trips are the conditions that a straight line against a round trip is
// expected of, and what is drawn of each.
var trips = []struct{ condition, title, whose string }{
	{"replica-rtt", "What a round trip to the replica adds to the acquire, beyond plain setnx", "to the replica"},
	{"client-rtt", "The acquire against the client's round trip", "between client and servers"},
}

// isTrip tells whether a condition has a page of rtt.
func isTrip(name string) bool {
	return slices.ContainsFunc(trips, func(t struct{ condition, title, whose string }) bool { return t.condition == name })
}

// rttPages draw the sensitivity to round trips: a page for each whose trip it
// was.
func rttPages(s sweep) (pages []page, missing string) {
	for _, trip := range trips {
		p50, p99 := s.varied(trip.condition, results.P50), s.varied(trip.condition, results.P99)
		if len(p50.curves)+len(p99.curves) == 0 {
			continue
		}
		what := "level"
		if p50.cost {
			what = "cost over setnx"
		}
		body := rttBody{panels: []variedPanel{p50, p99}, axis: "round trip added " + trip.whose, value: what}
		pages = append(pages, page{
			title:    trip.title,
			subtitle: s.caption(trip.condition, s.variedLoad(trip.condition), rttMethod(what, p50, p99)),
			notes:    present(append(s.variedNotes(p50, p99), lineNotes(p50), s.down())),
			height:   body.height(),
			body:     body.draw,
		})
	}
	if len(pages) == 0 {
		return nil, "no value of a round trip was measured"
	}
	return pages, ""
}

// variedPanel is one percentile of the paths against one condition.
type variedPanel struct {
	name       string // of the condition
	percentile results.Percentile
	span       string
	cost       bool // differences from setnx, and not levels
	values     []results.Value
	curves     []variedCurve
}

// variedCurve is one path in it.
type variedCurve struct {
	name string
	look look
	dots []variedDot
	line *results.SensitivityLine
}

// variedDot is the path at one value.
type variedDot struct {
	results.Value
	ns, low, high float64 // NaN where there is no interval
	doubtful      bool
	bound         results.Bound
}

// varied is what a condition does to a percentile.
func (s sweep) varied(name string, p results.Percentile) variedPanel {
	panel := variedPanel{name: name, percentile: p}
	for _, one := range s.record.Sensitivity {
		if one.Name != name || one.Percentile != p {
			continue
		}
		panel.cost = panel.cost || one.Of == "cost"
		curve := variedCurve{name: one.Label(), look: s.lookOf(one.Label()), line: one.Line}
		if one.Of == "cost" && (results.Path{Path: one.Path, Options: one.Options}).IsBaseline() {
			continue // it costs nothing beyond itself
		}
		for _, at := range one.Values {
			dot, ok := dotOf(at, one.Of == "cost")
			if !ok {
				continue
			}
			curve.dots = append(curve.dots, dot)
			if !slices.Contains(panel.values, at.Value) {
				panel.values = append(panel.values, at.Value)
			}
		}
		if len(curve.dots) > 0 {
			panel.curves = append(panel.curves, curve)
		}
		if span := string(one.Span); !strings.Contains(panel.span, span) {
			panel.span = joined(" or ", panel.span, span)
		}
	}
	slices.SortFunc(panel.values, func(a, b results.Value) int {
		switch {
		case a.Number < b.Number:
			return -1
		case a.Number > b.Number:
			return 1
		}
		return strings.Compare(a.Text, b.Text)
	})
	return panel
}

// dotOf is a path at one value, false where nothing is known of it.
func dotOf(at results.SensitivityAt, cost bool) (variedDot, bool) {
	dot := variedDot{Value: at.Value, low: math.NaN(), high: math.NaN(), doubtful: at.Doubt != ""}
	low, high := at.Level.LowNS, at.Level.HighNS
	switch {
	case cost && at.Cost == nil, !cost && at.Level.N == 0:
		return dot, false
	case cost:
		dot.ns, dot.bound = float64(at.Cost.DeltaNS), at.Cost.Bound
		low, high = at.Cost.DeltaLowNS, at.Cost.DeltaHighNS
	default:
		dot.ns = float64(at.Level.MedianNS)
		if at.Level.LowerBound {
			dot.bound = results.BoundLower
		}
	}
	if low != nil && high != nil {
		dot.low, dot.high = float64(*low), float64(*high)
	}
	return dot, true
}

// variedLoad says at what rate a condition was varied, and how often.
func (s sweep) variedLoad(name string) string {
	rates, least, most := newExtent(), math.MaxInt, 0
	samples := newExtent()
	for _, p := range s.record.Points {
		if p.Varied == nil || p.Varied.Name != name {
			continue
		}
		rates.add(p.RatePerS)
		least, most = min(least, len(p.Runs)), max(most, len(p.Runs))
		granted := int64(0)
		for _, run := range p.Usable() {
			granted += run.Granted
		}
		samples.add(float64(granted))
	}
	if rates.empty() {
		return ""
	}
	rate := rateText(rates.lo)
	if rates.lo != rates.hi {
		rate += " to " + rateText(rates.hi)
	}
	return joined(separator, rate, between(least, most, "run")+" a value", samplesText(samples)+" a value")
}

func rttMethod(what string, panels ...variedPanel) string {
	text := "Dots: " + what + ", median over the blocks"
	if slices.ContainsFunc(panels, variedPanel.bounded) {
		text += ", with its interval"
	} else {
		text += "; too few for intervals"
	}
	return text + ". Lines: fitted by least squares in each block, the medians of slope and intercept."
}

// bounded tells whether any dot has an interval.
func (p variedPanel) bounded() bool {
	for _, curve := range p.curves {
		if slices.ContainsFunc(curve.dots, func(d variedDot) bool { return !math.IsNaN(d.low) }) {
			return true
		}
	}
	return false
}

// variedNotes explain the dots that are not plain, and say which values are in
// doubt. The panels are of one condition.
func (s sweep) variedNotes(panels ...variedPanel) []string {
	has := func(is func(variedDot) bool) bool {
		return slices.ContainsFunc(panels, func(p variedPanel) bool {
			return slices.ContainsFunc(p.curves, func(c variedCurve) bool { return slices.ContainsFunc(c.dots, is) })
		})
	}
	var notes []string
	if has(func(d variedDot) bool { return d.doubtful }) {
		notes = append(notes, "Hollow dots are in doubt.")
	}
	if has(func(d variedDot) bool { return d.bound != "" }) {
		notes = append(notes, "Arrows: a bound, as the slowest operations are missing; two arrows where they are missing on both sides, so that nothing is known.")
	}
	for _, one := range s.record.Sensitivity {
		if one.Name != panels[0].name || one.Percentile != results.P50 {
			continue
		}
		for _, at := range one.Values {
			if at.Doubt != "" {
				notes = append(notes, fmt.Sprintf("%s at %s: %s.", one.Label(), at.Text, at.Doubt))
			}
		}
	}
	return notes
}

// lineNotes say what slope is expected, and why there is no line.
func lineNotes(p variedPanel) string {
	text := ""
	for _, curve := range p.curves {
		if curve.line != nil && text == "" && curve.line.Expected != "" {
			text = "Expected slope: " + curve.line.Expected + "."
		}
	}
	for _, curve := range p.curves {
		if curve.line == nil {
			return joined(" ", text, "No line where fewer than three values were measured in one block.")
		}
	}
	return text
}

// formula is a line in words: what it starts at, and its slope.
func formula(l *results.SensitivityLine) (start, slope string) {
	start = duration(l.InterceptNS)
	if l.InterceptLow != nil && l.InterceptHigh != nil {
		start += fmt.Sprintf(" [%s to %s]", duration(*l.InterceptLow), duration(*l.InterceptHigh))
	}
	slope = "+ " + slopeText(l.Slope)
	if l.Slope < 0 {
		slope = minus + " " + slopeText(-l.Slope)
	}
	if l.SlopeLow != nil && l.SlopeHigh != nil {
		slope += fmt.Sprintf(" [%s to %s]", slopeText(*l.SlopeLow), slopeText(*l.SlopeHigh))
	}
	return start, slope + fmt.Sprintf(" × RTT, R² %s", r2Text(l.R2Ratio))
}

// duration prints nanoseconds with a sign that is as wide as a plus.
func duration(ns float64) string {
	if ns < 0 {
		return minus + results.FormatDuration(int64(math.Round(-ns)))
	}
	return results.FormatDuration(int64(math.Round(ns)))
}

// slopeText prints a slope to three decimals, and none of them with a sign for
// zero.
func slopeText(v float64) string {
	return strings.Replace(fmt.Sprintf("%.3f", math.Round(v*1e3)/1e3+0), "-", minus, 1)
}

// r2Text prints a share that is near 1 with the digits that tell how near.
func r2Text(r float64) string {
	if r >= 0.99 && r < 1 {
		return fmt.Sprintf("%.5f", math.Floor(r*1e5)/1e5)
	}
	return fmt.Sprintf("%.3f", r)
}

// rttBody is the body of the figure: a panel for each percentile.
type rttBody struct {
	panels      []variedPanel
	axis, value string
}

// Measures of the figure, in points.
const (
	rttAxis   vg.Length = 52
	rttLabels vg.Length = 196 // right of the panels
	rttHead   vg.Length = 20
	rttFoot   vg.Length = 34
	rttLeast  vg.Length = 170 // height of a panel
	rttLabel  vg.Length = 32  // height of a label with its formula
)

// panelHeight has room for all labels.
func (b rttBody) panelHeight(p variedPanel) vg.Length {
	return max(rttLeast, vg.Length(len(p.curves))*rttLabel+6)
}

func (b rttBody) height() (h vg.Length) {
	for _, p := range b.panels {
		if len(p.curves) > 0 {
			h += rttHead + b.panelHeight(p) + rttFoot
		}
	}
	return h
}
