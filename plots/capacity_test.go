package plots

import (
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
}

func TestEverySweepFigureOfEveryInput(t *testing.T) {
	all := sweepInputs()
	for _, name := range sweepNames(all) {
		if raceEnabled && name != "one step" && name != "bare" {
			continue // drawing is done in one goroutine
		}
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			if keep := os.Getenv("KEEP"); keep != "" {
				out = filepath.Join(keep, strings.ReplaceAll(name, " ", "-"))
			}
			drawn, err := newSweep(all[name]).draw(out)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, figure := range drawn {
				names = append(names, figure.Name)
				texts := textsOf(t, figure.Files[1])
				checkPNG(t, figure.Files[0], texts)
				checkTexts(t, figure.Name, texts)
				checkWords(t, figure.Name, texts, expectedSweeps[name][figure.Name], []string{"NaN", "Inf"})
			}
			if !slices.Equal(names, drawnSweeps[name]) {
				t.Errorf("drawn: %q, want %q", names, drawnSweeps[name])
			}
		})
	}
}

// expectedSweeps are words that a figure of an input must carry.
var expectedSweeps = map[string]map[string][]string{}

var _ = math.NaN
var _ = results.P50
