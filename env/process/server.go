package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockcost/env"
	"lockcost/env/assembly"
)

// endTimeout bounds the wait for a server that was killed. The kernel may
// need a while to give back the memory and the files of a large one.
const endTimeout = 10 * time.Second

// server is one child process and what is needed to start it again.
type server struct {
	name string
	kind env.Kind
	port int
	// internal is where other servers of its kind reach it.
	internal []string
	dir      string // its own folder, and where it runs
	program  string
	args     []string
	input    string              // file to read from; "" for nothing
	as       *syscall.Credential // whom it runs as; nil for us
	runner   *runner

	mu     sync.Mutex
	cmd    *exec.Cmd     // nil before the first start
	ended  chan struct{} // closed when cmd has ended
	endErr error         // how; valid once ended is closed
}

func (v *server) addr() string { return assembly.Loopback(v.port) }

// Peer is part of assembly.Server.
func (v *server) Peer() string { return v.addr() }

// Internal is part of assembly.Server.
func (v *server) Internal() []string { return v.internal }

// File is part of assembly.Server.
func (v *server) File() string { return filepath.Join(v.dir, string(v.kind)+".conf") }

// Directives is part of assembly.Server.
func (v *server) Directives() string {
	switch v.kind {
	case env.KindEtcd:
		return v.etcdDirectives()
	case env.KindZooKeeper:
		return v.zooDirectives()
	}
	return fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %q\ndaemonize no\n", v.port, v.dir)
}

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

// run starts the process from p's thread.
func (v *server) run(p *parent, args []string) error {
	log, err := os.OpenFile(v.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	defer log.Close()
	cmd := exec.Command(v.program, args...)
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

// Ended is part of assembly.Server: nil before the first start.
func (v *server) Ended() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ended
}

func (v *server) running() bool {
	ended := v.Ended()
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

// end ends the server as a crash does and waits until it is gone. One that
// does not run is left alone.
func (v *server) end() error {
	if !v.running() {
		return nil
	}
	if err := v.signal(syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	select {
	case <-v.Ended():
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

// Failure is part of assembly.Server.
func (v *server) Failure() error {
	text := "exit status 0"
	if how := v.how(); how != nil {
		text = how.Error()
	}
	tail := v.LogTail()
	if portWasTaken(v.logEnd()) {
		return fmt.Errorf("%s on %s: %w%s", v.name, v.addr(), assembly.ErrPortTaken, tail)
	}
	return fmt.Errorf("%s (%s) ended: %s%s", v.name, filepath.Base(v.program), text, tail)
}

// log is where the server's output goes: beside its folder, so that a
// server which wants to find its folder empty does.
func (v *server) log() string { return v.dir + ".log" }

const (
	tailLines = 8
	tailBytes = 64 << 10 // a JVM writes whole stacks
	lineBytes = 400
)

// LogTail is part of assembly.Server.
func (v *server) LogTail() string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(v.logEnd()), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "\tat ") // a frame of Java's stack: it would be all that is told
	})
	lines = lines[max(0, len(lines)-tailLines):]
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	for i, line := range lines {
		if len(line) > lineBytes { // etcd's carry whole stacks
			lines[i] = line[:lineBytes] + " …"
		}
	}
	return "; last lines of its log:\n  " + strings.Join(lines, "\n  ")
}

// logEnd is the last of the server's log; "" where there is none.
func (v *server) logEnd() string {
	raw, err := os.ReadFile(v.log())
	if err != nil {
		return ""
	}
	return string(raw[max(0, len(raw)-tailBytes):])
}
