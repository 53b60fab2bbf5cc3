package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lockcost/env/container"
)

// containerTimeout bounds the removal of containers.
const containerTimeout = time.Minute

var (
	// ErrNone tells that no stack is running.
	ErrNone = errors.New("no stack is running: start one with lockcost env up --detach")
	// ErrRunning tells that one is.
	ErrRunning = errors.New("a stack is running already")
)

// StaleError tells that no stack is running because its supervisor was
// killed. What that one left has been removed. It is an ErrNone.
type StaleError struct {
	PID int // the supervisor's
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("no stack is running: its supervisor, process %d, was killed, and what it left has been removed; "+
		"start one with lockcost env up --detach", e.PID)
}

func (e *StaleError) Unwrap() error { return ErrNone }

// running is the ErrRunning of a stack.
func (s State) running() error {
	return fmt.Errorf("%w, under process %d since %s: see lockcost env status, or end it with lockcost env down",
		ErrRunning, s.PID, s.Since.Format(time.DateTime))
}

// Find returns the state of the stack that is running, or that is being
// started (Ready tells). Else the error is an ErrNone; where that is a
// StaleError, what a killed supervisor left has been removed.
func (h Home) Find(ctx context.Context) (State, error) {
	leave, err := h.enter(ctx, false)
	if err != nil {
		return State{}, err
	}
	defer leave()
	return h.find()
}

// find is Find in a folder that has been entered.
func (h Home) find() (State, error) {
	held, err := h.held()
	if err != nil {
		return State{}, err
	}
	s, err := h.read()
	if err != nil {
		return State{}, err // whoever wrote that may want to keep it
	}
	if held {
		if s.PID == 0 {
			err = fmt.Errorf("a supervisor lives, but %s, which tells of it, has been removed: end the processes that have %s open",
				h.file(stateFile), h.file(lockFile))
		}
		return s, err
	}
	if err := h.clean(s); err != nil {
		return State{}, fmt.Errorf("removing what a killed supervisor left: %w", err)
	}
	if s.PID == 0 {
		return State{}, ErrNone
	}
	return State{}, &StaleError{PID: s.PID}
}

// clean removes all that belongs to a state. What the state itself is found
// by goes last.
func (h Home) clean(s State) error {
	if s.Containers {
		if err := cleanContainers(); err != nil {
			return err
		}
	}
	if strings.HasPrefix(filepath.Base(s.Folder), folderPrefix) {
		if err := removeFolder(s.Folder); err != nil {
			return err
		}
	}
	if filepath.Dir(s.Log) != h.path {
		s.Log = ""
	}
	lock := h.file(lockFile)
	if i, err := os.Stat(lock); err == nil && i.Size() > 0 {
		lock = "" // ours is empty
	}
	return remove(s.Log, h.file(stateFile+".new"), h.file(stateFile), lock)
}

// cleanContainers removes those that a killed supervisor left, others' too.
func cleanContainers() error {
	ctx, cancel := context.WithTimeout(context.Background(), containerTimeout)
	defer cancel()
	_, err := container.Clean(ctx)
	return err // also that there is no engine: its containers may run
}

// remove removes files that need not be there; "" is none.
func remove(paths ...string) error {
	var errs []error
	for _, p := range paths {
		if err := os.Remove(p); p != "" && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// removeFolder removes the servers' folder. Servers that die this moment may
// still put a file into it.
func removeFolder(path string) error {
	const patience = 5 * time.Second
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := os.RemoveAll(path)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
