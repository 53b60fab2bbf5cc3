package plots

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLook draws the made-up records into the folder that PLOTS_LOOK names,
// for a person to look at.
func TestLook(t *testing.T) {
	out := os.Getenv("PLOTS_LOOK")
	if out == "" {
		t.Skip("PLOTS_LOOK names no folder to draw into")
	}
	for name, m := range inputs() {
		t.Run(name, func(t *testing.T) {
			if _, err := m.study(t).draw(filepath.Join(out, strings.ReplaceAll(name, " ", "-"))); err != nil {
				t.Fatal(err)
			}
		})
	}
}
