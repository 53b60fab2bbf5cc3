package plots

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"lockcost/results"
)

// reasonsOf lists what the runs' verdicts rest on, each reason once.
func reasonsOf(runs []results.Run) string {
	var reasons []string
	for _, run := range runs {
		for _, reason := range run.Reasons {
			if !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		}
	}
	const most = 2
	switch {
	case len(reasons) == 0:
		return "no reason is recorded"
	case len(reasons) > most:
		return strings.Join(reasons[:most], "; ") + fmt.Sprintf("; and %d more reasons", len(reasons)-most)
	}
	return strings.Join(reasons, "; ")
}

// leftOut counts the runs that are not drawn, by why not.
func leftOut(runs []results.Run) string {
	var empty, invalid int
	for _, run := range runs {
		switch {
		case run.Granted == 0:
			empty++
		case run.Verdict == results.Invalid:
			invalid++
		}
	}
	var parts []string
	if invalid > 0 {
		parts = append(parts, fmt.Sprintf("%d invalid", invalid))
	}
	if empty > 0 {
		parts = append(parts, fmt.Sprintf("%d without a grant", empty))
	}
	return strings.Join(parts, ", ")
}

// expiredOf counts operations that were not started in time.
func expiredOf(runs []results.Run) int64 {
	var n int64
	for _, run := range runs {
		n += run.Expired
	}
	return n
}

// failureOf says what became of the operations of runs without a grant.
func failureOf(runs []results.Run) string {
	if len(runs) == 0 {
		return "it was not run"
	}
	var offered, held, unreplicated int64
	errors := map[string]int64{}
	for _, run := range runs {
		offered += run.Offered
		held += run.Held
		unreplicated += run.Unreplicated
		for kind, n := range run.Errors {
			errors[kind] += n
		}
	}
	parts := []string{"no grant in " + grouped(offered) + " operations"}
	for _, outcome := range []struct {
		n    int64
		name string
	}{{held, "held"}, {unreplicated, "unreplicated"}, {expiredOf(runs), "expired"}} {
		if outcome.n > 0 {
			parts = append(parts, grouped(outcome.n)+" "+outcome.name)
		}
	}
	kinds := make([]string, 0, len(errors))
	for kind := range errors {
		kinds = append(kinds, kind)
	}
	sort.Strings(kinds)
	for _, kind := range kinds {
		parts = append(parts, grouped(errors[kind])+" × "+kind)
	}
	return strings.Join(parts, ", ")
}
