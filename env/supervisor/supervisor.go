// Package supervisor keeps a stack of real servers running beyond one
// command, to try things on and to run benchmarks against again and again.
//
// The stack belongs to a supervisor: this program as a process of its own,
// which starts the servers, waits, and ends them. It does nothing in between,
// so that it disturbs no measurement: whether servers answer is found out by
// who asks. When it dies, however it dies, its servers die with it.
//
// A user has at most one such stack. What is known of it stands in a folder
// of the user's own, and the supervisor holds a lock in it for as long as it
// lives. A folder whose lock is free was left by a supervisor that was
// killed: whoever comes next removes what that one left.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lockcost/env"
	"lockcost/env/container"
	"lockcost/env/reexec"
)

// Options say what to start.
type Options struct {
	// Spec is the stack. Spec.Pin is the supervisor's CPUs too: on the
	// driver's it would be in a later driver's way.
	Spec env.Spec
	// Container has the servers run in containers; nil means as processes.
	Container *container.Provider
	// RedisServer is the program that processes run in place of redis-server:
	// see process.Provider.
	RedisServer string
	// ReplicaRTT is the round trip from the primary to each replica, beyond
	// what loopback takes. 0 goes without a link. The program must have
	// link.Part among those of its reexec.Main.
	ReplicaRTT time.Duration
	// Dir is where the folders of servers that are processes are made. ""
	// means where process.Provider makes them.
	Dir string
	// Detached makes the supervisor outlive this process.
	Detached bool
}

// Running is a stack that was started.
type Running struct {
	State
	// Cleared tells of a supervisor that was killed, and whose leavings were
	// removed before this one was started; nil where there was none.
	Cleared *StaleError

	home    Home
	process *reexec.Process
}

// Up starts a supervisor and returns when its stack is ready. It fails with
// an ErrRunning where one runs already, and otherwise with the supervisor's
// own reason; then nothing is left of it. What a killed supervisor has left
// is removed first.
func (h Home) Up(ctx context.Context, o Options) (_ *Running, err error) {
	r := &Running{home: h}
	if s, err := h.Find(ctx); err == nil {
		return nil, s.running()
	} else if !errors.As(err, &r.Cleared) && !errors.Is(err, ErrNone) {
		return nil, err
	}
	c := config{Options: o, Home: h.path}
	if c.Dir != "" {
		if c.Dir, err = filepath.Abs(c.Dir); err != nil {
			return nil, err
		}
	}
	if o.Container != nil { // with progress, which the supervisor has nobody to tell of
		if err := o.Container.Prepare(ctx, o.Spec); err != nil {
			return nil, err
		}
	}
	start := reexec.Options{Part: partName, CPUs: o.Spec.Pin, Detached: o.Detached}
	if o.Detached {
		if start.Stderr, err = h.newLog(ctx); err != nil {
			return nil, err
		}
		defer start.Stderr.Close()
		c.Log = start.Stderr.Name()
	}
	start.Config = c
	r.process, err = reexec.Start(ctx, start, &r.State)
	if err == nil && !r.Ready {
		err = errors.New("the supervisor was ended before its stack was ready")
	}
	if err != nil {
		return nil, h.failed(ctx, c.Log, err)
	}
	return r, nil
}

// failed removes what a supervisor that failed has left, and tells why it
// did: another may have been faster.
func (h Home) failed(ctx context.Context, log string, reason error) error {
	reason = errors.Join(reason, lastWords(log))
	leave, err := h.enter(context.WithoutCancel(ctx), false)
	if errors.Is(err, ErrNone) {
		return reason
	}
	if err != nil {
		return errors.Join(reason, err)
	}
	defer leave()
	switch s, err := h.find(); {
	case err == nil:
		return errors.Join(s.running(), remove(log))
	case !errors.Is(err, ErrNone):
		return errors.Join(reason, err)
	}
	return errors.Join(reason, remove(log))
}

// Wait returns when ctx ends, having ended the supervisor and its servers, or
// when the supervisor has ended before that: with an error if it was killed.
// It is not meant for a detached one.
func (r *Running) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-r.process.Ended():
	}
	asked := ctx.Err() != nil
	err := r.process.Close()
	_, left := r.home.Find(context.WithoutCancel(ctx))
	var stale *StaleError
	switch {
	case errors.As(left, &stale) && !asked:
		return errors.Join(left, err)
	case left != nil && !errors.Is(left, ErrNone):
		return errors.Join(left, err)
	}
	return err
}

// lastWords is an error of what stands in a supervisor's log; nil where that
// is nothing.
func lastWords(log string) error {
	text, _ := os.ReadFile(log) // "" is no file, and its other reasons are told anyway
	const most = 4 << 10
	said := strings.TrimSpace(string(text[max(0, len(text)-most):]))
	if said == "" {
		return nil
	}
	return fmt.Errorf("its last words: %s", said)
}
