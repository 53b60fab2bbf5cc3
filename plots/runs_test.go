package plots

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"lockcost/results"
)

// answered are the intervals of a run that was granted the lock 1000 times in
// each of the given seconds, and logged nothing in the others.
func answered(run int, seconds ...int64) []results.Interval {
	var all []results.Interval
	for _, second := range seconds {
		all = append(all, results.Interval{
			Run: run, Span: results.SpanAcquire, StartNS: second * 1e9, LengthNS: 1e9,
			Histogram: histogram(repeated(100_000, 1000)...),
		})
	}
	return all
}

// drawnFrom makes a study of setnx alone: 1000/s for 4 s.
func drawnFrom(t *testing.T, runs []results.Run, intervals ...[]results.Interval) *study {
	t.Helper()
	record := &results.Record{
		Plan:  results.Plan{Effect: results.EffectNone, RatePerS: 1000, DurationNS: 4e9, Arrivals: "constant"},
		Paths: []results.Path{{Path: "setnx", Runs: runs}},
	}
	record.Summarize()
	s, err := newStudy(record, func(results.Path) ([]results.Interval, error) { return slices.Concat(intervals...), nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// granted is a valid run.
func granted(index int, n int64) results.Run {
	return results.Run{Index: index, Verdict: results.Valid, Offered: 4000, Completed: n, Granted: n, Expired: 4000 - n}
}

func TestStalledSecondsCount(t *testing.T) {
	longer := answered(0, 0, 1, 2, 3)
	longer[3].LengthNS = 1_250_000_000 // the last operations came in late
	cut := granted(1, 1500)
	cut.Interrupted, cut.Offered, cut.Expired = true, 2500, 1000
	for name, c := range map[string]struct {
		runs      []results.Run
		intervals [][]results.Interval
		want      []float64
	}{
		"one of two runs stands still": {
			[]results.Run{granted(0, 4000), granted(1, 2000)},
			[][]results.Interval{answered(0, 0, 1, 2, 3), answered(1, 0, 3)}, []float64{1000, 500, 500, 1000},
		},
		"the only run stands still": {
			[]results.Run{granted(0, 2000)}, [][]results.Interval{answered(0, 0, 3)}, []float64{1000, 0, 0, 1000},
		},
		"the last seconds are dead": {
			[]results.Run{granted(0, 2000)}, [][]results.Interval{answered(0, 0, 1)}, []float64{1000, 1000, 0, 0},
		},
		"the last interval is longer": {
			[]results.Run{granted(0, 4000)}, [][]results.Interval{longer}, []float64{1000, 1000, 1000, 800},
		},
		"a run that was cut short has no more seconds": {
			[]results.Run{cut}, [][]results.Interval{answered(1, 0)}, []float64{1000, 0, 0},
		},
		"a run that is not in the log is not known": {
			[]results.Run{granted(0, 4000), granted(1, 4000)},
			[][]results.Interval{answered(0, 0, 1, 2, 3)}, []float64{1000, 1000, 1000, 1000},
		},
	} {
		seconds := drawnFrom(t, c.runs, c.intervals...).series[0].seconds
		var got []float64
		for i, s := range seconds {
			got = append(got, s.achievedPerS)
			if s.startNS != int64(i)*1e9 {
				t.Errorf("%s: second %d starts at %d ns", name, i, s.startNS)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v operations per second, want %v", name, got, c.want)
		}
	}
}

func TestLatencyHasAGapWhereNothingCompleted(t *testing.T) {
	s := drawnFrom(t, []results.Run{granted(0, 2000)}, answered(0, 0, 3))
	row := timeRowOf(s.series[0], s.record.Plan)
	for _, line := range row.latency[:2] {
		if got := line.pieces(); len(got) != 2 || !slices.Equal(got[0], []int{0}) || !slices.Equal(got[1], []int{3}) {
			t.Errorf("%s is drawn through seconds %v, want 0 and 3 apart", line.label, got)
		}
	}
	for _, line := range row.rate {
		if got := line.pieces(); len(got) != 1 || len(got[0]) != 4 {
			t.Errorf("%s is drawn through seconds %v, want all four together", line.label, got)
		}
	}
	body := timeBody{rows: []timeRow{row}}
	body.setRanges()
	if math.IsNaN(body.latency.lo) || body.latency.hi < 100_000 || body.rate.lo != 0 {
		t.Errorf("axes %+v and %+v do not hold the lines", body.latency, body.rate)
	}
}

func TestRandomArrivalsAreOfferedOnAverage(t *testing.T) {
	m := usual()
	m.runs, m.seconds, m.profiles = 1, 1, m.profiles[2:3]
	for arrivals, want := range map[string]bool{"constant": false, "poisson": true} {
		s := m.study(t)
		s.record.Plan.Arrivals = arrivals
		pages, err := timeseriesPage(s)
		if err != nil {
			t.Fatal(err)
		}
		svg, err := renderSVG(pages[0])
		if err != nil {
			t.Fatal(err)
		}
		drawn := parsed(t, arrivals, svg)
		checkTexts(t, arrivals, drawn)
		for _, words := range []string{"mean offered", "planned mean of Poisson arrivals"} {
			if strings.Contains(drawn.all, words) != want {
				t.Errorf("%s arrivals: %q is written: %v", arrivals, words, !want)
			}
		}
	}
}

func TestOperationsGivenUpOnMakePercentilesLowerBounds(t *testing.T) {
	clean, refused, gaveUp := granted(0, 4000), granted(0, 3990), granted(0, 3990)
	refused.Expired, refused.Errors = 0, map[string]int64{"dial": 10}
	gaveUp.Expired, gaveUp.Errors = 0, map[string]int64{"redis-timeout": 10}
	for name, c := range map[string]struct {
		run  results.Run
		want string
	}{
		"clean":    {clean, ""},
		"refused":  {refused, ""},
		"gave up":  {gaveUp, "lower bound"},
		"expiring": {granted(0, 3990), "lower bound"},
	} {
		s := drawnFrom(t, []results.Run{c.run})
		if got := s.series[0].aside; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		noted := slices.ContainsFunc(s.notes, func(n string) bool {
			return strings.HasPrefix(n, "Percentiles are lower bounds") && strings.HasSuffix(n, "at a timeout: setnx 10.")
		})
		if noted != (c.want != "") {
			t.Errorf("%s: notes %q", name, s.notes)
		}
	}
}

func TestRunsCutShortAreDrawnWhereNoneIsComplete(t *testing.T) {
	cut := func(index int) results.Run {
		run := granted(index, 1000)
		run.Interrupted, run.Offered, run.Expired = true, 1000, 0
		return run
	}
	spoilt := cut(1)
	spoilt.Verdict = results.Invalid
	for name, c := range map[string]struct {
		runs  []results.Run
		drawn []int
		note  string
	}{
		"beside a complete one": {[]results.Run{granted(0, 4000), cut(1)}, []int{0}, "Runs left out as cut short: setnx 1 of 2."},
		"alone":                 {[]results.Run{cut(0)}, []int{0}, "Drawn from runs that were cut short, for want of complete ones: setnx 1 run."},
		"beside an invalid one": {[]results.Run{cut(0), spoilt}, []int{0}, "Runs left out as invalid: setnx 1 of 2."},
	} {
		s := drawnFrom(t, c.runs)
		var drawn []int
		for _, run := range s.series[0].runs {
			drawn = append(drawn, run.Index)
		}
		if !slices.Equal(drawn, c.drawn) || s.series[0].mark != "" {
			t.Errorf("%s: runs %v are drawn, marked %q, want %v", name, drawn, s.series[0].mark, c.drawn)
		}
		if !slices.Contains(s.notes, c.note) {
			t.Errorf("%s: notes %q lack %q", name, s.notes, c.note)
		}
	}
}

func TestRunsLeftOutAreNotedTogether(t *testing.T) {
	valid, invalid := results.Valid, results.Invalid
	s := studyOf(t, map[string][]results.Verdict{
		"setnx": {valid, invalid, valid}, "fencing": {valid, valid, valid}, "redlock": {invalid, invalid, valid},
	})
	if want := []string{"Runs left out as invalid: setnx 1 of 3; redlock 2 of 3."}; !slices.Equal(s.notes, want) {
		t.Errorf("notes %q, want %q", s.notes, want)
	}
}

func TestNullDoesNotStretchTheAxis(t *testing.T) {
	line := func(label string, lo, hi time.Duration) curve {
		return curve{label: label, idle: label == "null", points: []point{{0, int64(lo)}, {0.5, int64(lo)}, {0.99, int64(hi)}}}
	}
	paths := []curve{
		line("ping", 90*time.Microsecond, time.Millisecond), line("setnx", 120*time.Microsecond, time.Millisecond),
	}
	for _, c := range []struct {
		null  curve
		label string
		lo    float64
	}{
		{line("null", 400, 900), "null, below (400 ns at P50)", 30_000},
		{line("null", 400, 50*time.Microsecond), "null (400 ns at P50)", 30_000},
		{line("null", 85*time.Microsecond, 100*time.Microsecond), "null", 85_000 / 1.17},
	} {
		panel := newCurvePanel("", append([]curve{c.null}, paths...))
		if panel.curves[0].label != c.label || panel.curves[1].label != "ping" {
			t.Errorf("labels %q and %q, want %q", panel.curves[0].label, panel.curves[1].label, c.label)
		}
		if math.Abs(panel.latency.lo/c.lo-1) > 0.02 {
			t.Errorf("the axis starts at %v ns, want about %v", panel.latency.lo, c.lo)
		}
	}
	alone := newCurvePanel("", []curve{line("null", 400, 900)})
	if alone.latency.lo > 400 || alone.curves[0].label != "null" {
		t.Errorf("null alone: axis from %v, label %q", alone.latency.lo, alone.curves[0].label)
	}
}

func TestNumbersStayWithWhatTheyCount(t *testing.T) {
	got := words("stood still for 34.4 ms, over 3 runs of 1,000 operations: +2 % or 4, and (7 s) at P99")
	want := []string{"stood", "still", "for", "34.4 ms,", "over", "3 runs", "of", "1,000 operations:", "+2 %", "or", "4,", "and", "(7 s)", "at", "P99"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCostsThatAreBoundsSaySo(t *testing.T) {
	gaveUp := map[string]int64{"redis-timeout": 3}
	for name, c := range map[string]struct {
		setnx, fencing map[string]int64
		level, cost    string
	}{
		"all answered":  {nil, nil, "100 µs", "2.00×"},
		"path gave up":  {nil, gaveUp, "100 µs", "≥ 2.00×"},
		"setnx gave up": {gaveUp, nil, "≥ 100 µs", "≤ 2.00×"},
		"both gave up":  {gaveUp, gaveUp, "≥ 100 µs", "? 2.00×"},
	} {
		s := studyOf(t, map[string][]results.Verdict{"setnx": {results.Valid}, "fencing": {results.Valid}})
		s.record.Paths[0].Runs[0].Errors = c.setnx
		s.record.Paths[1].Runs[0].Errors = c.fencing
		s.record.Summarize()
		s, err := newStudy(s.record, func(results.Path) ([]results.Interval, error) { return nil, nil })
		if err != nil {
			t.Fatal(err)
		}
		rows := s.costRows()
		dots := s.costPanels(rows)[0].dots
		if len(dots) != 2 || !strings.HasPrefix(dots[0].text, c.level) || dots[1].text != c.cost {
			t.Errorf("%s: %+v, want %q and %q", name, dots, c.level, c.cost)
		}
		explained := slices.ContainsFunc(costNotes(rows), func(n string) bool { return strings.HasPrefix(n, "≥ and ≤") })
		if explained != (c.setnx != nil || c.fencing != nil) {
			t.Errorf("%s: notes %q", name, costNotes(rows))
		}
	}
}
