package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockcost/results"
)

// stepLooks are the steps of a failover with how each is told from the
// others: by colour and by shape.
var stepLooks = []struct {
	moment results.Moment
	name   string
	color  color.Color
	shape  draw.GlyphDrawer
}{
	{results.Noticed, "noticed", blue, draw.CircleGlyph{}},
	{results.Elected, "elected", vermillion, draw.PyramidGlyph{}},
	{results.Promoted, "promoted", green, draw.BoxGlyph{}},
	{results.FirstWrite, "first write", orange, draw.RingGlyph{}},
	{results.Announced, "announced", purple, draw.CrossGlyph{}},
	{results.FirstGrant, "first grant", black, draw.SquareGlyph{}},
}

// Measures of the failover-time figure, in points.
const (
	timesAxis   vg.Length = 56
	timesLabels vg.Length = 112
	timesHead   vg.Length = 20
	timesHeight vg.Length = 190 // data of the upper panel
	timesAdded  vg.Length = 160 // data of the lower one
	timesFoot   vg.Length = 32
)

// failoverTimePage draws how long each step of a failover takes.
func failoverTimePage(f faults) ([]page, string) {
	shown, others := timesChoice(f.record.Scenarios)
	back := f.backPages()
	switch {
	case len(shown) == 0 && len(back) > 0:
		return back, ""
	case len(shown) == 0:
		return nil, "no " + mainScenario + " has the times of a failover"
	}
	body := timesBody{scenarios: shown}
	pages := []page{{
		title: "How long a failover takes, against Sentinel's down-after",
		subtitle: f.caption(trialsOf(shown, "at each down-after"),
			fmt.Sprintf("%s, from the crash, through the path %s. Small: each trial. Bar: median, with its interval at 95 %% where there are trials enough. "+
				"Dashed: the floor, as Sentinel does not hold a primary to be down before it was silent for down-after.",
				shown[0].Label(), columnOf(shown[0]))),
		notes:  present([]string{timesLeft(shown[0], others), singleNote(shown)}),
		height: 2*timesHead + timesHeight + timesAdded + 2*timesFoot,
		body:   body.draw,
	}}
	return append(pages, back...), ""
}

// timesChoice picks the path that was run at the most values of down-after,
// and one scenario for each of them, in their order: the one without a
// variant, where there is one. Others are what it could have been.
func timesChoice(all []results.Scenario) (shown, others []results.Scenario) {
	usable := only(all, func(s results.Scenario) bool { return s.Scenario == mainScenario && hasSteps(s) })
	for _, path := range faultColumns(usable) {
		var at []results.Scenario
		for _, s := range only(usable, func(s results.Scenario) bool { return columnOf(s) == path }) {
			same := slices.IndexFunc(at, func(other results.Scenario) bool { return other.DownAfterNS == s.DownAfterNS })
			switch {
			case same < 0:
				at = append(at, s)
			case at[same].Variant != "" && s.Variant == "":
				at[same] = s
			}
		}
		if len(at) > len(shown) {
			shown = at
		}
	}
	slices.SortStableFunc(shown, func(a, b results.Scenario) int { return int(a.DownAfterNS/1e6 - b.DownAfterNS/1e6) })
	if len(shown) > 0 {
		others = only(usable, func(s results.Scenario) bool { return columnOf(s) != columnOf(shown[0]) })
	}
	return shown, others
}

// hasSteps says whether a scenario has any step's time.
func hasSteps(s results.Scenario) bool {
	return slices.ContainsFunc(stepTimes(s), func(st stepTime) bool { return len(st.trials) > 0 })
}

// stepTime is one step: each trial's time, and their median, in nanoseconds.
type stepTime struct {
	step              int // in stepLooks
	trials            []float64
	median, low, high float64 // NaN where there is none
}

// stepTimes lists the steps of a scenario, in the order of stepLooks.
func stepTimes(s results.Scenario) []stepTime {
	all := make([]stepTime, len(stepLooks))
	for i, look := range stepLooks {
		st := stepTime{step: i, median: math.NaN(), low: math.NaN(), high: math.NaN()}
		for _, trial := range s.Runs {
			if ns, ok := trial.Times[look.moment]; ok && trial.Void == "" {
				st.trials = append(st.trials, float64(ns))
			}
		}
		if level, ok := s.Times[look.moment]; ok && level.N > 0 {
			st.median, st.low, st.high = float64(level.MedianNS), knownNS(level.LowNS), knownNS(level.HighNS)
		}
		all[i] = st
	}
	return all
}

// since returns the step as it is after a floor.
func (t stepTime) since(floor float64) stepTime {
	t.trials = slices.Clone(t.trials)
	for i := range t.trials {
		t.trials[i] -= floor
	}
	t.median, t.low, t.high = t.median-floor, t.low-floor, t.high-floor
	return t
}

// timesLeft says that other paths had failovers too.
func timesLeft(shown results.Scenario, others []results.Scenario) string {
	if len(others) == 0 {
		return ""
	}
	return "Of the paths, " + columnOf(shown) + " alone is drawn: Sentinel's steps do not depend on the path. Also run: " +
		strings.Join(distinct(others, columnOf), ", ") + "."
}

// singleNote says that one value shows no dependence.
func singleNote(shown []results.Scenario) string {
	if len(shown) > 1 {
		return ""
	}
	return "Only one value of down-after was run: how the steps depend on it is not shown."
}
