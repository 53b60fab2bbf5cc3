package assembly

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"lockcost/env"
	"lockcost/env/link"
)

// server is a server of a stack, and how to tell whether it answers.
type server struct {
	Server
	answers probe
}

// stack is the servers of one stack and their Runner.
type stack struct {
	runner Runner

	mu      sync.Mutex
	servers []*server
	links   []*link.Process
	closed  bool
	err     error // what Close returned
}

var _ env.Faults = (*stack)(nil)

// place gives a server its place, unless the stack has been closed.
func (s *stack) place(ctx context.Context, name string, kind env.Kind) (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("%s: the stack is closed", name)
	}
	placed, err := s.runner.Place(ctx, name, kind)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	v := &server{Server: placed}
	s.servers = append(s.servers, v)
	return v, nil
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

// Close ends every server and link, and removes what they left.
func (s *stack) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	s.closed = true
	errs := make([]error, len(s.links))
	var wg sync.WaitGroup
	for i, p := range s.links {
		wg.Go(func() { errs[i] = p.Close() })
	}
	s.err = s.runner.Close()
	wg.Wait()
	s.err = errors.Join(s.err, errors.Join(errs...))
	return s.err
}

// Pause is part of env.Faults.
func (s *stack) Pause(node string) error { return s.do(node, Server.Pause) }

// Resume is part of env.Faults.
func (s *stack) Resume(node string) error { return s.do(node, Server.Resume) }

// Kill is part of env.Faults.
func (s *stack) Kill(node string) error { return s.do(node, Server.Kill) }

// do does something to a node that runs.
func (s *stack) do(node string, what func(Server) error) error {
	v, err := s.server(node)
	if err != nil {
		return err
	}
	if !v.running() {
		return fmt.Errorf("%s does not run", node)
	}
	return what(v.Server)
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
	if err := v.Server.Restart(ctx); err != nil {
		return env.Node{}, fmt.Errorf("restarting %s: %w", node, err)
	}
	if err := v.await(ctx, v.answers); err != nil {
		return env.Node{}, fmt.Errorf("restarting: %w", err)
	}
	return v.Node(), nil
}

func (v *server) running() bool {
	select {
	case <-v.Ended():
		return false
	default:
		return true
	}
}

func (s *stack) server(name string) (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("%s: the stack is closed", name)
	}
	for _, v := range s.servers {
		if v.name() == name {
			return v, nil
		}
	}
	return nil, fmt.Errorf("the stack has no node %q", name)
}
