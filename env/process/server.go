package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockcost/env"
)

// endTimeout bounds the wait for a server that was killed. The kernel may
// need a while to give back the memory and the files of a large one.
const endTimeout = 10 * time.Second

// server is one child process and what is needed to start it again.
type server struct {
	name    string
	kind    env.Kind
	port    int
	dir     string // its own folder, and where it runs
	program string
	args    []string
	input   string              // file to read from; "" for nothing
	as      *syscall.Credential // whom it runs as; nil for us
	answers probe               // whether it answers

	mu     sync.Mutex
	cmd    *exec.Cmd     // nil before the first start
	ended  chan struct{} // closed when cmd has ended
	endErr error         // how; valid once ended is closed
}

// probe returns nil when a server is as it should be, and else what is not.
type probe func(context.Context) error

func (v *server) addr() string { return loopback(v.port) }

// Node describes the server as it is now.
func (v *server) Node() env.Node {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := env.Node{Name: v.name, Kind: v.kind, Addr: v.addr()}
	if v.cmd != nil {
		n.PID = v.cmd.Process.Pid
	}
	return n
}

// start starts the process from p's thread.
func (v *server) start(p *parent) error {
	log, err := os.OpenFile(v.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	defer log.Close()
	cmd := exec.Command(v.program, v.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = v.dir, log, log
	cmd.SysProcAttr = attributes(v.as)
	if v.input != "" {
		in, err := os.Open(v.input)
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		defer in.Close()
		cmd.Stdin = in
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := p.do(cmd.Start); err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	v.cmd, v.ended = cmd, make(chan struct{})
	var w *warden
	if !diesWithParent {
		w, err = guard(cmd.Process.Pid)
	}
	go v.wait(w, cmd, v.ended)
	return err
}

func (v *server) wait(w *warden, cmd *exec.Cmd, ended chan struct{}) {
	err := cmd.Wait()
	w.dismiss()
	v.mu.Lock()
	v.endErr = err
	v.mu.Unlock()
	close(ended)
}

// end returns a channel that is closed when the process has ended; nil
// before the first start.
func (v *server) end() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ended
}

func (v *server) running() bool {
	ended := v.end()
	if ended == nil {
		return false
	}
	select {
	case <-ended:
		return false
	default:
		return true
	}
}

// signal sends sig to the server and to what it has forked (Redis saves from
// a fork, which would go on writing into the folder).
func (v *server) signal(sig syscall.Signal) error {
	if !v.running() {
		return fmt.Errorf("%s does not run", v.name)
	}
	if err := syscall.Kill(-v.Node().PID, sig); err != nil {
		return fmt.Errorf("%s: sending %v: %w", v.name, sig, err)
	}
	return nil
}

// kill ends the server as a crash does and waits until it is gone. One that
// does not run is left alone.
func (v *server) kill() error {
	if !v.running() {
		return nil
	}
	if err := v.signal(syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	select {
	case <-v.end():
		return nil
	case <-time.After(endTimeout):
		return fmt.Errorf("%s (process %d) has not ended %v after SIGKILL", v.name, v.Node().PID, endTimeout)
	}
}

// how tells how a process that has ended did; nil for exit status 0.
func (v *server) how() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.endErr
}

// await polls until ready returns nil. It fails when the server ends first,
// and with the last thing that was not ready when ctx ends.
func (v *server) await(ctx context.Context, ready probe) error {
	// A probe that waits for a stranger on our port ends with the server.
	alive, end := context.WithCancel(ctx)
	defer end()
	ended := v.end()
	go func() {
		select {
		case <-ended:
			end()
		case <-alive.Done():
		}
	}()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		last := ready(alive)
		if last == nil {
			return nil
		}
		select {
		case <-ended:
			return v.died()
		case <-ctx.Done():
			return v.notReady(ctx, last)
		case <-tick.C:
		}
	}
}

// notReady is the error of a server that ctx did not wait for any longer.
func (v *server) notReady(ctx context.Context, last error) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return fmt.Errorf("waiting for %s: %w", v.name, cause)
	}
	return fmt.Errorf("%s on %s: %w: %w%s", v.name, v.addr(), cause, last, v.logTail())
}

// died is the error of a server that ended by itself.
func (v *server) died() error {
	text := "exit status 0"
	if how := v.how(); how != nil {
		text = how.Error()
	}
	tail := v.logTail()
	if portWasTaken(tail) {
		return fmt.Errorf("%s on %s: %w%s", v.name, v.addr(), errPortTaken, tail)
	}
	return fmt.Errorf("%s (%s) ended: %s%s", v.name, filepath.Base(v.program), text, tail)
}

// log is where the server's output goes: beside its folder, so that a
// server which wants to find its folder empty does.
func (v *server) log() string { return v.dir + ".log" }

const (
	pollInterval = 10 * time.Millisecond
	tailLines    = 8
	tailBytes    = 8 << 10
)

// logTail returns the last lines of the log, each indented on a line of its
// own; "" where there are none.
func (v *server) logTail() string {
	raw, err := os.ReadFile(v.log())
	if err != nil {
		return ""
	}
	raw = raw[max(0, len(raw)-tailBytes):]
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	return "; last lines of its log:\n  " + strings.Join(lines, "\n  ")
}
