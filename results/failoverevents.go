package results

import (
	"fmt"
	"slices"
	"strings"
)

// words is the event's name in a text.
func (e Event) words() string { return strings.ReplaceAll(string(e), "_", " ") }

// events is, for each scenario, how often each path let each event through.
func (t *failoverTable) events() {
	if len(t.blocks) == 0 {
		return
	}
	t.title("What each path let through")
	t.print(wrap("", "", "3/10 [6.7–65 %] 14×: in 3 of the 10 trials that count it, with the exact 95 % interval of that share "+
		"(Clopper–Pearson), and 14 times in all. 0/10 ≤31 %: never seen, and up to 31 % of trials remain possible. "+
		absent+": cannot happen there, or was not looked for."))
	for _, b := range t.blocks {
		fmt.Fprintln(t.out)
		t.print(b.heading())
		t.eventGrid(b)
		if never := b.never(); never != "" {
			t.print(wrap("  ", "  ", never))
		}
	}
}

// eventGrid has a column for each event that happened in the block, and one
// for void trials where there were any.
func (t *failoverTable) eventGrid(b failoverBlock) {
	events, void := b.happened(), b.void()
	if len(events) == 0 && void == 0 {
		return
	}
	grid := func(intervals bool) columns {
		names := []string{"path"}
		if void > 0 {
			names = append(names, "void")
		}
		for _, event := range events {
			names = append(names, event.words())
		}
		rows := headed(names...)
		for _, s := range b.paths {
			rows = append(rows, eventRow(s, events, void > 0, intervals))
		}
		return rows
	}
	rows := grid(true)
	if !fits(rows.lines()) {
		rows = grid(false)
	}
	t.grid(rows)
}

func eventRow(s Scenario, events []Event, void, intervals bool) []string {
	row := []string{s.PathLabel()}
	if void {
		row = append(row, voidCell(s))
	}
	for _, event := range events {
		row = append(row, eventCell(s, event, intervals))
	}
	return row
}

func voidCell(s Scenario) string {
	if s.Void == 0 {
		return "0"
	}
	return fmt.Sprintf("%d/%d", s.Void, s.Trials)
}

// eventCell is the event's share of trials and its sum.
func eventCell(s Scenario, event Event, interval bool) string {
	share, ok := s.Shares[event]
	if !ok {
		return absent
	}
	cell := shareCell(share, interval)
	if share.Trials > 0 {
		cell += fmt.Sprintf(" %d×", *s.eventSum(event))
	}
	return cell
}

// shareCell is a share with its interval; one of 0 always has its bound.
func shareCell(s Share, interval bool) string {
	cell := fmt.Sprintf("%d/%d", s.Trials, s.Of)
	switch {
	case s.Trials == 0:
		cell += " ≤" + shortPercent(s.High) + " %"
	case interval:
		cell += fmt.Sprintf(" [%s–%s %%]", shortPercent(s.Low), shortPercent(s.High))
	}
	return cell
}

// shortPercent is a ratio in percent to two digits or two decimals, without
// the sign.
func shortPercent(ratio float64) string {
	switch p := ratio * 100; {
	case p == 0 || p >= 9.95:
		return fmt.Sprintf("%.0f", p)
	case p >= 0.995:
		return fmt.Sprintf("%.1f", p)
	default:
		return fmt.Sprintf("%.2f", p)
	}
}

// void counts the block's void trials.
func (b failoverBlock) void() (n int) {
	for _, s := range b.paths {
		n += s.Void
	}
	return n
}

// happened are the events that any path let through.
func (b failoverBlock) happened() []Event {
	var events []Event
	for _, event := range Events {
		if slices.ContainsFunc(b.paths, func(s Scenario) bool { return s.Shares[event].Trials > 0 }) {
			events = append(events, event)
		}
	}
	return events
}

// never is the sentence about the events that were looked for and that no
// path let through, with what their trials leave possible.
func (b failoverBlock) never() string {
	var names []string
	least, most, bound := 0, 0, 0.0
	happened := b.happened()
	for _, event := range Events {
		by := b.counting(event)
		if len(by) == 0 || slices.Contains(happened, event) {
			continue
		}
		for _, s := range by {
			share := s.Shares[event]
			if least == 0 || share.Of < least {
				least = share.Of
			}
			most, bound = max(most, share.Of), max(bound, share.High)
		}
		names = append(names, event.words()+onlyBy(by, b.paths))
	}
	if len(names) == 0 {
		return ""
	}
	trials := plural(most, "trial")
	if least < most {
		trials = fmt.Sprintf("%d to %s", least, trials)
	}
	by := ""
	if len(happened) == 0 && b.void() == 0 {
		by = " (" + strings.Join(pathLabels(b.paths), ", ") + ")"
	}
	return fmt.Sprintf("Never, in %s of each path%s, ≤%s %% of trials: %s.", trials, by, shortPercent(bound), strings.Join(names, ", "))
}

// counting are the block's paths that count the event.
func (b failoverBlock) counting(event Event) []Scenario {
	var by []Scenario
	for _, s := range b.paths {
		if _, ok := s.Shares[event]; ok {
			by = append(by, s)
		}
	}
	return by
}

// onlyBy names the paths that count an event, where others were tried that
// do not.
func onlyBy(by, of []Scenario) string {
	tried := 0
	for _, s := range of {
		if s.Void < s.Trials {
			tried++
		}
	}
	if len(by) == tried {
		return ""
	}
	return " (" + strings.Join(pathLabels(by), ", ") + ")"
}

func pathLabels(entries []Scenario) []string {
	labels := make([]string, len(entries))
	for i, s := range entries {
		labels[i] = s.PathLabel()
	}
	return labels
}
