package results

import (
	"fmt"
	"slices"
	"strings"
)

// waits are the paths whose acquire includes a replica's acknowledgement,
// and so its round trip.
var waits = map[string]bool{"setnx-wait": true, "combined": true, "waitaof": true}

// notes are the sentences that belong to the numbers: verdicts first, then
// what limits them.
func (r *Record) notes() []string {
	notes := r.verdictNotes()
	notes = append(notes, r.warningNotes()...)
	notes = append(notes, r.errorNotes()...)
	notes = append(notes, r.testNote()...)
	notes = append(notes, r.controlNote()...)
	notes = append(notes, r.waitNote()...)
	notes = append(notes, r.sampleNotes()...)
	if r.Plan.Env != "external" && r.Plan.Env != "" {
		notes = append(notes, "All servers and the driver are on one machine, which is no production layout: "+
			"read the costs, as ratios and differences, and not the levels.")
	}
	return append(notes, r.Environment.Notes...)
}

// verdictNotes gives the reasons of each run that is not valid. An invalid
// run's numbers stand nowhere else.
func (r *Record) verdictNotes() []string {
	var notes []string
	for _, p := range r.Paths {
		for _, run := range p.Runs {
			switch run.Verdict {
			case Valid:
				continue
			case "":
				notes = append(notes, fmt.Sprintf("%s run %d was not judged, and is left out.", p.Label(), run.Index+1))
				continue
			}
			note := fmt.Sprintf("%s run %d is %s: %s.", p.Label(), run.Index+1, run.Verdict, strings.Join(run.Reasons, "; "))
			if run.Verdict == Invalid {
				note += " It is left out above." + invalidNumbers(run)
			}
			notes = append(notes, note)
		}
	}
	return notes
}

func invalidNumbers(run Run) string {
	p50, ok50 := run.Spans[SpanAcquire].At(P50)
	p99, ok99 := run.Spans[SpanAcquire].At(P99)
	if !ok50 || !ok99 {
		return ""
	}
	return fmt.Sprintf(" Its invalid acquire: P50 %s, P99 %s.", FormatDuration(p50), FormatDuration(p99))
}

func (r *Record) warningNotes() []string {
	var notes []string
	for _, p := range r.Paths {
		for _, run := range p.Runs {
			for _, warning := range run.Warnings {
				notes = append(notes, fmt.Sprintf("%s run %d, warning: %s.", p.Label(), run.Index+1, strings.TrimSuffix(warning, ".")))
			}
		}
	}
	return notes
}

// errorNotes gives each path's errors by kind.
func (r *Record) errorNotes() []string {
	var notes []string
	for _, p := range r.Paths {
		var kinds []string
		for kind, n := range p.tally().errors {
			if n > 0 {
				kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
			}
		}
		slices.Sort(kinds)
		if len(kinds) > 0 {
			notes = append(notes, fmt.Sprintf("Errors of %s: %s.", p.Label(), strings.Join(kinds, ", ")))
		}
	}
	return notes
}

// testNote says how to read a p-value, where there is one.
func (r *Record) testNote() []string {
	for _, p := range r.Paths {
		for _, c := range p.Cost[SpanAcquire] {
			if c.PValue != nil {
				return []string{"p is Mann–Whitney's after Holm's correction for the number of paths. " +
					"Above 0.05, no difference was shown."}
			}
		}
	}
	return nil
}

// controlNote reads the A/A control out.
func (r *Record) controlNote() []string {
	for _, p := range r.Paths {
		c, ok := p.Cost[SpanAcquire][P50]
		if !p.isControl() || !ok {
			continue
		}
		note := "A/A control: idempotent takes the very lock that setnx takes, and its acquire differs by " +
			signed(c.DeltaNS) + " at P50"
		if c, ok := p.Cost[SpanAcquire][P99]; ok {
			note += " and " + signed(c.DeltaNS) + " at P99"
		}
		return []string{note + ". A cost of that size is noise."}
	}
	return nil
}

// waitNote states the replica round trips that WAIT was measured at.
func (r *Record) waitNote() []string {
	var at []string
	for _, p := range r.Paths {
		if waits[p.Path] {
			distance := "no distance to the replica"
			if p.ReplicaRTTNS > 0 {
				distance = "a replica round trip of " + FormatDuration(p.ReplicaRTTNS)
			}
			at = append(at, fmt.Sprintf("%s at %s", p.Label(), distance))
		}
	}
	if len(at) == 0 {
		return nil
	}
	return []string{"WAIT costs the replica's round trip. Measured: " + strings.Join(at, "; ") + "."}
}

// sampleNotes explain what is missing or marked.
func (r *Record) sampleNotes() []string {
	var notes []string
	var few, missing, failing, bounds []string
	for _, p := range r.Paths {
		switch l, ok := p.Summary[SpanAcquire][P50]; {
		case ok && l.LowNS == nil && !p.Floor:
			few = append(few, fmt.Sprintf("%s (%d)", p.Label(), l.N))
		case !ok && p.tally().completed > 0 && !p.Floor:
			failing = append(failing, p.Label())
		}
		if _, ok := p.Summary[SpanAcquire][P999]; !ok && p.tally().granted > 0 && !p.Floor {
			missing = append(missing, p.Label())
		}
		if censored(p.Usable()) {
			bounds = append(bounds, p.Label())
		}
	}
	add := func(labels []string, format string) {
		if len(labels) > 0 {
			notes = append(notes, fmt.Sprintf(format, strings.Join(labels, ", ")))
		}
	}
	add(few, "n too small: an interval at 95 %% takes 6 runs that count, and these have fewer: %s.")
	add(failing, "Too few operations got the lock for any percentile of acquire: %s.")
	add(missing, fmt.Sprintf("%s is left out where a run has fewer than %d grants: %%s.", P999.Title(), SamplesFor(P999)))
	add(bounds, "≥: operations expired or were given up on at a timeout, so the slowest are missing and percentiles are lower bounds: %s.")
	return notes
}
