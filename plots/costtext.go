package plots

import (
	"fmt"
	"slices"
	"strings"

	"lockcost/results"
)

// costMethod says what dots and lines are.
func costMethod(rows []series) string {
	confidence, n := 0.0, 0
	for _, one := range rows {
		for _, byPercentile := range one.path.Cost {
			for _, c := range byPercentile {
				n = max(n, c.N)
				confidence = max(confidence, c.Confidence)
			}
		}
	}
	switch {
	case n == 0:
		return ""
	case confidence == 0:
		return fmt.Sprintf("Dots: median over blocks of setnx and path run side by side. "+
			"n too small for intervals (%s; 6 are needed).", counted(n, "block"))
	default:
		return fmt.Sprintf("Dots: median over %s of setnx and path run side by side. "+
			"Lines: its %.1f %% interval, from the spread of the blocks.", counted(n, "block"), confidence*100)
	}
}

// costNotes explains the control, and says what has nothing to stand beside.
func costNotes(rows []series) []string {
	var notes []string
	if !hasBaseline(rows) {
		notes = append(notes, "setnx has no run to compare with, so no cost can be given.")
	} else if len(rows) == 1 {
		notes = append(notes, "Only setnx was run: there is nothing to compare it with.")
	}
	for _, one := range rows {
		if one.baseline && one.mark == markInvalid {
			notes = append(notes, "setnx itself is INVALID, and so is every cost against it.")
		}
		if isControl(one) && hasBaseline(rows) {
			notes = append(notes, "A/A control: idempotent takes the same lock as setnx, so its acquire should stand at 1×. "+
				"A cost of acquire that is no further from 1× is noise.")
		}
	}
	if slices.ContainsFunc(rows, isBound) {
		notes = append(notes, "≥ and ≤: a bound, as the slowest operations of one side are missing; "+
			"?: no more than a hint, as those of both sides are.")
	}
	return append(notes, missingPercentiles(rows)...)
}

// missingPercentiles says which percentiles of which paths are not drawn
// because no run has the samples.
func missingPercentiles(rows []series) []string {
	var notes []string
	for _, p := range costPercentiles {
		var lacking []string
		for _, one := range rows {
			if _, ok := one.path.Summary[results.SpanAcquire][p.percentile]; !ok && !one.path.Lockless() {
				lacking = append(lacking, one.title())
			}
		}
		switch {
		case len(lacking) > 1 && len(lacking) == len(rows):
			notes = append(notes, fmt.Sprintf("%s is not drawn: no run of any path has the %s samples it takes.",
				p.percentile.Title(), grouped(results.SamplesFor(p.percentile))))
		case len(lacking) > 0:
			notes = append(notes, fmt.Sprintf("%s is not drawn where no run has the %s samples it takes: %s.",
				p.percentile.Title(), grouped(results.SamplesFor(p.percentile)), strings.Join(lacking, "; ")))
		}
	}
	return notes
}

// costDurability says what the small text below a path's name is.
func costDurability(rows []series) string {
	if !slices.ContainsFunc(rows, func(one series) bool { return one.path.Durability != nil }) {
		return ""
	}
	return "Small, below the names: on how many of the service's servers the lock is, and whether in memory or synced to a disk, when the acquire returns."
}

// durabilityOf is where a path's lock is, as far as the record says.
func durabilityOf(one series) string {
	if one.path.Durability == nil && !one.path.Lockless() {
		return ""
	}
	return one.path.Durability.Text()
}
