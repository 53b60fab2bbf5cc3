package container

import (
	"context"
	"fmt"
	"time"

	"github.com/moby/moby/client"
)

// Pause is part of assembly.Server.
func (s *server) Pause() error {
	return s.freeze(true, func(ctx context.Context, id string) error {
		_, err := s.runner.cli.ContainerPause(ctx, id, client.ContainerPauseOptions{})
		return err
	})
}

// Resume is part of assembly.Server.
func (s *server) Resume() error {
	return s.freeze(false, func(ctx context.Context, id string) error {
		_, err := s.runner.cli.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
		return err
	})
}

// freeze pauses or resumes a server, unless it is so already.
func (s *server) freeze(paused bool, do func(ctx context.Context, id string) error) error {
	if err := s.ended(); err != nil {
		return err
	}
	id := s.id()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused == paused {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.runner.life, callTimeout)
	defer cancel()
	if err := do(ctx, id); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.paused = paused
	return nil
}

// Kill is part of assembly.Server.
func (s *server) Kill() error {
	if err := s.ended(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.runner.life, callTimeout)
	defer cancel()
	if _, err := s.runner.cli.ContainerKill(ctx, s.id(), client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil && s.ended() == nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.mu.Lock()
	paused := s.paused
	s.paused = false
	s.mu.Unlock()
	if paused {
		// A paused server ends only once it goes on; not every engine sees to
		// that. It does nothing more: the signal comes first.
		_, _ = s.runner.cli.ContainerUnpause(ctx, s.id(), client.ContainerUnpauseOptions{})
	}
	select {
	case <-s.Ended():
		return nil
	case <-time.After(endTimeout):
		return fmt.Errorf("%s (container %.12s) has not ended %v after SIGKILL", s.name, s.id(), endTimeout)
	}
}
