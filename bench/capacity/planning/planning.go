// Package planning answers what a lock path will take at a rate, a distance
// and a hold from measurements alone: pure functions over the records of
// results. Between measured rates and distances it interpolates; beyond them it
// soon refuses, with what was measured, as nothing in a record tells where a
// server's limit lies but the rates that were driven.
package planning

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockcost/results"
)

// Schema names the layout of a plan in JSON.
const Schema = "lockcost/plan/v1"

// Question is what is asked.
type Question struct {
	RatePerS     float64     `json:"rate_per_s"` // above 0
	SLO          results.SLO `json:"slo"`
	ReplicaRTTNS int64       `json:"replica_rtt_ns"`
	ClientRTTNS  int64       `json:"client_rtt_ns"`
	HoldNS       int64       `json:"hold_ns"`
	Paths        []string    `json:"paths,omitempty"` // labels; none: all that were measured
	Down         string      `json:"down_node,omitempty"`
	Mix          bool        `json:"mix"` // sources that differ are put together
}

// Plan is the answer.
type Plan struct {
	Schema     string   `json:"schema"`
	Question   Question `json:"question"`
	Warnings   []string `json:"warnings"`
	Paths      []Path   `json:"paths"`
	Validation []Check  `json:"validation"`
}

// Path is the answer for one path.
type Path struct {
	Path    string   `json:"path"`              // its label, without a distance
	Refused string   `json:"refused,omitempty"` // why nothing is predicted, in words
	Basis   []string `json:"basis"`             // which folder, rate and how many runs
	Notes   []string `json:"notes,omitempty"`
	// Times are those of the acquire and of the whole job, by percentile. A
	// path without a lock has the job alone.
	Times    map[results.SpanName]map[results.Percentile]Estimate `json:"times,omitempty"`
	MeetsSLO string                                               `json:"meets_slo,omitempty"` // yes, likely, no, or not known
	Headroom []Headroom                                           `json:"headroom"`
	Sizing   *Sizing                                              `json:"sizing,omitempty"`
	Servers  map[string]Use                                       `json:"servers,omitempty"`
	Failover []Failover                                           `json:"failover,omitempty"`
	// Downstream is what the ledger must support for the path, in words.
	Downstream string `json:"downstream"`
}

// Make answers the question from the sources. Its error is of a question that
// cannot be asked of them; a path that cannot be answered is refused in its
// place.
func Make(q Question, sources []Source) (*Plan, error) {
	if q.RatePerS <= 0 {
		return nil, fmt.Errorf("a rate of %g/s: must be above 0", q.RatePerS)
	}
	plan := &Plan{Schema: Schema, Question: q, Warnings: []string{}, Validation: []Check{}}
	if differences := Differences(sources); len(differences) > 0 {
		if !q.Mix {
			return nil, fmt.Errorf("the folders were not measured alike (--mix puts them together all the same): %s", strings.Join(differences, "; "))
		}
		for _, d := range differences {
			plan.Warnings = append(plan.Warnings, "put together although they differ: "+d)
		}
	}
	plan.Warnings = append(plan.Warnings, layout(sources)...)
	measured := points(sources)
	var labels []string
	for _, p := range measured {
		if l := label(p.path); !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	if len(labels) == 0 {
		return nil, fmt.Errorf("no path has a run that can be used in any of the folders: give one of lockcost run or sweep")
	}
	for _, asked := range q.Paths {
		if !slices.Contains(labels, asked) {
			return nil, fmt.Errorf("path %q was not measured: there are %s", asked, strings.Join(labels, ", "))
		}
	}
	for _, l := range labels {
		if len(q.Paths) > 0 && !slices.Contains(q.Paths, l) {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(measured), func(p point) bool { return label(p.path) != l })
		plan.Paths = append(plan.Paths, answer(q, l, own, sources))
		plan.Validation = append(plan.Validation, leaveOneOut(own)...)
	}
	return plan, nil
}

// Refused counts the paths of which nothing is predicted.
func (p *Plan) Refused() (n int) {
	for _, path := range p.Paths {
		if path.Refused != "" {
			n++
		}
	}
	return n
}

// layout says what no reader may forget of servers on the driver's machine.
func layout(sources []Source) []string {
	for _, s := range sources {
		if s.Failover == nil && s.plan().Env != "external" {
			return []string{fmt.Sprintf("The servers and the driver shared one machine of %d CPUs, which is no production layout: "+
				"differences and ratios between paths carry over, rates and headroom do not.", s.environment().CPUs)}
		}
	}
	return nil
}

// answer is the answer for one path from its own points.
func answer(q Question, l string, own []point, sources []Source) Path {
	a := Path{Path: l, Basis: basis(own), Headroom: headrooms(q, l, sources), Failover: failovers(q, l, sources), Downstream: downstream(own[0].path)}
	near, shift, err := reach(q, own, sources)
	if err != nil {
		a.Refused = err.Error()
		return a
	}
	a.Times = map[results.SpanName]map[results.Percentile]Estimate{}
	for _, span := range []results.SpanName{results.SpanAcquire, results.SpanTotal} {
		if span == results.SpanAcquire && own[0].path.Lockless() {
			continue
		}
		for _, p := range asked(q, span) {
			e, err := predict(q, near, span, p, shift)
			if err == nil {
				if a.Times[span] == nil {
					a.Times[span] = map[results.Percentile]Estimate{}
				}
				a.Times[span][p] = e
			} else if errors.Is(err, errJobElsewhere) {
				a.Notes = append(a.Notes, "no prediction of the whole job: "+err.Error())
			} else if _, has := curveOf(near, span, p); has {
				a.Refused, a.Times = fmt.Sprintf("not predicted at %s/s: %s", results.FormatRate(q.RatePerS), err), nil
				return a
			}
		}
	}
	if len(a.Times) == 0 {
		a.Refused = "no run has enough samples for a percentile"
		return a
	}
	a.Notes = append(a.Notes, remarks(q, a, own, sources)...)
	slices.Sort(a.Notes)
	a.Notes = slices.Compact(a.Notes)
	a.MeetsSLO = meets(q.SLO, a, own[0].path)
	a.Sizing = size(q, near, own[0].path, shift)
	a.Servers = uses(q, near)
	return a
}

// asked are the percentiles to predict: P50, P99, and the SLO's own.
func asked(q Question, span results.SpanName) []results.Percentile {
	all := []results.Percentile{results.P50, results.P99}
	if !slices.Contains(all, q.SLO.Percentile) && q.SLO.Percentile != "" && (q.SLO.Span == span || span == results.SpanTotal) {
		all = append(all, q.SLO.Percentile)
	}
	return all
}

// meets holds the prediction against the SLO.
func meets(slo results.SLO, a Path, p results.Path) string {
	span := slo.Span
	if span == results.SpanAcquire && p.Lockless() {
		span = results.SpanTotal
	}
	e, ok := a.Times[span][slo.Percentile]
	switch {
	case !ok:
		return "not known"
	case e.LowerBound, e.MedianNS > slo.LimitNS:
		return "no"
	case e.HighNS != nil && *e.HighNS <= slo.LimitNS && !e.Extrapolated:
		return "yes"
	}
	return "likely"
}

// remarks are what must be known of a path's prediction.
func remarks(q Question, a Path, own []point, sources []Source) (notes []string) {
	for _, span := range a.Times {
		for _, e := range span {
			if e.LowerBound {
				notes = append(notes, "runs were saturated at a rate that this rests on: times are lower bounds")
			}
			if e.Extrapolated {
				notes = append(notes, "extrapolated beyond what was measured")
			}
		}
	}
	for _, s := range sources {
		if s.Failover != nil {
			continue
		}
		longest := int64(0)
		for _, p := range own {
			longest = max(longest, p.path.Summary[results.SpanTotal][results.P999].MedianNS)
		}
		if ttl := s.plan().TTLNS; ttl > 0 && ttl < q.HoldNS+longest {
			notes = append(notes, fmt.Sprintf("the locks' TTL of %s is below the hold and the job's P99.9, %s: leases would run out at work",
				results.FormatDuration(ttl), results.FormatDuration(q.HoldNS+longest)))
		}
	}
	return notes
}

// basis says which folders, distances and rates the points are from.
func basis(own []point) (all []string) {
	type group struct {
		where     string
		low, high float64
		rates     int
		runs      int
	}
	var groups []*group
	for _, p := range own {
		where := strings.Join(p.dirs, " and ") + p.path.Distance().String()
		i := slices.IndexFunc(groups, func(g *group) bool { return g.where == where })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{where: where, low: p.ratePerS})
		}
		g := groups[i]
		g.low, g.high = min(g.low, p.ratePerS), max(g.high, p.ratePerS)
		g.rates, g.runs = g.rates+1, g.runs+len(p.path.Runs)
	}
	for _, g := range groups {
		rates := results.FormatRate(g.low) + "/s"
		if g.rates > 1 {
			rates = fmt.Sprintf("%d rates from %s/s to %s/s", g.rates, results.FormatRate(g.low), results.FormatRate(g.high))
		}
		all = append(all, fmt.Sprintf("%s: %s, %d runs", g.where, rates, g.runs))
	}
	return all
}
