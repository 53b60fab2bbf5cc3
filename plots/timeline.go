package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"lockcost/results"
)

// mainScenario is the scenario that the figures over time are about: the
// primary is killed under a steady load.
const mainScenario = "crash-steady"

// timelineMost is the number of panels that a page holds at most.
const timelineMost = 8

// timelineRoom is how many panels a page holds. Where paths have kinds there
// are pages enough to keep to one that can be printed.
func timelineRoom(all []results.Scenario) int {
	if len(all) > 0 && all[0].Kind != "" {
		return timelineMost - 3
	}
	return timelineMost
}

// timelineSteps are the moments that a panel marks, those that count from the
// fault.
var timelineSteps = []struct {
	moment results.Moment
	name   string
}{
	{results.Noticed, "noticed"},
	{results.Elected, "elected"},
	{results.Promoted, "promoted"},
	{results.FirstWrite, "first write"},
	{results.Announced, "announced"},
	{results.FirstGrant, "first grant"},
	{results.Refusal, "refusal"},
}

// faultStep is a moment with its median, in seconds from the fault.
type faultStep struct {
	name, when string
	at         float64
}

// faultPanel is one scenario and path over time.
type faultPanel struct {
	title, detail string
	scenario      string  // those of one have the same time axis
	from, until   float64 // the fault window, in seconds; until is NaN where it is not known
	steps         []faultStep
	rates         []trace
	latency       []trace
}

// timelinePage draws how grants stop and come back.
func timelinePage(f faults) ([]page, string) {
	var pages []page
	for _, g := range faultKinds(f.record.Scenarios) {
		pages = append(pages, f.timelinePages(g)...)
	}
	if len(pages) == 0 {
		return nil, "no timed scenario has a timeline"
	}
	return numbered(pages), ""
}

// timelinePages draws the scenarios of one kind: every path once, on as many
// pages as that takes, and what else the last one has room for.
func (f faults) timelinePages(g results.KindGroup[results.Scenario]) []page {
	shown, left := timelineChoice(g.Items)
	var pages []page
	for chunk := range slices.Chunk(shown, timelineRoom(shown)) {
		p := f.timelineOf(chunk)
		p.title = joined(": ", p.title, g.Kind.Title())
		pages = append(pages, p)
	}
	if note := timelineLeft(left, apartIn(f.record.Scenarios)); note != "" && len(pages) > 0 {
		last := &pages[len(pages)-1]
		last.notes = append([]string{note}, last.notes...)
	}
	return pages
}

// timelineOf is one page.
func (f faults) timelineOf(shown []results.Scenario) page {
	body := timelineBody{}
	apart := apartIn(f.record.Scenarios)
	for _, s := range shown {
		body.panels = append(body.panels, faultPanelOf(s, apart))
	}
	body.setRanges()
	return page{
		title: "Around the fault: grants, refusals and response",
		subtitle: f.caption(trialsOf(shown, "of each scenario and path"),
			"All trials merged in slices of 100 ms, aligned at the fault. Response: of granted acquisitions, logarithmic. Shaded: from the fault to the median first grant after it. "+
				"Marks: medians over the trials. A rate that is 0 throughout has no line; a percentile's line has a gap where a slice has too few samples for it."),
		notes:  present([]string{unknownWindows(body.panels)}),
		height: body.height(),
		body:   body.draw,
	}
}

// timelineChoice picks the scenarios that are drawn: first the main one, once
// for each path, then the other timed ones, then the main one's other
// variants. Where the paths are of a kind, and so many pages may be drawn,
// each path has at least one: its first, where it has no main one.
func timelineChoice(all []results.Scenario) (shown, left []results.Scenario) {
	timed := only(all, func(s results.Scenario) bool { return len(s.Timeline) > 0 && s.Trials > s.Void })
	var seen []string
	hasMain := func(path string) bool {
		return slices.ContainsFunc(timed, func(s results.Scenario) bool { return columnOf(s) == path && s.Scenario == mainScenario })
	}
	rank := func(s results.Scenario) int {
		switch {
		case s.Kind != "" && !hasMain(columnOf(s)) && !slices.Contains(seen, columnOf(s)):
		case s.Scenario != mainScenario:
			return 1
		case slices.Contains(seen, columnOf(s)):
			return 2
		}
		seen = append(seen, columnOf(s))
		return 0
	}
	var ranked [3][]results.Scenario
	for _, s := range timed {
		r := rank(s)
		ranked[r] = append(ranked[r], s)
	}
	ordered := slices.Concat(ranked[0], ranked[1], ranked[2])
	n := min(timelineRoom(ordered), len(ordered))
	if len(ranked[0]) > n && ranked[0][0].Kind != "" {
		n = (len(ranked[0]) + n - 1) / n * n // whole pages
		n = min(n, len(ordered))
	}
	return ordered[:n], ordered[n:]
}

// timelineLeft names what the page has no room for, with the settings that
// tell it from the rest.
func timelineLeft(left []results.Scenario, apart []int) string {
	if len(left) == 0 {
		return ""
	}
	label := func(s results.Scenario) string { return joined(", ", s.Label(), settingsAt(s, apart)) }
	var texts []string
	for _, name := range distinct(left, label) {
		var paths []string
		for _, s := range left {
			if label(s) == name && !slices.Contains(paths, columnOf(s)) {
				paths = append(paths, columnOf(s))
			}
		}
		texts = append(texts, name+" ("+strings.Join(paths, ", ")+")")
	}
	return fmt.Sprintf("Not drawn, for want of room for more than %d: %s.", timelineRoom(left), strings.Join(texts, "; "))
}

// unknownWindows says why a panel has no shade.
func unknownWindows(panels []faultPanel) string {
	if !slices.ContainsFunc(panels, func(p faultPanel) bool { return math.IsNaN(p.until) }) {
		return ""
	}
	return "Where nothing is shaded, no first grant after the fault is recorded."
}

// faultPanelOf turns a scenario's slices into traces.
func faultPanelOf(s results.Scenario, apart []int) faultPanel {
	p := faultPanel{
		title: joined(": ", s.Scenario, columnOf(s)), scenario: s.Scenario + s.Variant + settingsOf(s)[1],
		detail: joined(separator, s.Variant, settingsAt(s, apart), counted(valid(s), "trial")),
		until:  math.NaN(),
		steps:  []faultStep{{name: "fault", when: "0 s"}},
	}
	for _, step := range timelineSteps {
		level, ok := s.Times[step.moment]
		if !ok || level.N == 0 {
			continue
		}
		at := float64(level.MedianNS) / 1e9
		p.steps = append(p.steps, faultStep{name: step.name, when: results.FormatDuration(level.MedianNS), at: at})
		if step.moment == results.FirstGrant {
			p.until = at
		}
	}
	p.rates, p.latency = tracesOf(s.Timeline)
	return p
}

// tracesOf makes the lines of a timeline: rates per second and trial, and
// percentiles in nanoseconds.
func tracesOf(timeline []results.Slice) (rates, latency []trace) {
	const seconds = 0.1 // of a slice
	granted := trace{label: "granted", style: line(1.8, blue)}
	held := trace{label: "held", style: dashed(1.1, orange, 4, 4)}
	failed := trace{label: "failed", style: dashed(1.4, vermillion, 1.5, 1.5)}
	p50 := trace{label: "P50", style: line(1.4, blue)}
	p99 := trace{label: "P99", style: dashed(1.2, vermillion, 5, 2)}
	for _, slice := range timeline {
		at := float64(slice.AtNS)/1e9 + seconds/2
		rate := func(n int64) float64 {
			if slice.Trials <= 0 {
				return math.NaN()
			}
			return float64(n) / float64(slice.Trials) / seconds
		}
		granted.add(at, rate(slice.Granted))
		held.add(at, rate(slice.Held))
		failed.add(at, rate(slice.Failed))
		p50.add(at, knownNS(slice.P50NS))
		p99.add(at, knownNS(slice.P99NS))
	}
	rates = []trace{granted}
	for _, t := range []trace{held, failed} {
		if slices.ContainsFunc(t.value, func(v float64) bool { return v > 0 }) {
			rates = append(rates, t)
		}
	}
	return rates, []trace{p50, p99}
}

// knownNS is a percentile, NaN where there is none.
func knownNS(ns *int64) float64 {
	if ns == nil {
		return math.NaN()
	}
	return float64(*ns)
}

// setRanges makes the axes hold every panel: all panels have the same rates
// and latencies, those of one scenario the same time.
func (b *timelineBody) setRanges() {
	b.rate, b.latency, b.time = newExtent(), newExtent(), map[string]extent{}
	for _, p := range b.panels {
		time, ok := b.time[p.scenario]
		if !ok {
			time = newExtent()
		}
		for _, t := range p.rates {
			b.rate.add(t.value...)
			for _, at := range t.at {
				time.add(at-0.05, at+0.05)
			}
		}
		for _, step := range p.steps {
			time.add(step.at)
		}
		for _, t := range p.latency {
			b.latency.add(t.value...)
		}
		b.time[p.scenario] = time
	}
	b.latency = b.latency.logPadded(1.4)
	b.rate = extent{lo: 0, hi: max(b.rate.hi, 1) * 1.1}
}

// height is the height of the body.
func (b timelineBody) height() vg.Length {
	return vg.Length(len(b.panels))*timelinePanel + timelineFoot
}
