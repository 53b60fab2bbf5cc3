package plots

import (
	"fmt"
	"slices"
	"strings"

	"lockcost/results"
)

// boundNote says what none in so many trials leaves possible.
func boundNote(all []results.Scenario) string {
	var sizes []int
	for _, s := range all {
		if n := valid(s); n > 0 && !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
		}
	}
	if len(sizes) == 0 {
		return ""
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	const most = 4
	var texts []string
	for _, n := range sizes[:min(most, len(sizes))] {
		texts = append(texts, fmt.Sprintf("0/%d: at most %.0f %%", n, 100*results.UpperBoundZero(int64(n))))
	}
	return "None in so many trials does not mean never; the chance that it leaves possible, at 95 % (Clopper and Pearson): " +
		strings.Join(texts, ", ") + "."
}

// voidNote says what void trials are, where there are any.
func voidNote(all []results.Scenario) string {
	void := only(all, func(s results.Scenario) bool { return s.Void > 0 })
	if len(void) == 0 {
		return ""
	}
	reasons := map[string]int{}
	for _, s := range void {
		for _, trial := range s.Runs {
			if trial.Void != "" {
				reasons[trial.Void]++
			}
		}
	}
	text := "Void: trials that show nothing, and count for nothing"
	if why := mostOf(reasons, 2); why != "" {
		text += ": " + why
	}
	return text + "."
}

// causesNote says what else happened that harms nobody by itself.
func causesNote(all []results.Scenario) string {
	var parts []string
	for _, cause := range []struct {
		event results.Event
		name  string
	}{{results.LostGrant, "lost grants"}, {results.OutlivedLease, "outlived leases"}} {
		happened, of := 0, 0
		for _, s := range all {
			happened, of = happened+s.Shares[cause.event].Trials, of+s.Shares[cause.event].Of
		}
		if happened > 0 {
			parts = append(parts, fmt.Sprintf("%s (in %s of %s trials)", cause.name, grouped(int64(happened)), grouped(int64(of))))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Not marked: " + strings.Join(parts, " and ") + ", of which harm may come, but need not."
}

// summaryNotes say what is done in each scenario, and in those of its variants
// in which something else is done.
func summaryNotes(all []results.Scenario) []string {
	var notes []string
	told := map[string][]string{} // by scenario
	for _, s := range all {
		summary := strings.TrimRight(s.Summary, ".")
		if summary == "" || slices.Contains(told[s.Scenario], summary) {
			continue
		}
		name := s.Scenario
		if len(told[s.Scenario]) > 0 {
			name = s.Label()
		}
		told[s.Scenario] = append(told[s.Scenario], summary)
		notes = append(notes, name+": "+summary+".")
	}
	return notes
}
