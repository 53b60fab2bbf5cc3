package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// outcomes is how acquisitions ended, with the errors by kind.
func (t *failoverTable) outcomes() {
	if len(t.blocks) == 0 {
		return
	}
	t.title("How acquisitions ended, with errors of the steps after them (void trials left out)")
	for _, b := range t.blocks {
		var lines []string
		for kinds := 4; kinds >= 0; kinds-- {
			rows := columns{{"path", "granted", "held", "unreplicated", "expired", "errors"}}
			for _, s := range b.paths {
				rows = append(rows, []string{s.PathLabel(), fmt.Sprint(s.Granted), fmt.Sprint(s.Held),
					fmt.Sprint(s.Unreplicated), fmt.Sprint(s.Expired), errorsCell(s.Errors, kinds)})
			}
			if lines = rows.lines(); fits(lines) {
				break
			}
		}
		fmt.Fprintln(t.out)
		t.print(wrap("", "  ", b.label))
		t.print(lines)
	}
}

// errorsCell is the number of errors, and of these the kinds with the most.
func errorsCell(errors map[string]int64, kinds int) string {
	sum := int64(0)
	for _, n := range errors {
		sum += n
	}
	named := commonest(errors)
	if sum == 0 || kinds == 0 || len(named) == 0 {
		return fmt.Sprint(sum)
	}
	var parts []string
	for i, kind := range named {
		if i == kinds {
			parts = append(parts, fmt.Sprintf("%d more", len(named)-kinds))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", kind, errors[kind]))
	}
	return fmt.Sprintf("%d: %s", sum, strings.Join(parts, ", "))
}

// commonest are the keys with a count, the greatest first.
func commonest[N int | int64](counts map[string]N) []string {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(key string) bool { return counts[key] == 0 })
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return keys
}

// windows is how long a granted lock is not on the replica, and what that
// predicts.
func (t *failoverTable) windows() {
	if len(t.record.Windows) == 0 {
		return
	}
	t.title("Replication window: from the reply to a granted lock until the replica has it")
	t.print(wrap("", "", "On the replica before the reply: counted as 0. Predicted loss: the share of crashes that would lose a grant, "+
		"1 − exp(−rate × mean), if a crash lost all that is on its way. What a process has sent before it dies still arrives, though. "+
		"Measured loss: the share of trials of "+steadyScenario+" that lost one, at the same rate of grants."))
	rows := headed("path", "replica RTT", "granted /s", "grants", "before reply", "mean", "P50", "P99", "predicted loss", "measured loss")
	for _, w := range t.record.Windows {
		rows = append(rows, windowRow(w))
	}
	fmt.Fprintln(t.out)
	t.grid(rows)
}

func windowRow(w Window) []string {
	row := []string{w.Path, time.Duration(w.ReplicaRTT).String(), fmt.Sprintf("%.4g", w.RatePerS), fmt.Sprint(w.Visible.Count)}
	if w.Visible.Count == 0 {
		return append(row, absent, absent, absent, absent, absent, lossCell(w.Measured))
	}
	return append(row, shortPercent(float64(w.Early)/float64(w.Visible.Count))+" %", FormatDuration(w.Visible.MeanNS),
		spanCell(w.Visible, P50), spanCell(w.Visible, P99), shortPercent(w.PredictedLoss)+" %", lossCell(w.Measured))
}

func lossCell(s *Share) string {
	if s == nil {
		return absent
	}
	return shareCell(*s, true)
}

// notes are what a reader must know of all of it.
func (t *failoverTable) notes() {
	var notes []string
	if len(t.blocks) > 0 && t.record.Plan.Env != "external" {
		notes = append(notes, "All servers and the driver are on one machine, which is no production layout: it shows what can happen; "+
			"how often it does, and how long it takes, differs elsewhere.")
	}
	notes = append(notes, t.record.Environment.Notes...)
	if len(notes) == 0 {
		return
	}
	t.title("Notes")
	for _, note := range notes {
		t.print(wrap("  - ", "    ", strings.TrimSpace(note)))
	}
}
