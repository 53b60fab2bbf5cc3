package plots

import (
	"fmt"
	"maps"
	"slices"
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
		return strings.Join(reasons[:most], "; ") + "; and " + counted(len(reasons)-most, "more reason")
	}
	return strings.Join(reasons, "; ")
}

// withGrants returns the runs in which the lock was granted.
func withGrants(runs []results.Run) []results.Run {
	return slices.DeleteFunc(slices.Clone(runs), func(run results.Run) bool { return run.Granted == 0 })
}

// saturatedOf returns the runs in which the system did not keep up.
func saturatedOf(runs []results.Run) []results.Run {
	return slices.DeleteFunc(slices.Clone(runs), func(run results.Run) bool { return run.Verdict != results.Saturated })
}

// The reasons for leaving a run out.
const (
	leftInvalid   = "as invalid"
	leftCutShort  = "as cut short"
	leftNotJudged = "as not judged"
	leftNoGrant   = "for want of a grant"
)

// noteRuns notes for all series together, so that the list stays short, which
// runs are not drawn, and which numbers are not whole.
func (s *study) noteRuns() {
	for _, why := range []string{leftInvalid, leftCutShort, leftNotJudged, leftNoGrant} {
		s.noteEach("Runs left out "+why, func(one *series) string {
			if n := one.leftOut()[why]; n > 0 {
				return fmt.Sprintf("%d of %d", n, len(one.path.Runs))
			}
			return ""
		})
	}
	s.noteEach("Drawn from runs that were cut short, for want of complete ones", func(one *series) string {
		if slices.ContainsFunc(one.runs, func(run results.Run) bool { return !run.Interrupted }) {
			return ""
		}
		return counted(len(one.runs), "run")
	})
	s.noteEach("Percentiles are lower bounds, for so many operations expired before they were started or were given up on at a timeout",
		func(one *series) string {
			if one.aside == "" {
				return ""
			}
			return grouped(one.censored())
		})
}

// noteEach makes one note of what is to be said of each series, if anything.
func (s *study) noteEach(what string, of func(*series) string) {
	var parts []string
	for i := range s.series {
		if text := of(&s.series[i]); text != "" {
			parts = append(parts, s.series[i].title()+" "+text)
		}
	}
	if len(parts) > 0 {
		s.note("%s: %s.", what, strings.Join(parts, "; "))
	}
}

// leftOut counts the runs that are not drawn, by why not.
func (one *series) leftOut() map[string]int {
	drawn := map[int]bool{}
	for _, run := range one.runs {
		drawn[run.Index] = true
	}
	left := map[string]int{}
	for _, run := range one.path.Runs {
		switch {
		case drawn[run.Index]:
		case run.Granted == 0:
			left[leftNoGrant]++
		case run.Verdict == results.Invalid:
			left[leftInvalid]++
		case run.Interrupted:
			left[leftCutShort]++
		default:
			left[leftNotJudged]++
		}
	}
	return left
}

// failureOf says what became of the operations of runs without a grant.
func failureOf(runs []results.Run) string {
	if len(runs) == 0 {
		return "it was not run"
	}
	var offered, held, unreplicated, expired int64
	errors := map[string]int64{}
	for _, run := range runs {
		offered += run.Offered
		held += run.Held
		unreplicated += run.Unreplicated
		expired += run.Expired
		for kind, n := range run.Errors {
			errors[kind] += n
		}
	}
	parts := []string{"no grant in " + grouped(offered) + " operations"}
	for _, outcome := range []struct {
		n    int64
		name string
	}{{held, "held"}, {unreplicated, "unreplicated"}, {expired, "expired"}} {
		if outcome.n > 0 {
			parts = append(parts, grouped(outcome.n)+" "+outcome.name)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		parts = append(parts, grouped(errors[kind])+" × "+kind)
	}
	return strings.Join(parts, ", ")
}

// locklessNote says why a path without a lock has no acquire, where there is
// one.
func (s *study) locklessNote() string {
	i := slices.IndexFunc(s.series, func(one series) bool { return one.path.Lockless() })
	if i < 0 {
		return ""
	}
	note := s.series[i].path.Path + " takes no lock: there is nothing to acquire, and none is drawn."
	if s.whole() {
		note += " What it costs shows in the whole job."
	}
	return note
}
