package results

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// title is the moment's name in the table.
func (m Moment) title() string {
	switch m {
	case FirstGrantA:
		return "grant, 1st client"
	case FirstGrantB:
		return "grant, 2nd client"
	case Refusal:
		return "first refusal"
	}
	return strings.ReplaceAll(string(m), "_", " ")
}

// times has a row for each moment and a column for each path of a scenario.
func (t *failoverTable) times() {
	titled := false
	for _, b := range t.blocks {
		rows := b.timeRows()
		if len(rows) < 2 {
			continue
		}
		if !titled {
			titled = true
			t.title("Time from the fault, in ms: median over trials [interval at 95 % or more, from 6 trials on]")
			t.print(wrap("", "", t.timeLegend()))
		}
		fmt.Fprintln(t.out)
		t.print(wrap("", "  ", b.label+b.beside(t.record.Plan)))
		t.grid(rows)
	}
}

// beside says that a block's trials shared the machine.
func (b failoverBlock) beside(plan FailoverPlan) string {
	if b.paths[0].Timed || plan.SideBySide == 1 {
		return ""
	}
	return " (trials ran beside others, which delays them)"
}

func (b failoverBlock) timeRows() columns {
	rows := columns{append([]string{""}, pathLabels(b.paths)...)}
	for _, moment := range Moments {
		row, found := []string{moment.title()}, false
		for _, s := range b.paths {
			l, ok := s.Times[moment]
			found = found || ok
			row = append(row, timeCell(l, ok, s.Trials-s.Void))
		}
		if found {
			rows = append(rows, row)
		}
	}
	return rows
}

// timeCell is a median in milliseconds, with the number of trials that have
// the moment where some of those that count do not.
func timeCell(l Level, ok bool, counted int) string {
	if !ok {
		return absent
	}
	ms := func(ns int64) string { return threeDigits(float64(ns) / 1e6) }
	cell := ms(l.MedianNS)
	if l.LowNS != nil && l.HighNS != nil {
		cell += fmt.Sprintf(" [%s, %s]", ms(*l.LowNS), ms(*l.HighNS))
	}
	if l.N < counted {
		cell += fmt.Sprintf(" n=%d", l.N)
	}
	return cell
}

// timeLegend explains the moments that do not count from the fault.
func (t *failoverTable) timeLegend() string {
	var exceptions []string
	for _, e := range []struct {
		moment Moment
		text   string
	}{
		{WithoutGrant, "the longest stretch without any grant"},
		{Rejoined, "from the restart until the replica is online again"},
		{OldStopped, "from when the old primary woke until it accepts no more writes"},
		{OrphanedFor, "the longest that a lock is left without a holder"},
	} {
		if slices.ContainsFunc(t.record.Scenarios, func(s Scenario) bool { _, ok := s.Times[e.moment]; return ok }) {
			exceptions = append(exceptions, e.moment.title()+": "+e.text)
		}
	}
	text := "n: trials that came to it, where not all did."
	if len(exceptions) > 0 {
		text += " Not from the fault: " + strings.Join(exceptions, "; ") + "."
	}
	return text
}

// latencies are the response of grants, of scenarios that ran alone.
func (t *failoverTable) latencies() {
	titled := false
	for _, b := range t.blocks {
		rows := columns{{"", "before", "", "", "during", "", "", "after", "", ""},
			{"path", "grants", "P50", "P99", "grants", "P50", "P99", "grants", "P50", "P99"}}
		for _, s := range b.paths {
			if s.Timed && len(s.Phases) > 0 {
				rows = append(rows, phaseRow(s))
			}
		}
		if len(rows) == 2 {
			continue
		}
		if !titled {
			titled = true
			t.title("Response of granted acquisitions, all trials merged (scenarios that ran alone)")
			t.print(wrap("", "", "During: from the fault to the first grant after it, or while it lasts."))
		}
		fmt.Fprintln(t.out)
		t.print(wrap("", "  ", b.label))
		t.grid(rows)
	}
}

func phaseRow(s Scenario) []string {
	row := []string{s.PathLabel()}
	for _, phase := range Phases {
		span := s.Phases[phase]
		row = append(row, fmt.Sprint(span.Count), spanCell(span, P50), spanCell(span, P99))
	}
	return row
}

func spanCell(s Span, p Percentile) string {
	ns, ok := s.At(p)
	if !ok {
		return absent
	}
	return FormatDuration(ns)
}

// facts are what only some scenarios have.
func (t *failoverTable) facts() {
	titled := false
	for _, b := range t.blocks {
		rows := columns{{"path", "", "median", "least", "greatest", "trials"}}
		for _, s := range b.paths {
			rows = append(rows, factRows(s)...)
		}
		if len(rows) == 1 {
			continue
		}
		if !titled {
			titled = true
			t.title("Facts of single scenarios: median over trials")
		}
		fmt.Fprintln(t.out)
		t.print(wrap("", "  ", b.label))
		t.print(rows.lines())
	}
}

func factRows(s Scenario) columns {
	values := map[string][]float64{}
	for _, trial := range s.counted() {
		for name, value := range trial.Facts {
			values[name] = append(values[name], float64(value))
		}
	}
	var rows columns
	label := s.PathLabel()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		words, isDuration := strings.CutSuffix(name, "_ns")
		rows = append(rows, []string{label, strings.ReplaceAll(words, "_", " "),
			factCell(medianOf(v).center, isDuration), factCell(slices.Min(v), isDuration),
			factCell(slices.Max(v), isDuration), fmt.Sprint(len(v))})
		label = ""
	}
	return rows
}

func factCell(value float64, isDuration bool) string {
	if isDuration {
		return FormatDuration(round(value))
	}
	if value == math.Trunc(value) {
		return fmt.Sprintf("%.0f", value)
	}
	return fmt.Sprintf("%.1f", value) // between the middle two
}
