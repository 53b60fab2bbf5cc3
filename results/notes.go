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
	notes = append(notes, r.locklessNote()...)
	notes = append(notes, r.renewalNotes()...)
	notes = append(notes, r.waitNote()...)
	notes = append(notes, r.costNote()...)
	notes = append(notes, r.sampleNotes()...)
	if r.Plan.Env != "external" && r.Plan.Env != "" {
		notes = append(notes, "All servers and the driver are on one machine, which is no production layout: "+
			"read the costs, as ratios and differences, and not the levels.")
	}
	return append(notes, r.Environment.Notes...)
}

// verdictNotes gives, for each path and verdict, the runs that are not valid
// and why the first of them is not; the reasons of all are in run.json. An
// invalid run's numbers stand nowhere else.
func (r *Record) verdictNotes() []string {
	var notes []string
	for _, p := range r.Paths {
		for _, v := range []Verdict{Invalid, Saturated, ""} {
			runs := p.judged(v)
			if len(runs) == 0 {
				continue
			}
			note := fmt.Sprintf("%s: %s %s", p.Label(), numbers(runs), verdictWords[v])
			if reasons := runs[0].Reasons; len(reasons) > 0 {
				note += fmt.Sprintf(" Run %d: %s.", runs[0].Index, strings.Join(reasons, "; "))
			}
			if v == Invalid {
				note += invalidNumbers(runs)
			}
			notes = append(notes, note)
		}
	}
	return notes
}

var verdictWords = map[Verdict]string{
	Invalid:   "invalid, and left out above.",
	Saturated: "saturated: the numbers are bounds.",
	"":        "not judged, and left out.",
}

func (p Path) judged(v Verdict) []Run {
	var runs []Run
	for _, run := range p.Runs {
		if run.Verdict == v {
			runs = append(runs, run)
		}
	}
	return runs
}

// numbers names runs as run.json numbers them, from 0.
func numbers(runs []Run) string {
	if len(runs) == 1 {
		return fmt.Sprintf("run %d is", runs[0].Index)
	}
	list := make([]string, len(runs))
	for i, run := range runs {
		list[i] = fmt.Sprint(run.Index)
	}
	return "runs " + strings.Join(list, ", ") + " are"
}

// invalidNumbers are the acquire's, with that word, from the least of the
// runs to the greatest.
func invalidNumbers(runs []Run) string {
	var texts []string
	for _, p := range []Percentile{P50, P99} {
		var values []int64
		for _, run := range runs {
			if ns, ok := run.Spans[SpanAcquire].At(p); ok {
				values = append(values, ns)
			}
		}
		if len(values) > 0 {
			text := p.Title() + " " + FormatDuration(slices.Min(values))
			if len(values) > 1 {
				text += " to " + FormatDuration(slices.Max(values))
			}
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return " Invalid acquire: " + strings.Join(texts, ", ") + "."
}

// warningNotes gives each kind of warning once for each path, as the first
// of its runs has it. A kind is what stands before a colon.
func (r *Record) warningNotes() []string {
	var notes []string
	for _, p := range r.Paths {
		runs, first := map[string][]Run{}, []string{}
		for _, run := range p.Runs {
			for _, warning := range run.Warnings {
				kind, _, _ := strings.Cut(warning, ":")
				if runs[kind] == nil {
					first = append(first, warning)
				}
				runs[kind] = append(runs[kind], run)
			}
		}
		for _, warning := range first {
			kind, _, _ := strings.Cut(warning, ":")
			note := fmt.Sprintf("%s, warning of run %d: %s.", p.Label(), runs[kind][0].Index, strings.TrimSuffix(warning, "."))
			if more := len(runs[kind]) - 1; more > 0 {
				note += fmt.Sprintf(" So in %d more.", more)
			}
			notes = append(notes, note)
		}
	}
	return notes
}

// errorNotes gives each path's errors by kind, those of invalid runs too.
func (r *Record) errorNotes() []string {
	var notes []string
	for _, p := range r.Paths {
		sum := map[string]int64{}
		for _, run := range p.Runs {
			for kind, n := range run.Errors {
				sum[kind] += n
			}
		}
		var kinds []string
		for kind, n := range sum {
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

// locklessNote says why a path without a lock has no cost of acquire.
func (r *Record) locklessNote() []string {
	for _, p := range r.Paths {
		if p.Lockless() {
			note := p.Label() + " takes no lock: there is nothing to acquire, and no cost of acquire is given."
			if r.Plan.Effect == EffectCharge {
				note += " What it costs shows in the whole job."
			}
			return []string{note}
		}
	}
	return nil
}

// renewalNotes says what it took to keep the locks of watchdogs.
func (r *Record) renewalNotes() []string {
	var notes []string
	for _, p := range r.Paths {
		var all Renewals
		var took float64
		for _, run := range p.Runs {
			if n := run.Renewals; n != nil {
				all.Count, all.Lost, all.Failed = all.Count+n.Count, all.Lost+n.Lost, all.Failed+n.Failed
				took += float64(n.Count) * float64(n.MeanNS)
			}
		}
		if all.Count == 0 {
			continue
		}
		notes = append(notes, fmt.Sprintf("%s renewed its locks' leases %d times, warm-ups included, each a round trip of %s on average beside the job; "+
			"%d times the lock was found lost, %d times there was no answer. A held lock is renewed each third of its TTL.",
			p.Label(), all.Count, FormatDuration(int64(took/float64(all.Count))), all.Lost, all.Failed))
	}
	return notes
}

// costNote says what costs are, where there are any.
func (r *Record) costNote() []string {
	costs, client := false, false
	for _, p := range r.Paths {
		costs = costs || len(p.Cost) > 0
		client = client || p.ClientRTTNS > 0
	}
	if !costs {
		return nil
	}
	note := "A cost is the median of what the path cost within each block, not the difference of the medians above."
	if client {
		note += " It is against setnx at the same client distance."
	}
	return []string{note}
}

// waitNote states the replica round trips that WAIT was measured at.
func (r *Record) waitNote() []string {
	var at []string
	for _, p := range r.Paths {
		if waits[p.Path] && len(p.Usable()) > 0 {
			distance := "no distance to the replica"
			if r.Plan.Env == "external" {
				distance = "the distance that your replicas have"
			}
			if p.ReplicaRTTNS > 0 {
				distance = "a replica round trip of " + FormatDuration(p.ReplicaRTTNS)
			}
			at = append(at, fmt.Sprintf("%s at %s", p.Label(), distance+p.seenReplica()))
		}
	}
	if len(at) == 0 {
		return nil
	}
	return []string{"WAIT costs the replica's round trip. Measured: " + strings.Join(at, "; ") + "."}
}

// seenReplica is the replica round trip that was really seen, over the runs.
func (p Path) seenReplica() string {
	var seen []float64
	for _, run := range p.Usable() {
		if run.ReplicaTrip != nil && run.ReplicaTrip.measured() {
			seen = append(seen, float64(run.ReplicaTrip.P50NS))
		}
	}
	if len(seen) == 0 {
		return ""
	}
	return fmt.Sprintf(" (seen: %s)", FormatDuration(round(medianOf(seen).center)))
}

// sampleNotes explain what is missing or marked.
func (r *Record) sampleNotes() []string {
	var notes []string
	var few, missing, failing, bounds []string
	for _, p := range r.Paths {
		switch l, ok := p.Summary[SpanAcquire][P50]; {
		case p.Lockless():
		case ok && l.LowNS == nil && !p.Floor:
			few = append(few, fmt.Sprintf("%s (%d)", p.Label(), l.N))
		case !ok && p.tally().completed > 0 && !p.Floor:
			failing = append(failing, p.Label())
		}
		if _, ok := p.Summary[SpanAcquire][P999]; !ok && p.tally().granted > 0 && !p.Floor && !p.Lockless() {
			missing = append(missing, p.Label())
		}
		if bounded(p.Usable()) {
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
	add(bounds, "≥: a lower bound, as a run was saturated, or operations expired or were given up on at a timeout: %s. "+
		"A cost is then a bound too (≥, ≤), or no more than a hint where both sides are (?).")
	return notes
}
