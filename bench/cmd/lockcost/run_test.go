package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/process/processtest"
	"lockcost/results"
)

// needServers skips the test, or fails it where CI is set, if the servers'
// programs are missing.
func needServers(t *testing.T) {
	t.Helper()
	for _, program := range []string{"redis-server", "mariadbd"} {
		_, err := exec.LookPath(program)
		if _, found := os.Stat("/usr/sbin/" + program); err == nil || found == nil {
			continue
		}
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is not installed: make deps", program)
		}
		t.Skipf("%s is not installed: make deps", program)
	}
}

func TestRunLeavesAFolderThatEverythingCanBeMadeOfAgain(t *testing.T) {
	needServers(t)
	dir := filepath.Join(t.TempDir(), "run")
	status, table, stderr := call(t, "run", "--out", dir, "--runs", "2", "--duration", "1s", "--warmup", "200ms", "--quiet")
	if status != exitDone && status != exitDoubtful {
		t.Fatalf("status %d: %s", status, stderr)
	}
	record, err := results.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(record.Paths) != 6 || record.Interrupted {
		t.Errorf("%d paths, interrupted %v", len(record.Paths), record.Interrupted)
	}
	for _, p := range record.Paths {
		checkPath(t, dir, p)
	}
	for _, line := range strings.Split(table, "\n") {
		if len([]rune(line)) > 100 {
			t.Errorf("the table is wider than 100 columns: %q", line)
		}
	}
	status, again, stderr := call(t, "plot", dir, "--out", filepath.Join(dir, "figures"))
	if status != exitDone || again != table {
		t.Errorf("status %d, and the table made from the folder differs:\n%s\n%s\n%s", status, stderr, table, again)
	}
	for _, figure := range []string{"cost", "percentiles", "stages", "timeseries"} {
		for _, kind := range []string{".png", ".svg"} {
			if _, err := os.Stat(filepath.Join(dir, "figures", figure+kind)); err != nil {
				t.Error(err)
			}
		}
	}
}

func checkPath(t *testing.T, dir string, p results.Path) {
	t.Helper()
	if len(p.Runs) != 2 {
		t.Errorf("%s: %d runs, want 2", p.Label(), len(p.Runs))
	}
	intervals, err := p.Intervals(dir)
	if err != nil {
		t.Error(err)
	}
	for _, r := range p.Runs {
		var errors int64
		for _, n := range r.Errors {
			errors += n
		}
		if r.Offered != 1000 || r.Offered != r.Completed+r.Expired || r.Completed != r.Granted+r.Held+r.Unreplicated+errors {
			t.Errorf("%s: the sums are wrong: %+v", p.Label(), r)
		}
		if r.Granted < 900 {
			t.Errorf("%s: only %d of 1000 granted: %v", p.Label(), r.Granted, r.Errors)
		}
		if r.Spans[results.SpanEffect].Count != r.Granted {
			t.Errorf("%s: %d effects of %d grants", p.Label(), r.Spans[results.SpanEffect].Count, r.Granted)
		}
		logged := results.Pool(intervals, func(i results.Interval) bool { return i.Run == r.Index && i.Span == results.SpanTotal })
		if logged.Count() != r.Granted {
			t.Errorf("%s: the interval log has %d operations of %d", p.Label(), logged.Count(), r.Granted)
		}
		for _, warning := range r.Warnings {
			if strings.Contains(warning, "charged") || strings.Contains(warning, "audited") {
				t.Errorf("%s: %s", p.Label(), warning)
			}
		}
	}
}

func TestJSONIsTheRecord(t *testing.T) {
	needServers(t)
	dir := filepath.Join(t.TempDir(), "run")
	status, stdout, stderr := call(t, "run", "--out", dir, "--format", "json", "--paths", "setnx", "--ledger", "none",
		"--runs", "1", "--duration", "500ms", "--warmup", "0s", "--sentinels", "0", "--replicas", "0", "--quiet")
	if status != exitDone && status != exitDoubtful {
		t.Fatalf("status %d: %s", status, stderr)
	}
	var printed results.Record
	if err := json.Unmarshal([]byte(stdout), &printed); err != nil {
		t.Fatal(err)
	}
	if printed.Schema != results.Schema || printed.Plan.Effect != results.EffectNone || len(printed.Paths) != 3 {
		t.Errorf("schema %s, effect %s, %d paths", printed.Schema, printed.Plan.Effect, len(printed.Paths))
	}
	for _, r := range printed.Paths[2].Runs {
		if _, there := r.Spans[results.SpanEffect]; there {
			t.Error("there is an effect span without a ledger")
		}
	}
}

func TestOwnServersAreLeftAsTheyWere(t *testing.T) {
	stack := processtest.Start(t, env.Spec{Replicas: 1, Ledger: true})
	before := contents(t, stack)
	dir := filepath.Join(t.TempDir(), "run")
	status, _, stderr := call(t, "run", "--out", dir, "--env", "external", "--redis", stack.Redis.Primary,
		"--replicas-at", stack.Redis.Replicas[0], "--ledger", stack.Ledger,
		"--runs", "1", "--duration", "500ms", "--warmup", "0s", "--quiet")
	if status != exitDone && status != exitDoubtful {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if after := contents(t, stack); after != before {
		t.Errorf("before: %s\nafter: %s", before, after)
	}
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(stack.Ledger, ":")
	password, _, _ := strings.Cut(rest, "@")
	if password == "" || bytes.Contains(text, []byte(password)) {
		t.Errorf("run.json holds the ledger's password, or the test does not know it")
	}
}

func TestPathsWithoutTheirReplicasAreRefused(t *testing.T) {
	stack := processtest.Start(t, env.Spec{})
	t.Chdir(t.TempDir())
	status, _, stderr := call(t, "run", "--env", "external", "--redis", stack.Redis.Primary, "--paths", "setnx-wait", "--quiet")
	if status != exitFailed || !strings.Contains(stderr, "replica") || !strings.Contains(stderr, stack.Redis.Primary) {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// build makes the program, for tests that must kill it.
func build(t *testing.T) string {
	t.Helper()
	needServers(t)
	program := filepath.Join(t.TempDir(), "lockcost")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// start has the program measure until it has kept n runs, and returns it still
// running.
func start(t *testing.T, program, dir, temp string, n int) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	return startUntil(t, temp, func() bool { return kept(dir) >= n },
		program, "run", "--out", dir, "--runs", "50", "--duration", "500ms", "--warmup", "0s", "--paths", "setnx")
}

// startUntil starts a command and waits until it has come so far.
func startUntil(t *testing.T, temp string, far func() bool, command ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	// The ledger's server runs as another user, who must be let in.
	if err := os.Chmod(filepath.Dir(temp), 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), "TMPDIR="+temp)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	for until := time.Now().Add(time.Minute); !far(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			_ = c.Process.Kill()
			_ = c.Wait()
			t.Fatalf("not so far within a minute: %s", stderr.String())
		}
	}
	return c, &stderr
}

func kept(dir string) (runs int) {
	record, err := results.Load(dir)
	if err != nil {
		return 0
	}
	for _, p := range record.Paths {
		runs += len(p.Runs)
	}
	return runs
}

func TestInterruptKeepsWhatWasMeasuredAndLeavesNothingRunning(t *testing.T) {
	program, dir, temp := build(t), filepath.Join(t.TempDir(), "run"), t.TempDir()
	c, stderr := start(t, program, dir, temp, 4)
	_ = c.Process.Signal(os.Interrupt)
	_ = c.Wait()
	if status := c.ProcessState.ExitCode(); status != exitInterrupted {
		t.Errorf("status %d: %s", status, stderr.String())
	}
	record, err := results.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !record.Interrupted || kept(dir) < 4 {
		t.Errorf("interrupted %v, %d runs kept", record.Interrupted, kept(dir))
	}
	nothingLeft(t, dir, temp)
}

func TestKillKeepsWhatWasMeasured(t *testing.T) {
	program, dir, temp := build(t), filepath.Join(t.TempDir(), "run"), t.TempDir()
	c, _ := start(t, program, dir, temp, 9)
	_ = c.Process.Kill()
	_ = c.Wait()
	if n := kept(dir); n < 9 {
		t.Errorf("%d runs are readable, 9 were done", n)
	}
	if status, _, stderr := call(t, "plot", dir, "--out", filepath.Join(temp, "figures")); status != exitDone {
		t.Errorf("plot: status %d: %s", status, stderr)
	}
	if err := os.RemoveAll(filepath.Join(temp, "figures")); err != nil {
		t.Fatal(err)
	}
	c, _ = start(t, program, filepath.Join(t.TempDir(), "next"), temp, 1) // it sweeps
	_ = c.Process.Signal(os.Interrupt)
	_ = c.Wait()
	nothingLeft(t, "", temp)
}

// nothingLeft looks for servers and temporary files.
func nothingLeft(t *testing.T, dir, temp string) {
	t.Helper()
	for _, place := range []string{filepath.Join(temp, "*"), filepath.Join(dir, "*.tmp")} {
		if left, _ := filepath.Glob(place); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	nothingRuns(t, temp)
}

// nothingRuns waits until no process is left of those that were started there.
func nothingRuns(t *testing.T, temp string) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		running := runningFrom(temp)
		if len(running) == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("still running: %v", running)
		}
	}
}

// runningFrom lists the processes whose command line names the folder, or that
// work in it: a Redis writes something else over its command line.
func runningFrom(folder string) (running []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		text, err := os.ReadFile(path)
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(path), "cwd"))
		if err == nil && (bytes.Contains(text, []byte(folder)) || strings.HasPrefix(cwd, folder+"/")) {
			running = append(running, path)
		}
	}
	return running
}
