package results

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteCapacityTable writes the record of a sweep as text for a terminal, at
// most 100 columns wide: the highest rate of each path under each SLO, what
// set its limit, closed beside open loops at the edge, and what the costs
// depend on. It reads Paths and Sensitivity as Conclude left them.
func WriteCapacityTable(w io.Writer, c *Capacity) error {
	out := bufio.NewWriter(w)
	t := capacityTable{page: page{out}, record: c}
	t.header()
	t.notRun(c.Plan.NotRun)
	t.answers()
	t.closedLoops()
	t.sensitivities()
	t.notes()
	return out.Flush()
}

// capacityTable writes the parts of the summary.
type capacityTable struct {
	page
	record *Capacity
}

func (t *capacityTable) header() {
	plan := t.record.Plan
	job := "acquire and release only"
	if plan.Effect == EffectCharge {
		job = "charging an order under the lock"
	}
	t.print(wrap("", "", fmt.Sprintf("%s: capacity, %s, %s arrivals%s",
		t.record.StartedAt.UTC().Format("2006-01-02 15:04 UTC"), job, plan.Arrivals, contention(plan))))
	t.print(wrap("", "", t.record.Environment.Topology))
	if len(t.record.Down) > 0 {
		t.print(wrap("", "", "Down while all of this was measured: "+strings.Join(t.record.Down, ", ")))
	}
	if t.record.Interrupted {
		t.print(wrap("", "", "UNFINISHED: this is what is known so far; the same command with --out goes on."))
	}
}

// answers are the highest rates.
func (t *capacityTable) answers() {
	for _, slo := range t.record.Search.SLOs {
		t.title("Highest rate at " + slo.Title())
		rows := columns{{"path", "passes", "fails", "limit", "there", "at most", "knee", "runs"}}
		var reasons []string
		for _, a := range t.record.Paths {
			if a.SLO != slo {
				continue
			}
			rows = append(rows, answerRow(a))
			if a.Reason != "" {
				reasons = append(reasons, fmt.Sprintf("%s at %s/s: %s.", a.Label(), FormatRate(*a.FirstFailingPerS), a.Reason))
			}
		}
		t.print(rows.lines())
		for _, reason := range reasons {
			t.print(wrap("  - ", "    ", reason))
		}
	}
}

func answerRow(a Answer) []string {
	low, high := Boundary(a.Steps)
	rate := func(perS *float64) string {
		if perS == nil {
			return "–"
		}
		return FormatRate(*perS) + "/s"
	}
	row := []string{a.Label(), rate(a.MaxRatePerS), rate(a.FirstFailingPerS), string(a.Limit), "–", "–", rate(a.KneeRatePerS)}
	if a.MaxRatePerS == nil && a.FirstFailingPerS != nil {
		row[1] = "no rate"
	}
	if low != nil {
		row[4], row[5] = FormatDuration(*low.ValueNS), FormatDuration(*low.UpperNS)
	}
	var runs []string
	for _, step := range []*Step{low, high} {
		if step == nil {
			runs = append(runs, "–")
			continue
		}
		text := fmt.Sprint(step.Runs)
		if step.Invalid > 0 {
			text += fmt.Sprintf("(+%d invalid)", step.Invalid)
		}
		runs = append(runs, text)
	}
	return append(row, strings.Join(runs, ", "))
}

// closedLoops stand beside the open ones at the edge.
func (t *capacityTable) closedLoops() {
	rows := columns{{"path", "clients", "closed", "its percentile", "open", "its percentile", "of"}}
	for _, a := range t.record.Paths {
		if a.Closed == nil || a.Closed.ValueNS == nil {
			continue
		}
		rows = append(rows, []string{
			a.Label(), fmt.Sprint(a.Closed.Clients), FormatRate(float64(round(a.Closed.AchievedPerS))) + "/s", FormatDuration(*a.Closed.ValueNS),
			FormatRate(a.Closed.Open.RatePerS) + "/s", FormatDuration(*a.Closed.Open.ValueNS), fmt.Sprintf("%s %s", a.SLO.Span, a.SLO.Percentile.Title()),
		})
	}
	if len(rows) == 1 {
		return
	}
	t.title("At the edge: a closed loop of as many clients as the open loop had operations in flight")
	t.print(rows.lines())
	t.print(wrap("  ", "  ", "A closed loop waits for each answer before it asks again: while the system stalls it asks for "+
		"nothing, and counts the stall once for each client. Its percentile is not what callers see."))
}

// sensitivities are a table for each condition, and the lines.
func (t *capacityTable) sensitivities() {
	for _, vary := range t.record.Search.Varied {
		var of []Sensitivity
		for _, s := range t.record.Sensitivity {
			if s.Name == vary.Name {
				of = append(of, s)
			}
		}
		if len(of) == 0 {
			continue
		}
		t.title(fmt.Sprintf("What depends on %s, at %s/s: %s, and its cost against setnx", vary.Name, FormatRate(of[0].RatePerS), of[0].Span))
		rows := columns{{"path", vary.Name, "P50", "cost", "P99", "cost"}}
		for i := 0; i+1 < len(of); i += 2 {
			rows = append(rows, sensitivityRows(of[i], of[i+1])...)
		}
		t.print(rows.lines())
		for _, s := range of {
			t.line(s)
		}
	}
}

// sensitivityRows are a path's values, its P50 beside its P99.
func sensitivityRows(p50, p99 Sensitivity) (rows columns) {
	for i, at := range p50.Values {
		row := []string{p50.Label(), at.Text, sensitivityLevel(at), sensitivityCost(at), sensitivityLevel(p99.Values[i]), sensitivityCost(p99.Values[i])}
		rows = append(rows, row)
	}
	return rows
}

func sensitivityLevel(at SensitivityAt) string {
	if at.Level.N == 0 {
		return "–"
	}
	text := FormatDuration(at.Level.MedianNS)
	if at.Level.LowerBound {
		text = "≥ " + text
	}
	return text
}

func sensitivityCost(at SensitivityAt) string {
	if at.Cost == nil {
		return "–"
	}
	return deltaCell(*at.Cost)
}

// line is a fitted line in a sentence.
func (t *capacityTable) line(s Sensitivity) {
	if text := s.LineText(); text != "" {
		t.print(wrap("  - ", "    ", text))
	}
}

// LineText is the fitted line in a sentence, "" where there is none.
func (s Sensitivity) LineText() string {
	l := s.Line
	if l == nil {
		return ""
	}
	slope := fmt.Sprintf("%.3g", l.Slope)
	unit := " × " + s.Name
	intercept := FormatDuration(round(l.InterceptNS))
	if s.Name == "tx-rows" {
		slope, unit = FormatDuration(round(l.Slope)), " for each row"
	}
	if l.SlopeLow != nil {
		low, high := fmt.Sprintf("%.3g", *l.SlopeLow), fmt.Sprintf("%.3g", *l.SlopeHigh)
		if s.Name == "tx-rows" {
			low, high = FormatDuration(round(*l.SlopeLow)), FormatDuration(round(*l.SlopeHigh))
		}
		slope += fmt.Sprintf(" [%s, %s]", low, high)
		intercept += fmt.Sprintf(" [%s, %s]", FormatDuration(round(*l.InterceptLow)), FormatDuration(round(*l.InterceptHigh)))
	}
	return fmt.Sprintf("%s, %s of the %s %s: %s plus %s%s; R² %.4f, at most %s off. Expected: %s.",
		s.Label(), s.Of, s.Span, s.Percentile.Title(), intercept, slope, unit, l.R2Ratio, FormatDuration(round(l.WorstNS)), l.Expected)
}

// notes are the sentences that belong to the numbers.
func (t *capacityTable) notes() {
	c := t.record
	var notes []string
	if len(c.Search.SLOs) > 0 {
		notes = append(notes,
			"A rate passes when the upper bound of its interval meets the SLO, it was achieved, and the instrument was valid. "+
				"\"there\" and \"at most\" are the SLO's percentile at the highest passing rate, its median over the runs and that bound.",
			strings.ToUpper(KneeDefinition[:1])+KneeDefinition[1:]+".")
	}
	for _, doubt := range c.Doubts() {
		notes = append(notes, doubt+".")
	}
	if c.Plan.Env != "external" && c.Plan.Env != "" {
		notes = append(notes, "All servers and the driver are on one machine, which is no production layout: the rates are this "+
			"machine's, and what they tell of yours is their order and their ratios.")
	}
	notes = append(notes, c.Environment.Notes...)
	t.title("Notes")
	for _, note := range notes {
		t.print(wrap("  - ", "    ", note))
	}
}
