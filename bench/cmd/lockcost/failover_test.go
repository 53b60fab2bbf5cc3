package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockcost/bench/failover/history"
	"lockcost/results"
)

func TestFailoverLeavesAFolderThatEverythingCanBeMadeOfAgain(t *testing.T) {
	needServers(t)
	dir := filepath.Join(t.TempDir(), "experiments")
	status, table, stderr := call(t, "failover", "--out", dir, "--quiet", "--trials", "1", "--windows=false",
		"--scenario", "paused-holder:between-read-and-write,crash-steady", "--paths", "setnx,idempotent", "--rate", "200")
	if status != exitDone && status != exitDoubtful {
		t.Fatalf("status %d: %s", status, stderr)
	}
	record, err := results.LoadFailover(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(record.Scenarios) != 4 || record.Count() != 4 || record.Interrupted || record.Plan.Env != "process" {
		t.Errorf("%d entries with %d trials, interrupted %v, servers by %s", len(record.Scenarios), record.Count(), record.Interrupted, record.Plan.Env)
	}
	for _, s := range record.Scenarios {
		checkTrials(t, dir, s)
	}
	for line := range strings.Lines(table) {
		if len([]rune(strings.TrimRight(line, "\n"))) > 100 {
			t.Errorf("the table is wider than 100 columns: %q", line)
		}
	}
	status, again, stderr := call(t, "plot", dir, "--out", filepath.Join(dir, "figures"))
	if status != exitDone || again != table {
		t.Errorf("status %d, and the table made from the folder differs:\n%s\n%s\n%s", status, stderr, table, again)
	}
	for _, figure := range []string{"safety.png", "safety.svg"} {
		if _, err := os.Stat(filepath.Join(dir, "figures", figure)); err != nil {
			t.Error(err)
		}
	}
	if status, _, stderr := call(t, "failover", "--out", dir); status != exitUsage || !strings.Contains(stderr, dir) {
		t.Errorf("a folder that is in use: status %d: %s", status, stderr)
	}
}

// checkTrials holds a scenario's trials against their histories.
func checkTrials(t *testing.T, dir string, s results.Scenario) {
	t.Helper()
	for _, trial := range s.Runs {
		if trial.Void != "" {
			t.Logf("%s %s is void: %s", s.Label(), s.Path, trial.Void)
			continue
		}
		_, ops, err := history.Read(filepath.Join(dir, trial.History))
		if err != nil {
			t.Error(err)
			continue
		}
		granted := int64(0)
		for _, op := range ops {
			if op.Acquire.Result == history.Granted {
				granted++
			}
		}
		if granted != trial.Granted || granted == 0 {
			t.Errorf("%s %s: %d grants in the record, %d in the history", s.Label(), s.Path, trial.Granted, granted)
		}
		if n := history.Overlaps(ops).DoubleGrants; n != trial.Events[results.DoubleGrant] {
			t.Errorf("%s %s: %d double grants in the record, %d by the history", s.Label(), s.Path, trial.Events[results.DoubleGrant], n)
		}
	}
}

// stopped tells whether a process is, as SIGSTOP does it.
func stopped(pid string) bool {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	_, after, found := strings.Cut(string(text), ") ")
	return err == nil && found && strings.HasPrefix(after, "T")
}

// A driver that ends in the middle of trials leaves no process, stopped or
// not, however it ends, and keeps what had ended.
func TestFailoverEndedInItsMiddleLeavesNothing(t *testing.T) {
	program := build(t)
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		dir, temp := filepath.Join(t.TempDir(), "experiments"), t.TempDir()
		midway := func() bool { // a server stopped, another behind broken links
			record, err := results.LoadFailover(dir)
			return err == nil && record.Count() > 0 &&
				slices.ContainsFunc(runningFrom(temp), func(path string) bool { return stopped(filepath.Base(filepath.Dir(path))) })
		}
		c, stderr := startUntil(t, temp, midway, program, "failover", "--out", dir, "--windows=false", "--paths", "setnx",
			"--scenario", "zombie-primary,partition", "--trials", "6", "--side-by-side", "3") // zombies throughout
		_ = c.Process.Signal(signal)
		_ = c.Wait()
		record, err := results.LoadFailover(dir)
		if err != nil {
			t.Fatal(err)
		}
		if record.Count() == 0 {
			t.Errorf("%v: no trial was kept", signal)
		}
		if signal == os.Kill {
			// The servers end with it. Their folders are the next start's to sweep.
			if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) == 0 {
				t.Error("the killed driver had no folder")
			}
			nothingRuns(t, temp)
			continue
		}
		if status := c.ProcessState.ExitCode(); status != exitInterrupted || !record.Interrupted {
			t.Errorf("status %d, interrupted %v: %s", status, record.Interrupted, stderr.String())
		}
		nothingLeft(t, dir, temp)
	}
}
