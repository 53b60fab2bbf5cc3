package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"

	"lockcost/env"
	"lockcost/env/assembly"
)

// runner is the processes of one stack, and their folder.
type runner struct {
	programs programs
	port     func() (int, error)
	ports    []int // that servers have been given
	folder   *folder
	parent   *parent
	pinned   []int

	mu      sync.Mutex
	started []*server
	closed  bool
	err     error // what Close returned
}

var _ assembly.Runner = (*runner)(nil)

func open(dir string, pin []int, programs programs, port func() (int, error)) (*runner, error) {
	f, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	p, pinned, err := newParent(pin)
	if err != nil {
		return nil, errors.Join(err, f.remove())
	}
	r := &runner{programs: programs, port: port, folder: f, parent: p}
	if pinned {
		r.pinned = pin
	}
	return r, nil
}

// Place is part of assembly.Runner.
func (r *runner) Place(_ context.Context, name string, kind env.Kind) (assembly.Server, error) {
	port, err := r.freePort()
	if err != nil {
		return nil, err
	}
	v := &server{name: name, kind: kind, port: port, runner: r}
	if err := r.placeInternal(v); err != nil {
		return nil, err
	}
	if kind == env.KindLedger {
		return r.placeLedger(v)
	}
	if v.dir, err = r.folder.sub(name, nil); err != nil {
		return nil, err
	}
	switch kind {
	case env.KindEtcd:
		v.program, v.args = r.programs.etcd, etcdArgs(v)
		return v, nil
	case env.KindZooKeeper:
		v.program, v.args = r.programs.java, zooArgs(v, r.programs.zookeeper)
		return &zookeeper{v}, nil
	}
	v.program, v.args = r.programs.redis, []string{v.File()}
	if kind == env.KindSentinel {
		v.args = append(v.args, "--sentinel")
	}
	return v, nil
}

func (r *runner) placeLedger(v *server) (_ assembly.Server, err error) {
	if v.as, err = unprivileged(); err != nil {
		return nil, err
	}
	if v.as != nil {
		if err := passable(r.folder.path); err != nil {
			return nil, fmt.Errorf("mariadbd runs as nobody: %w", err)
		}
	}
	if v.dir, err = r.folder.sub(v.name, v.as); err != nil {
		return nil, err
	}
	v.program, v.args = r.programs.mariadb, ledgerArgs(v)
	return &ledger{v}, nil
}

// Pinned is part of assembly.Runner.
func (r *runner) Pinned() []int { return r.pinned }

// start starts a server's process, unless the runner has been closed. Close
// will end it.
func (r *runner) start(v *server, args []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.New("the stack is closed")
	}
	if !slices.Contains(r.started, v) {
		r.started = append(r.started, v)
	}
	return v.run(r.parent, args)
}

// Close kills every server and removes the folder. There is nothing to end
// gently for: what they hold goes with them, and asked politely Redis would
// first save it.
func (r *runner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.err
	}
	r.closed = true
	errs := make([]error, len(r.started))
	var wg sync.WaitGroup
	for i, v := range r.started {
		wg.Go(func() { errs[i] = v.end() })
	}
	wg.Wait()
	r.parent.close()
	r.err = errors.Join(append(errs, r.folder.remove())...)
	return r.err
}

// Start is part of assembly.Server.
func (v *server) Start(_ context.Context, text string) error {
	if err := v.portsAreFree(); err != nil {
		return err
	}
	if err := v.write(v.File(), text); err != nil {
		return err
	}
	return v.runner.start(v, v.args)
}

// Restart is part of assembly.Server.
func (v *server) Restart(context.Context) error { return v.runner.start(v, v.args) }

// Pause is part of assembly.Server.
func (v *server) Pause() error { return v.signal(syscall.SIGSTOP) }

// Resume is part of assembly.Server.
func (v *server) Resume() error { return v.signal(syscall.SIGCONT) }

// Kill is part of assembly.Server.
func (v *server) Kill() error { return v.end() }
