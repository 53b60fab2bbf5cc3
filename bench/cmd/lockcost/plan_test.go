package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"lockcost/bench/capacity/planning"
	"lockcost/results"
)

const planReference = "../../../results/reference/20261130T161900Z"

// planned runs the subcommand, and returns its exit status and its outputs.
func planned(args ...string) (status int, stdout, message string) {
	var out, log bytes.Buffer
	c := newPlan(&out, &log)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.Execute()
	if err == nil {
		return exitDone, out.String(), ""
	}
	var with *statusError
	if !errors.As(err, &with) {
		return exitFailed, out.String(), err.Error()
	}
	return with.status, out.String(), err.Error()
}

func TestPlanOfTheReference(t *testing.T) {
	status, out, message := planned("--rate", "1000", "--slo", "p99=10ms", "--replica-rtt", "1ms", "--run", planReference)
	if status != exitDone || !strings.Contains(out, "setnx-wait") {
		t.Fatalf("status %d, %s\n%s", status, message, out)
	}
	for line := range strings.Lines(out) {
		if utf8.RuneCountInString(line) > 101 {
			t.Errorf("longer than 100 columns: %s", line)
		}
	}
	status, out, _ = planned("--rate", "1000", "--format", "json", "--run", planReference)
	var plan planning.Plan
	if err := json.Unmarshal([]byte(out), &plan); status != exitDone || err != nil || plan.Schema != planning.Schema || len(plan.Paths) != 2 {
		t.Fatalf("status %d, %v: %+v", status, err, plan)
	}
	record, err := results.Load(planReference)
	if err != nil {
		t.Fatal(err)
	}
	record.Summarize()
	for _, p := range record.Paths {
		for _, planned := range plan.Paths {
			if p.Label() != planned.Path {
				continue
			}
			want := p.Summary[results.SpanAcquire][results.P99].MedianNS
			if got := planned.Times[results.SpanAcquire][results.P99].MedianNS; got != want {
				t.Errorf("%s: P99 of %d ns at the measured rate, measured %d", p.Label(), got, want)
			}
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, "run.json"), []byte(`{"schema": "lockcost/ru`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"no folder", nil, exitUsage, "--run"},
		{"SLO without a unit", []string{"--slo", "p99=10", "--run", planReference}, exitUsage, "unit"},
		{"unknown percentile", []string{"--slo", "p98=10ms", "--run", planReference}, exitUsage, "p98"},
		{"no rate", []string{"--rate", "0", "--run", planReference}, exitUsage, "--rate"},
		{"unknown path", []string{"--paths", "nonesuch", "--run", planReference}, exitUsage, "nonesuch"},
		{"half-written", []string{"--run", damaged}, exitUsage, damaged},
		{"a rate far beyond", []string{"--rate", "9000", "--run", planReference}, exitFailed, "1,000/s"},
		{"one path's distance", []string{"--replica-rtt", "3ms", "--run", planReference}, exitDoubtful, "1 of 2"},
	} {
		if status, _, message := planned(c.args...); status != c.status || !strings.Contains(message, c.says) {
			t.Errorf("%s: status %d, %q", c.name, status, message)
		}
	}
}
