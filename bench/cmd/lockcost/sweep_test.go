package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockcost/results"
)

// small are the flags of a sweep whose numbers mean nothing.
func small(dir string, more ...string) []string {
	return append([]string{"sweep", "--out", dir, "--ledger", "none", "--from", "200", "--to", "400", "--repeat", "1", "--step", "500ms",
		"--warmup", "100ms", "--slo", "p50=500ms", "--duration", "500ms", "--runs", "1", "--rate", "200"}, more...)
}

func TestSweepLeavesAFolderThatEverythingCanBeMadeOfAgain(t *testing.T) {
	needServers(t)
	dir := filepath.Join(t.TempDir(), "sweep")
	status, table, stderr := call(t, small(dir, "--paths", "setnx,setnx-wait", "--vary", "replica-rtt=0,1ms,2ms", "--vary", "keys=10,100", "--quiet")...)
	if status != exitDone && status != exitDoubtful {
		t.Fatalf("status %d: %s", status, stderr)
	}
	record, err := results.LoadCapacity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if record.Interrupted || len(record.Paths) != 2 || record.Search.SLOs[0].String() != "p50=500ms" {
		t.Errorf("%d answers, interrupted %v, SLOs %v", len(record.Paths), record.Interrupted, record.Search.SLOs)
	}
	for _, a := range record.Paths {
		if len(a.Steps) < 2 || a.Limit == "" {
			t.Errorf("%s: %+v", a.Label(), a)
		}
	}
	checkPoints(t, dir, record)
	for _, line := range strings.Split(table, "\n") {
		if len([]rune(line)) > 100 {
			t.Errorf("the table is wider than 100 columns: %q", line)
		}
	}
	status, again, stderr := call(t, "plot", dir, "--out", filepath.Join(dir, "figures"))
	if status != exitDone || again != table {
		t.Errorf("status %d, and the table made from the folder differs:\n%s\n%s\n%s", status, stderr, table, again)
	}
	for _, figure := range []string{"knee", "resources"} { // of runs as short as these there may be no other that counts
		for _, kind := range []string{".png", ".svg"} {
			if _, err := os.Stat(filepath.Join(dir, "figures", figure+kind)); err != nil {
				t.Error(err)
			}
		}
	}
	if status, _, stderr := call(t, small(dir)...); status != exitUsage || !strings.Contains(stderr, "finished") {
		t.Errorf("a folder that is finished: status %d: %s", status, stderr)
	}
	if status, _, stderr := call(t, "run", "--out", dir); status != exitUsage || !strings.Contains(stderr, "holds a sweep") {
		t.Errorf("a run into a sweep's folder: status %d: %s", status, stderr)
	}
	if status, out, stderr := call(t, "plan", "--rate", "300", "--slo", "p50=500ms", "--run", dir, "--quiet"); status != exitDone && status != exitDoubtful && status != exitFailed || out == "" {
		t.Errorf("plan: status %d: %s%s", status, out, stderr)
	}
}

// checkPoints holds every point's runs against its interval log.
func checkPoints(t *testing.T, dir string, record *results.Capacity) {
	t.Helper()
	seen := map[string]map[int]bool{}
	for _, p := range record.Points {
		if len(p.Runs) == 0 || len(p.Runs) != len(p.Blocks) || p.DurationNS == 0 {
			t.Errorf("%s at %v/s has %d runs in %d blocks of %d ns", p.Label(), p.RatePerS, len(p.Runs), len(p.Blocks), p.DurationNS)
		}
		if seen[p.FileName()] == nil {
			seen[p.FileName()] = map[int]bool{}
		}
		intervals, err := p.Intervals(dir)
		if err != nil {
			t.Error(err)
		}
		for _, run := range p.Runs {
			if seen[p.FileName()][run.Index] {
				t.Errorf("%s has two runs with the number %d", p.FileName(), run.Index)
			}
			seen[p.FileName()][run.Index] = true
			total := results.Pool(intervals, func(i results.Interval) bool { return i.Run == run.Index && i.Span == results.SpanTotal })
			if total.Count() != run.Granted {
				t.Errorf("%s, run %d: %d jobs in the log, %d granted", p.Label(), run.Index, total.Count(), run.Granted)
			}
			if len(run.Resources) == 0 {
				t.Errorf("%s, run %d: it is not told what was used", p.Label(), run.Index)
			}
		}
	}
}

// What was known before a sweep was ended is still known when it goes on, by
// its folder alone, however it was ended.
func TestSweepGoesOnWhereItWasEnded(t *testing.T) {
	program := build(t)
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		dir, temp := filepath.Join(t.TempDir(), "sweep"), t.TempDir()
		known := func() int {
			record, err := results.LoadCapacity(dir)
			if err != nil {
				return 0
			}
			n := 0
			for _, p := range record.Points {
				n += len(p.Runs)
			}
			return n
		}
		command := append([]string{program}, small(dir, "--paths", "setnx", "--repeat", "6")...)
		c, stderr := startUntil(t, temp, func() bool { return known() >= 3 }, command...)
		if status, _, errs := call(t, small(dir)...); status != exitUsage || !strings.Contains(errs, "another sweep") {
			t.Errorf("two at once: status %d: %s", status, errs)
		}
		_ = c.Process.Signal(signal)
		_ = c.Wait()
		before, err := results.LoadCapacity(dir)
		if err != nil {
			t.Fatal(err)
		}
		if signal == os.Interrupt {
			if status := c.ProcessState.ExitCode(); status != exitInterrupted || !strings.Contains(stderr.String(), "go on with") {
				t.Errorf("status %d: %s", status, stderr.String())
			}
			nothingLeft(t, "", temp)
		}
		if !before.Interrupted {
			t.Error("it does not say that it was interrupted")
		}
		if status, _, errs := call(t, small(dir, "--paths", "setnx", "--repeat", "5")...); status != exitFailed && status != exitUsage || !strings.Contains(errs, "begun otherwise") {
			t.Errorf("gone on with otherwise: status %d: %s", status, errs)
		}
		status, _, errs := call(t, "sweep", "--out", dir, "--quiet")
		if status != exitDone && status != exitDoubtful {
			t.Fatalf("going on: status %d: %s", status, errs)
		}
		after, err := results.LoadCapacity(dir)
		if err != nil {
			t.Fatal(err)
		}
		if after.Interrupted || !after.Paths[0].Confirmed {
			t.Errorf("after it went on: interrupted %v, %+v", after.Interrupted, after.Paths[0])
		}
		for _, p := range before.Points {
			var same *results.Point
			for i := range after.Points {
				if after.Points[i].Same(p) {
					same = &after.Points[i]
				}
			}
			if same == nil || len(same.Runs) < len(p.Runs) || same.Runs[0].StartedAt != p.Runs[0].StartedAt {
				t.Errorf("%s at %v/s was not kept", p.Label(), p.RatePerS)
			}
		}
		checkPoints(t, dir, after)
	}
}

// A lock that waits for a replica is worth nothing while that is down: no rate
// meets any SLO, and that is what is reported.
func TestSweepWithANodeDown(t *testing.T) {
	needServers(t)
	dir := filepath.Join(t.TempDir(), "sweep")
	status, table, stderr := call(t, "sweep", "--out", dir, "--ledger", "none", "--from", "200", "--to", "200", "--least", "150", "--repeat", "1", "--step", "2s",
		"--warmup", "100ms", "--slo", "p50=500ms", "--paths", "setnx,setnx-wait", "--down", "replica-1", "--quiet")
	if status != exitDoubtful || !strings.Contains(stderr, "no rate met it") {
		t.Errorf("status %d: %s\n%s", status, stderr, table)
	}
	record, err := results.LoadCapacity(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range record.Paths {
		if a.Path == "setnx-wait" && a.MaxRatePerS != nil || a.Path == "setnx" && a.Limit == results.LimitSystem {
			t.Errorf("%+v", a)
		}
	}
	if !strings.Contains(table, "Down while all of this was measured: replica-1") {
		t.Error(table)
	}
}
