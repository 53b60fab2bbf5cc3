package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockcost/env/supervisor"
)

// envPlace gives the test a stack of its own to start. It returns where the
// servers' folders and the state are.
func envPlace(t *testing.T) (temp, state string) {
	t.Helper()
	temp, err := os.MkdirTemp("", "lockcost-test-") // servers that run as nobody must pass
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	state = filepath.Join(t.TempDir(), "state")
	t.Setenv("TMPDIR", temp)
	t.Setenv(supervisor.Variable, state)
	t.Cleanup(func() {
		_, _ = supervisor.At(state).Down(context.Background())
		_ = os.RemoveAll(temp)
	})
	return temp, state
}

// envStatusOf is what `lockcost env status --format json` prints.
type envStatusOf struct {
	Running       bool              `json:"running"`
	SupervisorPID int               `json:"supervisor_pid"`
	Exports       map[string]string `json:"exports"`
	Servers       []struct {
		Name    string `json:"name"`
		PID     int    `json:"pid"`
		Answers bool   `json:"answers"`
	} `json:"servers"`
}

func envStatusNow(t *testing.T) (status int, found envStatusOf) {
	t.Helper()
	status, stdout, stderr := call(t, "env", "status", "--format", "json")
	if err := json.Unmarshal([]byte(stdout), &found); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	return status, found
}

func TestEnvDetached(t *testing.T) {
	needServers(t)
	temp, state := envPlace(t)
	if status, found := envStatusNow(t); status != exitFailed || found.Running {
		t.Errorf("before: status %d, %+v", status, found)
	}
	status, exports, stderr := call(t, "env", "up", "--detach", "--sentinels", "1", "--quiet")
	if status != exitDone || stderr != "" {
		t.Fatalf("up: status %d: %s", status, stderr)
	}
	status, again, _ := call(t, "env", "status")
	if status != exitDone || again != exports {
		t.Errorf("status %d, and it prints something else than up:\n%s\n%s", status, again, exports)
	}
	_, found := envStatusNow(t)
	if len(found.Servers) != 4 || len(found.Exports) != 5 {
		t.Errorf("%+v", found)
	}
	for name, value := range found.Exports {
		if !strings.Contains(exports, "export "+name+"=") || !strings.Contains(exports, value) {
			t.Errorf("%s=%s is not in:\n%s", name, value, exports)
		}
	}
	status, _, stderr = call(t, "env", "up", "--detach")
	if status != exitFailed || !strings.Contains(stderr, "env down") || !strings.Contains(stderr, "env status") {
		t.Errorf("a second one: status %d: %s", status, stderr)
	}
	killServer(t, found, "replica-1")
	if status, _, stderr := call(t, "env", "down"); status != exitDone {
		t.Errorf("down: status %d: %s", status, stderr)
	}
	nothingLeft(t, state, temp)
	if status, stdout, _ := call(t, "env", "down"); status != exitDone || !strings.Contains(stdout, "no stack") {
		t.Errorf("down again: status %d: %s", status, stdout)
	}
}

// killServer kills a server, and checks that status tells which.
func killServer(t *testing.T, found envStatusOf, name string) {
	t.Helper()
	for _, v := range found.Servers {
		if v.Name == name {
			_ = syscall.Kill(v.PID, syscall.SIGKILL)
		}
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		status, now := envStatusNow(t)
		var silent []string
		for _, v := range now.Servers {
			if !v.Answers {
				silent = append(silent, v.Name)
			}
		}
		if status == exitDoubtful && strings.Join(silent, ",") == name {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%s was killed: status %d, silent %v", name, status, silent)
		}
	}
}

// lastLine is an output that calls seen at a line.
type lastLine struct {
	text bytes.Buffer // not embedded: it would be written to by WriteString
	line string
	seen func()
}

func (l *lastLine) Write(p []byte) (int, error) {
	n, err := l.text.Write(p)
	if strings.Contains(l.text.String(), l.line) {
		l.seen()
	}
	return n, err
}

func TestEnvInTheForeground(t *testing.T) {
	needServers(t)
	temp, state := envPlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &lastLine{line: "unset LOCKCOST_LEDGER\n", seen: cancel}
	var errs bytes.Buffer
	status := run(ctx, []string{"env", "up", "--replicas", "0", "--sentinels", "0", "--ledger", "none"}, out, &errs)
	if status != exitDone || !strings.Contains(out.text.String(), "export LOCKCOST_REDIS=") || !strings.Contains(out.text.String(), out.line) {
		t.Errorf("status %d: %s%s", status, out.text.String(), errs.String())
	}
	nothingLeft(t, state, temp)
}

func TestEnvInterruptedBeforeItIsReady(t *testing.T) {
	temp, state := envPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if status := run(ctx, []string{"env", "up", "--detach"}, &out, &errs); status != exitInterrupted || out.Len() > 0 {
		t.Errorf("status %d: %s%s", status, out.String(), errs.String())
	}
	nothingLeft(t, state, temp)
}

func TestEnvBadInput(t *testing.T) {
	_, state := envPlace(t)
	for args, names := range map[string]string{
		"":                                  "up, status or down",
		"fly":                               "fly",
		"up now":                            "now",
		"up --replicas -1":                  "--replicas",
		"up --sentinels 1000":               "--sentinels",
		"up --etcd-nodes 2":                 "--etcd-nodes",
		"up --zookeeper-nodes 9":            "--zookeeper-nodes",
		"up --redlock-nodes -1":             "--redlock-nodes",
		"up --durability some":              "--durability",
		"up --replica-rtt -1ms":             "--replica-rtt",
		"up --replica-rtt 5":                "--replica-rtt",
		"up --replicas 0 --replica-rtt 1ms": "--replica-rtt",
		"up --ledger u:secret@tcp(h)/d":     "--ledger",
		"up --format yaml":                  "yaml",
		"status --format yaml":              "yaml",
		"down --detach":                     "detach",
	} {
		status, _, stderr := call(t, append([]string{"env"}, strings.Fields(args)...)...)
		if status != exitUsage || !strings.Contains(stderr, names) || strings.Contains(stderr, "secret") {
			t.Errorf("env %s: status %d: %s", args, status, stderr)
		}
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("wrong usage has made a folder")
	}
}

func TestEnvHelpHasExamples(t *testing.T) {
	for _, command := range []string{"", "up", "status", "down"} {
		status, stdout, _ := call(t, append([]string{"env"}, append(strings.Fields(command), "--help")...)...)
		if status != exitDone || !strings.Contains(stdout, "Examples:") || !strings.Contains(stdout, "lockcost env "+command) {
			t.Errorf("env %s --help: status %d: %s", command, status, stdout)
		}
	}
}
