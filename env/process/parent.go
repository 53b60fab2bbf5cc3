package process

import (
	"errors"
	"fmt"
	"runtime"

	"lockcost/env/placement"
)

// parent is the thread that starts a stack's servers. The kernel kills a
// child when the thread that started it ends, not the process, and a child
// inherits the thread's CPUs: so there is one such thread a stack, and it
// lives as long as the stack does.
type parent struct {
	jobs chan func()
	gone chan struct{}
}

// newParent starts the thread, confined to the CPUs pin where there are any.
// pinned is false where the system has no such thing.
func newParent(pin []int) (p *parent, pinned bool, err error) {
	p = &parent{jobs: make(chan func()), gone: make(chan struct{})}
	ready := make(chan error, 1)
	go p.serve(pin, ready)
	err = <-ready
	if errors.Is(err, errors.ErrUnsupported) {
		return p, false, nil
	}
	if err != nil {
		p.close()
		return nil, false, fmt.Errorf("pinning the servers: %w", err)
	}
	return p, len(pin) > 0, nil
}

func (p *parent) serve(pin []int, ready chan<- error) {
	// Never unlocked: the thread ends with this goroutine, and its CPUs are
	// not passed on to other goroutines.
	runtime.LockOSThread()
	defer close(p.gone)
	ready <- placement.Thread(pin) // without CPUs, to shed the driver's priority
	for job := range p.jobs {
		job()
	}
}

// do runs f on the thread and returns its error. It is not called after
// close.
func (p *parent) do(f func() error) error {
	done := make(chan error, 1)
	p.jobs <- func() { done <- f() }
	return <-done
}

// close ends the thread, and with it what is left of its children.
func (p *parent) close() {
	close(p.jobs)
	<-p.gone
}
