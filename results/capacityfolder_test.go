package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASweepsFolderIsGoneOnWithUntilItIsFinished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sweep")
	f, err := CreateCapacity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenCapacity(dir); err == nil || !strings.Contains(err.Error(), "another sweep") {
		t.Errorf("two at once: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f, before, err := OpenCapacity(dir) // killed before anything was kept
	if err != nil || before != nil {
		t.Fatalf("%v, %v", before, err)
	}
	c := ladder(6, 250, 500)
	c.Interrupted = true
	if err := f.Save(c); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, before, err = OpenCapacity(dir); err != nil || len(before.Points) != 2 || len(before.Paths) != 1 {
		t.Fatalf("%+v, %v", before, err)
	}
	c.Interrupted = false
	if err := f.Save(c); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenCapacity(dir); err == nil || !strings.Contains(err.Error(), "finished") {
		t.Errorf("a finished one: %v", err)
	}
	for name, create := range map[string]func() error{
		"a run":             func() error { _, err := Create(dir); return err },
		"fault experiments": func() error { _, err := CreateFailover(dir); return err },
		"a sweep":           func() error { _, err := CreateCapacity(dir); return err },
	} {
		if err := create(); err == nil || !strings.Contains(err.Error(), "holds a sweep") {
			t.Errorf("%s in its folder: %v", name, err)
		}
	}
}

func TestADamagedSweepIsNamed(t *testing.T) {
	for text, says := range map[string]string{
		`{"schema": "lockcost/capacity/v9"}`:  "v9",
		`{"schema": "lockcost/capacity/v1", `: "incomplete or damaged",
		`{"schema": "lockcost/run/v1"}`:       "lockcost/run/v1",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, capacityName), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := OpenCapacity(dir); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := LoadCapacity(dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := LoadCapacity(filepath.Join(t.TempDir(), "absent")); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("%v", err)
	}
}

func TestAFolderWithoutMeasurementsIsDiscarded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sweep")
	f, err := CreateCapacity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Discard(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it is still there")
	}
}

// The table keeps to its width, and says what is known also of a sweep that had
// hardly begun.
func TestTheTableOfASweepKeepsToItsWidth(t *testing.T) {
	invalid := stepRun(0, 250, 1e6, 1e6)
	invalid.Verdict, invalid.Reasons = Invalid, []string{"the driver stood still"}
	begun := madeUpSearch()
	begun.Points = []Point{stepOf(250, invalid)}
	begun.Interrupted = true
	lines := lined(func() int64 { return 0 })
	for name, c := range map[string]*Capacity{
		"answers": ladder(6, 250, 1000, 1044), "no rate": ladder(6, 10), "undriven": undriven(1000, 1044), "begun": begun, "lines": lines, "nothing": madeUpSearch(),
	} {
		c.Conclude()
		var out strings.Builder
		if err := WriteCapacityTable(&out, c); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > tableWidth {
				t.Errorf("%s: %d columns: %q", name, n, line)
			}
		}
		for _, says := range map[string][]string{
			"answers": {"1,000/s", "1,044/s", "system", "9.00 ms"}, "no rate": {"no rate met it"}, "undriven": {"the instrument's limit"},
			"begun": {"UNFINISHED", "nothing is decided yet"}, "lines": {"plus 1 [1, 1] × replica-rtt", "+1.10 ms"},
		}[name] {
			if !strings.Contains(out.String(), says) {
				t.Errorf("%s: the table does not say %q:\n%s", name, says, out.String())
			}
		}
	}
}
