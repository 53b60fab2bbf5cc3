package plots

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockcost/results"
)

// drawnSweeps are the figures that are drawn of each input.
var drawnSweeps = map[string][]string{
	"nothing passes": {"knee", "rtt"},
	"instrument":     {"knee"},
	"partly":         {"knee", "rtt", "resources"},
	"one step":       {"knee", "resources"},
	"two":            {"knee", "knee-2", "rtt", "rtt-2", "resources"},
	"four":           {"knee", "rtt", "sensitivity", "sensitivity-2", "resources"},
	"thirteen":       {"knee", "rtt", "rtt-2", "sensitivity", "sensitivity-2", "resources"},
	"bare":           {"knee"},
	"levels":         {"sensitivity"},
	"unfinished":     {"knee", "rtt", "resources"},
	"empty":          {"knee"},
	"short":          {"knee", "sensitivity"},
}

// expectedSweeps are words that a figure of an input must carry.
var expectedSweeps = map[string]map[string][]string{
	"nothing passes": {"knee": {"acquire P99 ≤ 100 µs", "the lowest rate did not pass", "setnx at 250/s: acquire P99 was", "limit",
		"There is no figure resources: no step that passed"}},
	"instrument": {"knee": {"The instrument's limit was reached on all paths", "instrument's limit", "the lowest rate did not pass", "No knee shows",
		"the driver's CPU was busy for 93 %", "There is no figure rtt"}},
	"partly":   {"knee": {"instrument's limit", "1,000/s", "the driver's CPU was busy for 93 %"}},
	"one step": {"knee": {"offered 1,000/s", "2,000 samples a path", "none found *", "*: not confirmed"}},
	"two": {
		"knee":      {"no production layout", "driver on CPU 0", "2 CPUs", "6 runs a step", "SLO: acquire P99 ≤ 5.00 ms", "3,360/s", "at most", "first that does not"},
		"knee-2":    {"total P50 ≤ 1.00 ms"},
		"rtt":       {"cost over setnx, linear", "× RTT, R² 0.999", "[1.00", "0 ms", "10 ms", "replica round trip 0, 250 µs", "200/s", "Expected slope: 1 for each wait"},
		"rtt-2":     {"level, linear", "client round trip 0, 500 µs", "setnx-wait", "P99"},
		"resources": {"nearest to 1,000/s", "at 1,000/s", "12,000 samples a row", "Sentinels", "replication", "kB", "2.03", "1.02"},
	},
	"four": {
		"knee":          {"setnx-wait", "fencing", "idempotent", "Kleinrock"},
		"sensitivity":   {"wait-replicas: acquire P50", "hold: acquire P99", "10ms", "(1 of 2)", "set apart evenly"},
		"sensitivity-2": {"tx-rows: effect P50", "× tx-rows, R² 0.9"},
		"resources":     {"each path at the highest step that passed"},
	},
	"thirteen": {
		"knee":      {"zookeeper", "fencing:token=etcd", "setnx-wait:round-trips=2", "the lowest rate did not pass"},
		"rtt":       {"zookeeper", "waitaof", "RTT, R² 0.0"},
		"resources": {"independent Redis", "≥ ", "zookeeper: CPU time not known: the server does not tell.", "granted by several servers", "token=etcd"},
	},
	"bare":       {"knee": {"There is no figure resources", "There is no figure sensitivity: no value"}},
	"levels":     {"sensitivity": {"There is no figure knee: no SLO was searched for"}},
	"unfinished": {"knee": {"UNFINISHED", "Down while all of this was measured: replica-2"}, "rtt": {"Hollow dots are in doubt", "saturated: 150/s of 200/s"}},
	"empty":      {"knee": {"Nothing to draw", "There is no figure knee"}},
	"short":      {"knee": {"too few operations", "do not count", "Above a panel"}, "sensitivity": {"too few samples for this percentile"}},
}

func TestEverySweepFigureOfEveryInput(t *testing.T) {
	all := sweepInputs()
	for _, name := range sweepNames(all) {
		if raceEnabled && name != "one step" && name != "bare" {
			continue // drawing is done in one goroutine
		}
		t.Run(name, func(t *testing.T) {
			drawn, err := newSweep(all[name]).draw(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, figure := range drawn {
				names = append(names, figure.Name)
				texts := textsOf(t, figure.Files[1])
				if name != "empty" {
					checkPNG(t, figure.Files[0], texts)
				}
				checkTexts(t, figure.Name, texts)
				checkWords(t, figure.Name, texts, expectedSweeps[name][figure.Name], []string{"NaN", "Inf", "−0.000"})
			}
			if !slices.Equal(names, drawnSweeps[name]) {
				t.Errorf("drawn: %q, want %q", names, drawnSweeps[name])
			}
		})
	}
}

// kept writes a sweep into a folder, as the search does.
func kept(t *testing.T, c *results.Capacity) string {
	t.Helper()
	dir := t.TempDir()
	folder, err := results.CreateCapacity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Save(c); err != nil {
		t.Fatal(err)
	}
	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDrawCapacityReadsAFolderAndRedrawsTheSameBytes(t *testing.T) {
	m := usualSweep(3)
	m.varied = append(m.varied, otherVary[0])
	record := m.record()
	record.Paths, record.Sensitivity = nil, nil // both are concluded anew
	dir := kept(t, record)
	first, second := filepath.Join(t.TempDir(), "made", "anew"), t.TempDir()
	drawn, err := DrawCapacity(dir, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DrawCapacity(dir, second); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, figure := range drawn {
		names = append(names, figure.Name)
		for _, file := range figure.Files {
			a, errA := os.ReadFile(file)
			b, errB := os.ReadFile(filepath.Join(second, filepath.Base(file)))
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Errorf("%s differs between two drawings (%v, %v)", file, errA, errB)
			}
		}
	}
	if want := []string{"knee", "rtt", "sensitivity", "resources"}; !slices.Equal(names, want) {
		t.Errorf("drawn: %q, want %q", names, want)
	}
}

func TestDrawCapacityNamesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := DrawCapacity(dir, t.TempDir()); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("drawing an empty folder: %v", err)
	}
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := DrawCapacity(kept(t, usualSweep(1).record()), filepath.Join(blocked, "figures")); err == nil || !strings.Contains(err.Error(), blocked) {
		t.Errorf("drawing below a file: %v", err)
	}
}

func TestManyPathsAreDealtOutToPages(t *testing.T) {
	m := usualSweep(13)
	for _, trips := range []string{"3", "4", "5", "6"} {
		p := sweepPaths[6]
		p.options = map[string]string{"round-trips": trips}
		m.paths = append(slices.Clone(m.paths), p)
	}
	m.varied = nil
	pages, missing := kneePages(newSweep(m.record()))
	if len(pages) != 2 || missing != "" || !strings.HasSuffix(pages[1].title, "(2 of 2)") {
		t.Fatalf("%d pages, missing %q", len(pages), missing)
	}
}

func TestRangesThatWereNotDriven(t *testing.T) {
	const driven, not, open = results.StepPassed, results.StepInstrument, results.StepUndecided
	for name, c := range map[string]struct {
		outcomes []results.StepOutcome
		want     []extent
	}{
		"none":      {[]results.StepOutcome{driven, driven}, nil},
		"above":     {[]results.StepOutcome{driven, not, not}, []extent{{2, math.Inf(1)}}},
		"between":   {[]results.StepOutcome{driven, not, not, driven}, []extent{{2, 3}}},
		"twice":     {[]results.StepOutcome{not, driven, not}, []extent{{1, 1}, {3, math.Inf(1)}}},
		"undecided": {[]results.StepOutcome{driven, not, open}, []extent{{2, math.Inf(1)}}},
	} {
		var l ladder
		for i, outcome := range c.outcomes {
			l.steps = append(l.steps, kneeStep{Step: results.Step{RatePerS: float64(i + 1), Outcome: outcome}})
		}
		if got := l.undrivenRates(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
