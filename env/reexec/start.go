package reexec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"lockcost/env/placement"
)

// endTimeout is how long a part may take to end by itself.
const endTimeout = 5 * time.Second

// Options say what to start, and where.
type Options struct {
	Part   string // its name
	Config any    // as JSON
	CPUs   []int  // it is confined to these; none leaves it all that this process had at first
	Policy placement.Policy
	// Detached makes the part outlive this process: it gets a session of its
	// own, and no more requests once it is ready.
	Detached bool
	// Stderr takes what the part says there. Nil keeps its last lines for
	// the errors that Start and Call return. A detached part needs a file.
	Stderr *os.File
}

// Process is a part that was started.
type Process struct {
	PID int

	part   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr *bytes.Buffer // valid once ended is closed
	ended  chan struct{} // closed when the process has ended
	calls  sync.Mutex    // one request at a time
	close  sync.Once
}

// Start starts a part and waits until it is ready. What it has to say then is
// decoded into ready, which may be nil. An error names the part and, where it
// gave one, its reason.
func Start(ctx context.Context, o Options, ready any) (*Process, error) {
	p, err := launch(o)
	if err != nil {
		return nil, fmt.Errorf("starting the %s: %w", o.Part, err)
	}
	if err := p.exchange(ctx, o.Config, ready); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the %s: %w", o.Part, err), p.Close())
	}
	if o.Detached {
		return p, p.in.Close()
	}
	return p, nil
}

func launch(o Options) (*Process, error) {
	path, err := self()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path)
	cmd.Args[0] = "lockcost " + o.Part
	cmd.Env = append(placement.Environ(), marker+"="+o.Part)
	cmd.SysProcAttr = attributes(o.Detached)
	p := &Process{part: o.Part, cmd: cmd, stderr: new(bytes.Buffer), ended: make(chan struct{})}
	cmd.Stderr = p.stderr
	if o.Stderr != nil {
		cmd.Stderr = o.Stderr
	}
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// Not cmd.StdoutPipe, which Wait would close under a reader.
	out, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, p.out = w, json.NewDecoder(out)
	started := make(chan error, 1)
	go p.attend(o, started, out)
	err = <-started
	return p, errors.Join(err, w.Close())
}

// attend starts the process and waits for its end on one thread, from which
// it inherits CPUs and priority, and with which it dies.
func (p *Process) attend(o Options, started chan<- error, out io.Closer) {
	runtime.LockOSThread() // never unlocked: the thread's settings end with it
	defer close(p.ended)
	defer out.Close()
	err := placement.ThreadAs(o.CPUs, o.Policy)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err == nil {
		p.PID = p.cmd.Process.Pid
	}
	started <- err
	if err == nil {
		_ = p.cmd.Wait()
	}
}

// Call sends a request and decodes the reply into it, which may be nil.
func (p *Process) Call(ctx context.Context, request, reply any) error {
	if err := p.exchange(ctx, request, reply); err != nil {
		return fmt.Errorf("%s: %w", p.part, err)
	}
	return nil
}

// exchange writes one value and reads the answer. When ctx ends before that,
// the process is of no more use and is ended.
func (p *Process) exchange(ctx context.Context, value, reply any) error {
	p.calls.Lock()
	defer p.calls.Unlock()
	done := make(chan error, 1)
	go func() { done <- p.talk(value, reply) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		p.kill()
		<-done
		return context.Cause(ctx)
	}
}

func (p *Process) talk(value, reply any) error {
	if err := json.NewEncoder(p.in).Encode(value); err != nil {
		return p.died(err)
	}
	var m message
	if err := p.out.Decode(&m); err != nil {
		return p.died(err)
	}
	if m.Error != "" {
		return errors.New(m.Error)
	}
	if reply == nil {
		return nil
	}
	return json.Unmarshal(m.Value, reply)
}

// died explains why a part does not answer.
func (p *Process) died(err error) error {
	select {
	case <-p.ended:
	case <-time.After(time.Second):
		return err
	}
	last := strings.TrimSpace(p.stderr.String())
	if last == "" {
		last = p.cmd.ProcessState.String()
	}
	return fmt.Errorf("its process %d has ended: %s", p.PID, last)
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Close ends the process, at first by closing its input, and returns when it
// is gone. It is safe to call more than once, and not meant for a detached
// part.
func (p *Process) Close() error {
	p.close.Do(func() {
		_ = p.in.Close()
		select {
		case <-p.ended:
		case <-time.After(endTimeout):
			p.kill()
		}
	})
	select {
	case <-p.ended:
		return nil
	case <-time.After(endTimeout):
		return fmt.Errorf("the %s, process %d, does not end", p.part, p.PID)
	}
}

func (p *Process) kill() { _ = p.cmd.Process.Kill() }
