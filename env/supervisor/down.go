package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	// endTimeout bounds how long a supervisor may take to end its servers:
	// it waits 10 s itself for one that was killed.
	endTimeout  = 30 * time.Second
	killTimeout = 10 * time.Second
	endInterval = 20 * time.Millisecond
)

// Ended is a stack that was ended.
type Ended struct {
	State
	Killed bool // the supervisor did not end when asked to, and was killed
}

// Down ends the supervisor and with it the servers, and returns when nothing
// is left: by SIGTERM, and after 30 s by SIGKILL. Where no stack is running
// the error is an ErrNone.
func (h Home) Down(ctx context.Context) (Ended, error) {
	s, err := h.Find(ctx)
	if err != nil {
		return Ended{}, err
	}
	if err := h.signal(ctx, s.PID, syscall.SIGTERM); err != nil {
		return Ended{}, err
	}
	e := Ended{State: s}
	gone, err := h.await(ctx, s, endTimeout)
	if err != nil || gone {
		return e, err
	}
	e.Killed = true
	if err := h.signal(ctx, s.PID, syscall.SIGKILL); err != nil && !errors.Is(err, ErrNone) {
		return e, err
	}
	gone, err = h.await(ctx, s, killTimeout)
	if err == nil && !gone {
		err = fmt.Errorf("the supervisor, process %d, has not ended %v after SIGKILL", s.PID, killTimeout)
	}
	return e, err
}

// signal sends sig to the supervisor pid, and surely to no other process: the
// handle is got before that one is seen to live, and stands for it even if
// its number is another's later. Where it lives no more that is an ErrNone.
func (h Home) signal(ctx context.Context, pid int, sig syscall.Signal) error {
	leave, err := h.enter(ctx, false)
	if err != nil {
		return err
	}
	defer leave()
	p, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("the supervisor, process %d: %w", pid, err)
	}
	defer func() { _ = p.Release() }()
	if s, err := h.find(); err != nil {
		return err
	} else if s.PID != pid {
		return ErrNone
	}
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("the supervisor, process %d: sending %v: %w", pid, sig, err)
	}
	return nil
}

// await waits until the supervisor of s has ended, and removes what it left.
func (h Home) await(ctx context.Context, s State, most time.Duration) (gone bool, err error) {
	for deadline := time.Now().Add(most); ; {
		now, err := h.Find(ctx)
		if errors.Is(err, ErrNone) || err == nil && now.PID != s.PID {
			return true, nil
		}
		if err != nil || time.Now().After(deadline) {
			return false, err
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(endInterval):
		}
	}
}
