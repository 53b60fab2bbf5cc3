package results

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func tableText(t *testing.T, r *Record) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteTable(&out, r); err != nil {
		t.Fatal(err)
	}
	keepsForm(t, out.String())
	return out.String()
}

// keepsForm sees to the table's width, and to blanks at the ends of lines.
func keepsForm(t *testing.T, text string) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(line); n > tableWidth {
			t.Errorf("%d columns: %s", n, line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("blanks at the end of %q", line)
		}
	}
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func TestTableSaysWhatMustBeSaid(t *testing.T) {
	text := tableText(t, exampleRecord(6))
	wants(t, text, "[96.9 % interval]", "A/A control", "Floors", "no production layout",
		"a replica round trip of 1.00 ms", "Cost of the whole job", "Holm")
	if strings.Contains(text, "invalid") || strings.Contains(text, "too small") {
		t.Error("valid runs are called something else")
	}
}

func TestOneMillisecondInTheTable(t *testing.T) {
	r := &Record{Paths: []Path{{Path: "setnx", Runs: runsOf(SpanAcquire, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6)}}}
	r.Summarize()
	wants(t, tableText(t, r), "1.00 ms [1.00, 1.00]")
}

func TestInvalidNumbersCarryTheWord(t *testing.T) {
	r := exampleRecord(6)
	odd := spanOf(77_700_000)
	r.Paths[3].Runs[2].Spans[SpanAcquire] = odd
	r.Paths[3].Runs[2].Verdict, r.Paths[3].Runs[2].Reasons = Invalid, []string{"7 samples were outside the histograms' range"}
	r.Summarize()
	text := strings.Join(strings.Fields(tableText(t, r)), " ")
	wants(t, text, "1 invalid of 6", "setnx-wait: run 2 is invalid, and left out above. Run 2: 7 samples", "Invalid acquire: P50 77.7 ms", "n too small")
	if strings.Count(text, "77.7") != 2 {
		t.Errorf("the invalid run's P50 and P99 stand elsewhere too:\n%s", text)
	}
}

func TestHardRecordsKeepTheirForm(t *testing.T) {
	r := exampleRecord(3)
	r.Interrupted = true
	r.Paths = append(r.Paths, failingPath(), Path{Path: "redlock"}, Path{Path: "setnx-wait",
		Options: map[string]string{"round-trips": "2", "another-option": "with-a-long-value"}, ReplicaRTTNS: 2_500_000,
		Runs: runsOf(SpanAcquire, 1e9, 2e9, 3e9, 4e9, 5e9, 6e9)})
	r.Paths[2].Runs[0].Expired = 5
	r.Paths[2].Runs[1].Warnings = []string{Drift([]int64{100, 100, 150, 150, 200, 200})}
	r.Summarize()
	text := tableText(t, r)
	wants(t, text, "INTERRUPTED", "≥ ", "Errors of etcd: connection refused 5900, timeout 100.",
		"setnx, warning of run 1: drift", "n too small")
	r.Plan.Effect, r.Plan.Env = EffectNone, "external"
	text = tableText(t, r)
	if strings.Contains(text, "The whole job") || strings.Contains(text, "production layout") {
		t.Errorf("a job that was not done, or a machine that was not shared:\n%s", text)
	}
	tableText(t, &Record{})
}

func TestFormatDuration(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0 ns", 7: "7 ns", 850: "850 ns", 999: "999 ns", 1000: "1.00 µs", 214_000: "214 µs",
		999_499: "999 µs", 999_500: "1.00 ms", 1_000_000: "1.00 ms", 1_084_999: "1.08 ms",
		99_949_999: "99.9 ms", 99_950_000: "100 ms", 2_500_000_000: "2.50 s", 3_600_000_000_000: "3600 s",
		-30_700: "-30.7 µs",
	} {
		if got := FormatDuration(ns); got != want {
			t.Errorf("%d ns: %q, want %q", ns, got, want)
		}
	}
}
