package results

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSLOsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]SLO{
		"p99=5ms":           {SpanAcquire, P99, 5e6},
		" P99.9=10ms ":      {SpanAcquire, P999, 10e6},
		"p99_9=10ms":        {SpanAcquire, P999, 10e6},
		"total:p50=20ms":    {SpanTotal, P50, 20e6},
		"acquire:p90=800us": {SpanAcquire, P90, 800e3},
	} {
		got, err := ParseSLO(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		encoded, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var back SLO
		if err := json.Unmarshal(encoded, &back); err != nil || back != got {
			t.Errorf("%s was read back as %+v: %v", encoded, back, err)
		}
	}
	for text, says := range map[string]string{
		"p99=5":        "unit",
		"p95=5ms":      "p50, p90, p99 and p99.9",
		"5ms":          "such as p99=5ms",
		"p99=0s":       "above 0",
		"p99=-1ms":     "above 0",
		"lag:p99=1ms":  "no span",
		"p99=quick":    "unit",
		"":             "such as p99=5ms",
		"total:=20ms":  "not \"\"",
		"p99<5ms":      "such as",
		"p99=5ms=10ms": "unit",
	} {
		if _, err := ParseSLO(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRatesAreWrittenForPeople(t *testing.T) {
	for rate, want := range map[float64]string{10: "10", 62.5: "62.5", 250: "250", 1411.2: "1,411", 64000: "64,000", 1e6: "1,000,000"} {
		if got := FormatRate(rate); got != want {
			t.Errorf("%v: %s, want %s", rate, got, want)
		}
	}
}
