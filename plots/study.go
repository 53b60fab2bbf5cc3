package plots

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"lockcost/results"
)

// study is a run's folder as the figures see it: the record, and for each
// path that can be drawn the runs that it is drawn from.
type study struct {
	record *results.Record
	series []series
	notes  []string // what was left out, and why
}

// series is one entry of the record's paths: a path at one replica round
// trip.
type series struct {
	path      results.Path
	options   string // "round-trips=2" and the like, else ""
	distance  string // "replica at 1 ms" where that tells it from others, else ""
	look      look
	position  int    // among the record's paths
	baseline  bool   // what costs are stated against
	mark      string // INVALID, SATURATED or ""
	aside     string // "lower bound" and the like, else ""
	runs      []results.Run
	condensed // of those runs only
}

// newStudy picks the runs to draw from a record, and reads their intervals
// with the given function.
func newStudy(record *results.Record, read func(results.Path) ([]results.Interval, error)) (*study, error) {
	s := &study{record: record}
	seen := map[string]int{}
	spare := 0
	for i, path := range record.Paths {
		one := series{path: path, position: i, options: optionsOf(path), distance: distanceOf(record.Paths, path)}
		one.baseline = path.IsBaseline()
		one.look = lookOf(path.Path, seen[path.Path], spare)
		if _, known := knownLooks[path.Path]; !known {
			spare++
		}
		seen[path.Path]++
		if !s.choose(&one) {
			continue
		}
		intervals, err := read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.note("%s has no interval log, so its percentiles and seconds are not drawn.", one.title())
		case err != nil:
			return nil, fmt.Errorf("intervals of %s: %w", one.title(), err)
		default:
			one.condensed = condense(one.own(intervals), one.runs, record.Plan)
		}
		s.series = append(s.series, one)
	}
	for _, why := range record.Plan.NotRun {
		s.note("Not run: %s.", strings.TrimSuffix(why, "."))
	}
	s.noteRuns()
	s.notes = append(s.notes, present([]string{s.locklessNote()})...)
	s.doubt()
	return s, nil
}

// choose sets the runs a series is drawn from: those that count in the
// record's own summary, else those that do not, marked; in each case those
// with a grant. It returns false, and notes why, where there is nothing to
// draw.
func (s *study) choose(one *series) bool {
	one.runs = withGrants(one.path.Usable())
	if len(one.runs) == 0 {
		one.runs = withGrants(believed(one.path).Usable())
		if len(one.runs) == 0 {
			s.note("%s is left out: %s.", one.title(), failureOf(one.path.Runs))
			return false
		}
		one.mark = markInvalid
		s.note("%s is %s: %s.", one.title(), markInvalid, reasonsOf(one.runs))
	} else if saturated := saturatedOf(one.runs); len(saturated) > 0 {
		one.mark = markSaturated
		s.note("%s is %s in %d of %d runs: %s.", one.title(), markSaturated,
			len(saturated), len(one.runs), reasonsOf(saturated))
	}
	if one.censored() > 0 {
		one.aside = "lower bound"
	}
	return true
}

// The words that mark a series whose numbers are not what they seem.
const (
	markInvalid   = "INVALID"
	markSaturated = "SATURATED"
)

// doubt gives costs to paths that the record gives none because their runs,
// or setnx's, are invalid: they are drawn, with the word beside them. The
// record itself is left as it is.
func (s *study) doubt() {
	trial := *s.record
	trial.Paths = slices.Clone(s.record.Paths)
	for i := range trial.Paths {
		if len(withGrants(trial.Paths[i].Usable())) > 0 {
			continue
		}
		trial.Paths[i] = believed(trial.Paths[i])
	}
	trial.Summarize()
	for i := range s.series {
		one := &s.series[i]
		if one.mark == markInvalid || s.baselineInvalid() {
			one.path.Summary = trial.Paths[one.position].Summary
			one.path.Cost = trial.Paths[one.position].Cost
		}
	}
}

// believed returns a path as if the instrument had been at fault in none of
// its runs.
func believed(path results.Path) results.Path {
	path.Runs = slices.Clone(path.Runs)
	for i := range path.Runs {
		path.Runs[i].Verdict = results.Saturated
	}
	return path
}

// baselineInvalid says whether what all costs are stated against is invalid.
func (s *study) baselineInvalid() bool {
	return slices.ContainsFunc(s.series, func(one series) bool {
		return one.baseline && one.mark == markInvalid
	})
}

// note adds a remark that every figure carries.
func (s *study) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// own returns the intervals which belong to the runs of the series.
func (one *series) own(all []results.Interval) []results.Interval {
	chosen := map[int]bool{}
	for _, run := range one.runs {
		chosen[run.Index] = true
	}
	var own []results.Interval
	for _, i := range all {
		if chosen[i.Run] && i.Distance == one.path.Distance() && i.Histogram != nil {
			own = append(own, i)
		}
	}
	return own
}

// title is the full name of a series in one line.
func (one *series) title() string {
	return joined(", ", joined(" ", one.path.Path, one.options), one.distance)
}

// short is the name of a series at the end of a line among many: with its
// replica's distance as the text summary has it, and with its mark or else
// with what must be known of it.
func (one *series) short() string {
	name := joined(" ", one.path.Path, one.options, strings.ReplaceAll(one.distance, replicaAt, "@"))
	if one.mark != "" {
		return name
	}
	return withAside(name, one.aside)
}

// replicaAt is how a distance to the replica is written out.
const replicaAt = "replica at "

// shortNote explains the distance in short names, where there is one.
func (s *study) shortNote() string {
	if slices.ContainsFunc(s.series, func(one series) bool { return strings.Contains(one.distance, replicaAt) }) {
		return " @: with this round trip to the replica."
	}
	return ""
}

// paths returns the series that are not floors.
func (s *study) paths() []series {
	return slices.DeleteFunc(slices.Clone(s.series), isFloor)
}

// whole says whether there is a whole job to show beside the acquire.
func (s *study) whole() bool { return s.record.Plan.Effect == results.EffectCharge }

// granted counts the samples that the series rests on.
func (one *series) granted() int64 {
	var n int64
	for _, run := range one.runs {
		n += run.Granted
	}
	return n
}

// censored counts the operations whose full response is not known.
func (one *series) censored() int64 {
	var n int64
	for _, run := range one.runs {
		n += run.Censored()
	}
	return n
}

// sorted returns the series with those first for which first holds, and
// otherwise in their order.
func sorted(all []series, first func(series) bool) []series {
	rest := slices.DeleteFunc(slices.Clone(all), first)
	return append(slices.DeleteFunc(slices.Clone(all), func(one series) bool { return !first(one) }), rest...)
}

// isFloor and isPath tell the floors from what is measured against them.
func isFloor(one series) bool { return one.path.Floor }
func isPath(one series) bool  { return !one.path.Floor }

// optionsOf lists a path's options in a fixed order.
func optionsOf(p results.Path) string {
	texts := make([]string, 0, len(p.Options))
	for _, k := range slices.Sorted(maps.Keys(p.Options)) {
		texts = append(texts, k+"="+p.Options[k])
	}
	return strings.Join(texts, ", ")
}

// distanceOf says how far the replica and the client were, each where the
// path was run at more than one distance or at any but none.
func distanceOf(all []results.Path, p results.Path) string {
	replica := apart(all, p, "replica", func(p results.Path) int64 { return p.ReplicaRTTNS })
	return joined(", ", replica, apart(all, p, "client", func(p results.Path) int64 { return p.ClientRTTNS }))
}

func apart(all []results.Path, p results.Path, whose string, distance func(results.Path) int64) string {
	several := slices.ContainsFunc(all, func(other results.Path) bool {
		return other.Path == p.Path && optionsOf(other) == optionsOf(p) && distance(other) != distance(p)
	})
	switch d := distance(p); {
	case d != 0:
		return whose + " at " + durationTick(float64(d))
	case several:
		return whose + " at 0 ms"
	}
	return ""
}
