package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"lockcost/results"
)

// kneePanels is how many paths one page has room for.
const kneePanels = 15

// kneePages draw the percentile of each SLO against the rate, a small panel
// for each path.
func kneePages(s sweep) (pages []page, missing string) {
	for _, slo := range s.record.Search.SLOs {
		all := s.ladders(slo)
		if len(all) == 0 {
			continue
		}
		parts := (len(all) + kneePanels - 1) / kneePanels
		size := (len(all) + parts - 1) / parts
		for i, part := range slices.Collect(slices.Chunk(all, size)) {
			body := newKneeBody(slo, all, part)
			title := "Highest rate that meets " + slo.Title()
			if parts > 1 {
				title += fmt.Sprintf(" (%d of %d)", i+1, parts)
			}
			pages = append(pages, page{
				title:    title,
				alarm:    kneeAlarm(part),
				subtitle: s.caption("", s.driven(), kneeMethod(slo)),
				notes:    present(append(kneeNotes(part), s.down())),
				height:   body.height(),
				body:     body.draw,
			})
		}
	}
	switch {
	case len(s.record.Search.SLOs) == 0:
		return nil, "no SLO was searched for"
	case len(pages) == 0:
		return nil, "no step of the search was measured"
	}
	return pages, ""
}

// ladder is a path's steps under one SLO.
type ladder struct {
	results.Answer
	name  string
	look  look
	steps []kneeStep
}

// kneeStep is a step as it is drawn.
type kneeStep struct {
	results.Step
	// ns is the SLO's percentile, 0 where there is none. Of a step that failed
	// as runs were not kept up with, or operations were given up on, it is a
	// lower bound.
	ns    int64
	lower bool
}

// drawn tells whether the step has a value.
func (k kneeStep) drawn() bool { return k.ns > 0 }

// undriven tells whether the step says nothing of the system.
func (k kneeStep) undriven() bool {
	return k.Outcome == results.StepInstrument || k.Outcome == results.StepUndecided
}

// undrivenRates are the ranges of rate that the instrument could not drive, up
// to infinity where no higher one was driven.
func (l ladder) undrivenRates() (ranges []extent) {
	open := false
	for i, step := range l.steps {
		switch {
		case step.Outcome != results.StepInstrument:
			open = open && step.Outcome == results.StepUndecided
			continue
		case !open:
			ranges = append(ranges, extent{step.RatePerS, step.RatePerS})
		}
		open = true
		last := &ranges[len(ranges)-1]
		last.hi = step.RatePerS
		if !slices.ContainsFunc(l.steps[i+1:], kneeStep.driven) {
			last.hi = math.Inf(1)
		}
	}
	return ranges
}

// passesAbove tells whether a step passed above the first that did not.
func (l ladder) passesAbove() bool {
	return l.FirstFailingPerS != nil && slices.ContainsFunc(l.steps, func(s kneeStep) bool {
		return s.Outcome == results.StepPassed && s.RatePerS > *l.FirstFailingPerS
	})
}

// driven tells whether the step says something of the system.
func (k kneeStep) driven() bool { return !k.undriven() }

// ladders are the paths of an SLO in the order of the record.
func (s sweep) ladders(slo results.SLO) (all []ladder) {
	for _, a := range s.record.Paths {
		if a.SLO != slo || len(a.Steps) == 0 {
			continue
		}
		l := ladder{Answer: a, name: a.Label(), look: s.lookOf(a.Label())}
		for _, step := range a.Steps {
			l.steps = append(l.steps, s.step(a, step))
		}
		all = append(all, l)
	}
	return all
}

// step gives a step its value: one that was not kept up with has none of its
// own, but its runs have one that only grows.
func (s sweep) step(a results.Answer, step results.Step) kneeStep {
	k := kneeStep{Step: step}
	if step.ValueNS != nil {
		k.ns = *step.ValueNS
	}
	if step.Outcome != results.StepFailed {
		return k
	}
	for _, p := range s.record.Points {
		if !p.IsStep() || p.RatePerS != step.RatePerS || p.Label() != a.Label() {
			continue
		}
		k.lower = slices.ContainsFunc(p.Usable(), func(r results.Run) bool {
			return r.Verdict == results.Saturated || r.Censored() > 0
		})
		span := a.SLO.Span
		if p.Lockless() && span == results.SpanAcquire {
			span = results.SpanTotal
		}
		if k.ns == 0 {
			k.ns = p.Summary[span][a.SLO.Percentile].MedianNS
		}
	}
	return k
}

// driven says what was offered, how long and how often.
func (s sweep) driven() string {
	rates, least, most := newExtent(), math.MaxInt, 0
	granted := map[string]int64{}
	for _, p := range s.record.Points {
		if !p.IsStep() || p.Floor {
			continue
		}
		rates.add(p.RatePerS)
		least, most = min(least, len(p.Runs)), max(most, len(p.Runs))
		for _, run := range p.Usable() {
			granted[p.Label()] += run.Granted
		}
	}
	if rates.empty() {
		return "no step measured"
	}
	steps := "offered " + rateText(rates.lo)
	if rates.lo < rates.hi {
		steps += " to " + rateText(rates.hi)
	}
	if step := s.record.Search.StepNS; step > 0 {
		steps += ", " + durationTick(float64(step)) + " or longer each"
	}
	samples := newExtent()
	for _, n := range granted {
		samples.add(float64(n))
	}
	return joined(separator, steps, between(least, most, "run")+" a step", samplesText(samples)+" a path")
}

func kneeMethod(slo results.SLO) string {
	return fmt.Sprintf("Dots: median of the runs' %s. Whiskers: to the upper bound that is held against the SLO. "+
		"A step passes when that bound meets it and the rate was achieved; a run that was not kept up with has no bound.", slo.Percentile.Title())
}

// kneeAlarm names the paths whose limit is not known.
func kneeAlarm(all []ladder) string {
	names := []string{}
	for _, l := range all {
		if l.Limit == results.LimitInstrument {
			names = append(names, l.name)
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) == len(all) && len(all) > 1:
		return "The instrument's limit was reached on all paths: the system's lie higher"
	}
	return "The instrument's limit was reached, the system's lies higher: " + joined("; ", names...)
}

// kneeNotes say what the figure does not show.
func kneeNotes(all []ladder) []string {
	var notes []string
	if slices.ContainsFunc(all, func(l ladder) bool { return l.KneeRatePerS != nil }) {
		notes = append(notes, "Knee: "+results.KneeDefinition+".")
	} else {
		notes = append(notes, "No knee shows within the rates that were driven.")
	}
	if slices.ContainsFunc(all, func(l ladder) bool { return !l.Confirmed }) {
		notes = append(notes, "*: not confirmed, as the steps at the boundary lie further apart, or have fewer runs, than was asked for.")
	}
	if slices.ContainsFunc(all, ladder.passesAbove) {
		notes = append(notes, "Steps that passed above one that did not do not count.")
	}
	if slices.ContainsFunc(all, func(l ladder) bool {
		return slices.ContainsFunc(l.steps, func(s kneeStep) bool { return !s.undriven() && !s.drawn() })
	}) {
		notes = append(notes, "Above a panel, in its colour: steps with too few operations for the percentile.")
	}
	for _, l := range all {
		switch {
		case l.Reason != "" && l.FirstFailingPerS != nil:
			notes = append(notes, fmt.Sprintf("%s at %s: %s.", l.name, rateText(*l.FirstFailingPerS), l.Reason))
		case !slices.ContainsFunc(l.steps, kneeStep.drawn):
			notes = append(notes, l.name+": no step could be driven, so nothing is drawn.")
		}
	}
	return notes
}

// kneeBody is the body of the figure: legend, panels, and a row for each path.
type kneeBody struct {
	slo        results.SLO
	all, part  []ladder // the others stand in grey behind each
	rate, time extent
	columns    int
	lane       vg.Length // above each panel, for steps that could not be driven
	panel      vg.Point  // size of one
}

// Measures of the figure, in points.
const (
	kneeLegend vg.Length = 34
	kneeAxis   vg.Length = 46 // left of the panels
	kneeGap    vg.Length = 24 // right of each: the SLO's name
	kneeHead   vg.Length = 16 // name of a panel
	kneeLane   vg.Length = 11 // above each: steps that could not be driven
	kneeFoot   vg.Length = 18
	kneeLabel  vg.Length = 18
	kneeRow    vg.Length = 11.5
)

func newKneeBody(slo results.SLO, all, part []ladder) kneeBody {
	b := kneeBody{slo: slo, all: all, part: part, rate: newExtent(), time: newExtent(), columns: 3}
	if len(part) <= 4 {
		b.columns = min(2, len(part))
	}
	b.time.add(float64(slo.LimitNS))
	for _, l := range all {
		for _, step := range l.steps {
			b.rate.add(step.RatePerS)
			if step.undriven() || !step.drawn() {
				b.lane = kneeLane
			}
			if !step.drawn() {
				continue
			}
			b.time.add(float64(step.ns))
			if step.UpperNS != nil {
				b.time.add(float64(*step.UpperNS))
			}
		}
	}
	b.rate, b.time = b.rate.logPadded(1.3), b.time.logPadded(1.6)
	width := (pageWidth - 2*pageMargin - kneeAxis) / vg.Length(b.columns)
	b.panel = vg.Point{X: width - kneeGap, Y: map[int]vg.Length{1: 220, 2: 150, 3: 96}[b.columns]}
	return b
}

func (b kneeBody) rows() int { return (len(b.part) + b.columns - 1) / b.columns }

// rowHeight is that of a row of panels.
func (b kneeBody) rowHeight() vg.Length { return kneeHead + b.lane + b.panel.Y + kneeFoot }

func (b kneeBody) height() vg.Length {
	return kneeLegend + vg.Length(b.rows())*b.rowHeight() + kneeLabel + kneeRow*vg.Length(len(b.part)+2)
}
