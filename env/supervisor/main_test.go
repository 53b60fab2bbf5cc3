package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/link"
	"lockcost/env/process"
	"lockcost/env/process/processtest"
	"lockcost/env/reexec"
)

func TestMain(m *testing.M) {
	reexec.Main(Part(), link.Part(), reexec.Part{Name: "starter", Run: starter})
	os.Exit(m.Run())
}

// starter is a command that starts a stack, tells of it and ends.
func starter(ctx context.Context, c *reexec.Child) error {
	var o config
	if err := c.Config(&o); err != nil {
		return err
	}
	r, err := At(o.Home).Up(ctx, o.Options)
	if err != nil {
		return err
	}
	return c.Ready(r.State)
}

// everything is a stack with all kinds of servers.
var everything = env.Spec{Replicas: 1, Sentinels: 3, Ledger: true, DownAfter: 500 * time.Millisecond}

// patience bounds what tests wait for. Nothing is judged by it.
const patience = 30 * time.Second

// place is a home and a folder for the servers, both of one test.
type place struct {
	Home
	dir string
}

// newPlace makes a place. What the test leaves running in it is ended.
func newPlace(t *testing.T) place {
	t.Helper()
	// Not the test's own folder: servers that run as nobody must pass.
	dir, err := os.MkdirTemp("", "lockcost-test-")
	if err != nil {
		t.Fatal(err)
	}
	p := place{At(filepath.Join(t.TempDir(), "state")), dir}
	t.Cleanup(func() {
		_, _ = p.Down(context.Background())
		_ = os.RemoveAll(dir)
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// options are those of a stack in the place.
func (p place) options(spec env.Spec, detached bool) Options {
	return Options{Spec: spec, Dir: p.dir, Detached: detached}
}

// mustUp starts a stack. Where a program is missing that is told as
// processtest tells it.
func (p place) mustUp(t *testing.T, spec env.Spec, detached bool) *Running {
	t.Helper()
	need(t)
	r, err := p.Up(t.Context(), p.options(spec, detached))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// need skips the test, or fails it where CI is set, if a server's program is
// missing, which a supervisor tells in words only. A start that is interrupted
// at once has looked for all of them.
func need(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := process.Provider{}.Start(ctx, everything)
	processtest.Need(t, err)
}

// whenStarting calls do once a stack is being started in the place.
func (p place) whenStarting(do func()) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := p.Find(context.Background()); err == nil {
			break
		}
	}
	do()
}

// nothingLeft checks that supervisor, servers and folders are gone.
func (p place) nothingLeft(t *testing.T, s State) {
	t.Helper()
	for _, v := range append(s.Servers, Server{Name: "supervisor", PID: s.PID}) {
		if v.PID == 0 {
			continue
		}
		eventually(t, v.Name, func() error { return gone(v.PID) })
	}
	if left, err := os.ReadDir(p.dir); err != nil || len(left) > 0 {
		t.Errorf("left in the servers' folder: %v, %v", left, err)
	}
	if left, err := os.ReadDir(p.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left in the home: %v, %v", left, err)
	}
}

// gone checks that a process has ended. One that only waits for its parent,
// perhaps a system's first process that is in no hurry, has.
func gone(pid int) error {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, state, _ := bytes.Cut(stat, []byte(") ")); bytes.HasPrefix(state, []byte("Z")) {
		return nil
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d is there: %v", pid, err)
	}
	return nil
}

// eventually waits until ok returns nil.
func eventually(t *testing.T, what string, ok func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = ok(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// mustKill kills a process of the stack and waits until its parent knows.
func mustKill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "killed", func() error {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) { // its locks go last
			return fmt.Errorf("process %d is there: %v", pid, err)
		}
		return nil
	})
}
