package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"lockcost/env"
	"lockcost/env/link"
)

// stack is the running processes of one stack, and their folder.
type stack struct {
	folder *folder
	parent *parent
	pinned bool

	mu      sync.Mutex
	servers []*server
	links   []*link.Process
	closed  bool
	err     error // what Close returned
}

var _ env.Faults = (*stack)(nil)

func open(dir string, pin []int) (*stack, error) {
	f, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	p, pinned, err := newParent(pin)
	if err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return &stack{folder: f, parent: p, pinned: pinned}, nil
}

// launch starts a server, which Close will end, and waits until it answers.
func (s *stack) launch(ctx context.Context, v *server) error {
	if err := s.add(v); err != nil {
		return err
	}
	return v.await(ctx, v.answers)
}

// add starts a server, unless the stack has been closed.
func (s *stack) add(v *server) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%s: the stack is closed", v.name)
	}
	s.servers = append(s.servers, v)
	return v.start(s.parent)
}

// addLinks has Close end links too, unless the stack has been closed.
func (s *stack) addLinks(p *link.Process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.Join(errors.New("links: the stack is closed"), p.Close())
	}
	s.links = append(s.links, p)
	return nil
}

// Close kills every server and removes the folder. There is nothing to end
// gently for: what they hold goes with them, and asked politely Redis would
// first save it.
func (s *stack) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	s.closed = true
	errs := make([]error, len(s.servers)+len(s.links))
	var wg sync.WaitGroup
	for i, v := range s.servers {
		wg.Go(func() { errs[i] = v.kill() })
	}
	for i, p := range s.links {
		wg.Go(func() { errs[len(s.servers)+i] = p.Close() })
	}
	wg.Wait()
	s.parent.close()
	s.err = errors.Join(append(errs, s.folder.remove())...)
	return s.err
}

// Pause is part of env.Faults.
func (s *stack) Pause(node string) error { return s.signal(node, syscall.SIGSTOP) }

// Resume is part of env.Faults.
func (s *stack) Resume(node string) error { return s.signal(node, syscall.SIGCONT) }

func (s *stack) signal(node string, sig syscall.Signal) error {
	v, err := s.server(node)
	if err != nil {
		return err
	}
	return v.signal(sig)
}

// Kill is part of env.Faults.
func (s *stack) Kill(node string) error {
	v, err := s.server(node)
	if err != nil {
		return err
	}
	if !v.running() {
		return fmt.Errorf("%s does not run", node)
	}
	return v.kill()
}

// Restart is part of env.Faults.
func (s *stack) Restart(ctx context.Context, node string) (env.Node, error) {
	v, err := s.server(node)
	if err != nil {
		return env.Node{}, err
	}
	if v.running() {
		return env.Node{}, fmt.Errorf("%s runs already", node)
	}
	if err := s.again(v); err != nil {
		return env.Node{}, err
	}
	if err := v.await(ctx, v.answers); err != nil {
		return env.Node{}, fmt.Errorf("restarting: %w", err)
	}
	return v.Node(), nil
}

// again starts a server that was added before.
func (s *stack) again(v *server) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%s: the stack is closed", v.name)
	}
	return v.start(s.parent)
}

func (s *stack) server(name string) (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.servers {
		if v.name == name {
			return v, nil
		}
	}
	return nil, fmt.Errorf("the stack has no node %q", name)
}
