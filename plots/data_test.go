package plots

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/recorder"

	"lockcost/results"
)

// histogram holds the values.
func histogram(values ...int64) *results.Histogram {
	h := results.NewHistogram()
	for _, v := range values {
		h.Record(v)
	}
	return h
}

// repeated is n times the value.
func repeated(value int64, n int) []int64 { return slices.Repeat([]int64{value}, n) }

func TestSecondsMergeHistogramsOverRuns(t *testing.T) {
	// One run at 100 µs and one at 900 µs: their merged P99 is 900 µs, which
	// no average of the two is.
	var intervals []results.Interval
	for run, ns := range []int64{100_000, 900_000} {
		intervals = append(intervals,
			results.Interval{Run: run, Span: results.SpanAcquire, StartNS: 2e9, LengthNS: 1e9, Histogram: histogram(repeated(ns, 400)...)},
			results.Interval{Run: run, Span: results.SpanFailed, StartNS: 2e9, LengthNS: 1e9, Histogram: histogram(repeated(5, 100)...)},
			results.Interval{Run: run, Span: results.SpanLag, StartNS: 2e9, LengthNS: 1e9, Histogram: histogram(repeated(7_000, 500)...)})
	}
	seconds := secondsOf(intervals)
	if len(seconds) != 1 {
		t.Fatalf("%d seconds", len(seconds))
	}
	s := seconds[0]
	if s.startNS != 2e9 || s.lengthNS != 1e9 || s.achievedPerS != 500 {
		t.Errorf("second %+v, want one from 2 s with 500/s", s)
	}
	near := func(got, want int64) bool { return math.Abs(float64(got-want)) < 0.002*float64(want) }
	if !near(s.p50, 100_000) || !near(s.p99, 900_000) || !near(s.lagP99, 7_000) {
		t.Errorf("P50 %d, P99 %d, lag %d", s.p50, s.p99, s.lagP99)
	}
}

func TestSecondWithTooFewSamplesHasNoP99(t *testing.T) {
	s := secondOf(0, []results.Interval{{Span: results.SpanAcquire, LengthNS: 5e8, Histogram: histogram(repeated(1000, 367)...)}})
	if s.p99 != 0 || s.p50 == 0 {
		t.Errorf("367 samples give P50 %d and P99 %d", s.p50, s.p99)
	}
	if s.achievedPerS != 734 {
		t.Errorf("367 operations in half a second are %v/s", s.achievedPerS)
	}
}

func TestCurveEndsWhereItsSamplesDo(t *testing.T) {
	for _, c := range []struct {
		n       int64
		highest float64
	}{{results.SamplesFor(results.P50), 0.5}, {results.SamplesFor(results.P90), 0.9}, {results.SamplesFor(results.P99), 0.99}, {results.SamplesFor(results.P999), 0.999}, {36887, 0.9999}} {
		if got := highestQuantile(c.n); got < c.highest || highestQuantile(c.n-1) >= c.highest {
			t.Errorf("%d samples reach %v, and one less %v; the limit is at %v", c.n, got, highestQuantile(c.n-1), c.highest)
		}
	}
	var values []int64
	for i := range int64(1000) {
		values = append(values, (i+1)*1000)
	}
	curve := curveOf(histogram(values...))
	if curve[0] != (point{0, 1000}) {
		t.Errorf("the curve starts at %+v, want the minimum", curve[0])
	}
	for i := 1; i < len(curve); i++ {
		if curve[i].quantile <= curve[i-1].quantile || curve[i].ns < curve[i-1].ns {
			t.Fatalf("the curve falls from %+v to %+v", curve[i-1], curve[i])
		}
		if want := curve[i].quantile * 1e6; math.Abs(float64(curve[i].ns)-want) > 2000 {
			t.Errorf("quantile %v is %d, want about %v", curve[i].quantile, curve[i].ns, want)
		}
	}
	if last := curve[len(curve)-1].quantile; last != highestQuantile(1000) {
		t.Errorf("the curve ends at %v", last)
	}
}

// studyOf makes a study of runs with the given verdicts, without intervals.
func studyOf(t *testing.T, verdicts map[string][]results.Verdict) *study {
	t.Helper()
	record := &results.Record{Plan: results.Plan{Effect: results.EffectCharge}}
	names := []string{"setnx", "fencing", "redlock"}
	for p, name := range names {
		path := results.Path{Path: name}
		for i, verdict := range verdicts[name] {
			ns := int64(p+1) * 100_000
			path.Runs = append(path.Runs, results.Run{
				Index: i, Verdict: verdict, Granted: 1000, Offered: 1000, Reasons: []string{"because"},
				Spans: map[results.SpanName]results.Span{
					results.SpanAcquire: {Count: 1000, MeanNS: ns, P50NS: &ns},
				},
			})
		}
		if len(path.Runs) > 0 {
			record.Paths = append(record.Paths, path)
		}
	}
	record.Summarize()
	s, err := newStudy(record, func(results.Path) ([]results.Interval, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestChoiceOfRuns(t *testing.T) {
	valid, saturated, invalid := results.Valid, results.Saturated, results.Invalid
	for name, c := range map[string]struct {
		verdicts []results.Verdict
		runs     int
		mark     string
	}{
		"all valid":      {[]results.Verdict{valid, valid}, 2, ""},
		"one invalid":    {[]results.Verdict{valid, invalid, valid}, 2, ""},
		"one saturated":  {[]results.Verdict{valid, saturated}, 2, markSaturated},
		"all invalid":    {[]results.Verdict{invalid, invalid}, 2, markInvalid},
		"none is usable": {[]results.Verdict{invalid, saturated}, 1, markSaturated},
	} {
		one := studyOf(t, map[string][]results.Verdict{"setnx": c.verdicts}).series[0]
		if len(one.runs) != c.runs || one.mark != c.mark {
			t.Errorf("%s: %d runs marked %q, want %d marked %q", name, len(one.runs), one.mark, c.runs, c.mark)
		}
	}
}

func TestInvalidPathHasACostToMark(t *testing.T) {
	s := studyOf(t, map[string][]results.Verdict{
		"setnx": {results.Valid, results.Valid}, "fencing": {results.Valid, results.Valid},
		"redlock": {results.Invalid, results.Invalid},
	})
	if s.record.Paths[2].Cost != nil {
		t.Error("drawing gave the record a cost from invalid runs")
	}
	dots := s.costPanels(s.costRows())[0].dots
	for _, want := range []costDot{
		{row: 0, value: 1}, {row: 1, value: 2}, {row: 2, value: 3, doubtful: true},
	} {
		i := slices.IndexFunc(dots, func(d costDot) bool { return d.row == want.row })
		if i < 0 || dots[i].value != want.value || dots[i].doubtful != want.doubtful {
			t.Errorf("dots %+v lack row %d at %v, doubtful %v", dots, want.row, want.value, want.doubtful)
		}
	}
}

func TestUnreadableLogIsAnError(t *testing.T) {
	record := &results.Record{Paths: []results.Path{{Path: "setnx", Runs: []results.Run{{Granted: 1}}}}}
	broken := errors.New("line 7: broken")
	_, err := newStudy(record, func(results.Path) ([]results.Interval, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestDotsStandAtTheirValues(t *testing.T) {
	low, high := 1.5, 4.0
	panel := costPanel{ratio: true, dots: []costDot{
		{row: 0, slot: 0, value: 1, low: math.NaN(), high: math.NaN()},
		{row: 1, slot: 0, value: 2, low: low, high: high},
	}}
	rows := []results.KindGroup[series]{{Items: make([]series, 2)}}
	grid := costGrid{rows: flat(rows), stack: newStack(rows, func(series) vg.Length { return 40 }), slot: costSlot}
	area := vg.Rectangle{Min: vg.Point{X: 100, Y: 50}, Max: vg.Point{X: 300, Y: 150}}
	chart := grid.chart(panel, area.Size().X)
	var drawn recorder.Canvas
	data := place(chart, canvasOf(&drawn), area)
	for _, d := range []vg.Length{
		data.Min.X - area.Min.X, data.Max.X - area.Max.X, data.Min.Y - area.Min.Y, data.Max.Y - area.Max.Y,
	} {
		if math.Abs(float64(d)) > 0.01 {
			t.Fatalf("the data fill %v, want %v", data.Rectangle, area)
		}
	}
	// The axis is logarithmic: 2× lies between 1× and 4× at half their distance.
	at := func(v float64) vg.Length {
		return area.Min.X + area.Size().X*vg.Length(math.Log(v/chart.X.Min)/math.Log(chart.X.Max/chart.X.Min))
	}
	if d := (at(1)+at(4))/2 - at(2); math.Abs(float64(d)) > 0.01 {
		t.Fatalf("2× lies %v off the middle", d)
	}
	for _, v := range []float64{1, 2} {
		if !hasCircle(drawn, at(v)) {
			t.Errorf("no dot is drawn at %v, where %v× lies", at(v), v)
		}
	}
	if !hasLine(drawn, at(low), at(high)) {
		t.Errorf("no line is drawn from %v to %v", at(low), at(high))
	}
}

// hasCircle says whether a full circle was filled around x.
func hasCircle(c recorder.Canvas, x vg.Length) bool {
	return slices.ContainsFunc(c.Actions, func(a recorder.Action) bool {
		fill, ok := a.(*recorder.Fill)
		return ok && slices.ContainsFunc(fill.Path, func(p vg.PathComp) bool {
			return p.Type == vg.ArcComp && math.Abs(float64(p.Pos.X-x)) < 0.01
		})
	})
}

// hasLine says whether a level line was drawn from one x to another.
func hasLine(c recorder.Canvas, from, to vg.Length) bool {
	return slices.ContainsFunc(c.Actions, func(a recorder.Action) bool {
		stroke, ok := a.(*recorder.Stroke)
		return ok && len(stroke.Path) == 2 && stroke.Path[0].Pos.Y == stroke.Path[1].Pos.Y &&
			math.Abs(float64(stroke.Path[0].Pos.X-from)) < 0.01 && math.Abs(float64(stroke.Path[1].Pos.X-to)) < 0.01
	})
}

func TestMeansAreWeighedAndAddUp(t *testing.T) {
	run := func(count, acquire, release int64) results.Run {
		return results.Run{Spans: map[results.SpanName]results.Span{
			results.SpanAcquire: {Count: count, MeanNS: acquire},
			results.SpanRelease: {Count: count, MeanNS: release},
			results.SpanTotal:   {Count: count, MeanNS: acquire + release},
		}}
	}
	row := stageRowOf(series{runs: []results.Run{run(300, 100, 50), run(100, 500, 50)}})
	if want := []float64{200, 0, 50, 0}; !slices.Equal(row.means, want) || row.total != 250 {
		t.Errorf("means %v of %v, want %v of 250", row.means, row.total, want)
	}
	if row.low != 150 || row.high != 550 {
		t.Errorf("runs from %v to %v, want 150 to 550", row.low, row.high)
	}
	held := run(10, 100, 100)
	held.Spans[results.SpanTotal] = results.Span{Count: 10, MeanNS: 1200}
	if row := stageRowOf(series{runs: []results.Run{held}}); row.means[3] != 1000 {
		t.Errorf("the rest is %v, want the 1000 ns between the stages", row.means[3])
	}
}

func TestKnownPathsLookDifferent(t *testing.T) {
	seen := map[string]string{}
	for name := range knownLooks {
		l := lookOf(name, 0, 0)
		key := fmt.Sprint(l.color, l.dashes)
		if other, taken := seen[key]; taken {
			t.Errorf("%s and %s look the same", name, other)
		}
		seen[key] = name
	}
	if fmt.Sprint(lookOf("setnx-wait", 0, 0)) == fmt.Sprint(lookOf("setnx-wait", 1, 0)) {
		t.Error("two distances of a path look the same")
	}
}
