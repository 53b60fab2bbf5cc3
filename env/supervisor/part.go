package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"lockcost/env"
	"lockcost/env/process"
	"lockcost/env/reexec"

	"github.com/gofrs/flock"
)

const (
	partName     = "supervisor"
	folderPrefix = "lockcost-env-"
)

// config is what a supervisor is told.
type config struct {
	Options
	Home string
	Log  string // "" for none
}

// Part is the supervisor, to be listed in reexec.Main.
func Part() reexec.Part { return reexec.Part{Name: partName, Run: run} }

// run is the supervisor's life.
func run(ctx context.Context, c *reexec.Child) error {
	var o config
	if err := c.Config(&o); err != nil {
		return err
	}
	if !o.Detached { // it ends when its starter does
		go func() {
			_ = c.Serve(func(json.RawMessage) (any, error) { return nil, errors.New("it takes no requests") })
		}()
	}
	v, err := begin(ctx, o)
	if err == nil {
		err = v.supervise(ctx, c)
	}
	if ctx.Err() == nil {
		return err
	}
	if v == nil || !v.state.Ready {
		return c.Ready(State{}) // ended before it was ready
	}
	if err != nil { // nobody listens but the log
		fmt.Fprintln(os.Stderr, err)
	}
	return err
}

// supervised is a supervisor's hold on its home.
type supervised struct {
	config
	home  Home
	lock  *flock.Flock
	state State
}

// begin takes the lock, which makes this process the supervisor, and makes
// the servers' folder.
func begin(ctx context.Context, o config) (*supervised, error) {
	v := &supervised{config: o, home: Home{o.Home}}
	leave, err := v.home.enter(ctx, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	if s, err := v.home.find(); err == nil {
		return nil, s.running()
	} else if !errors.Is(err, ErrNone) {
		return nil, err
	}
	if v.lock, err = v.home.take(); err != nil {
		return nil, err
	}
	v.state = State{PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second), Log: o.Log, Containers: o.Container != nil}
	if v.state.Folder, err = newFolder(o.Dir); err == nil {
		err = v.home.write(v.state)
	}
	if err != nil {
		return nil, errors.Join(err, v.home.clean(v.state), v.lock.Close())
	}
	return v, nil
}

// supervise starts the stack, waits for the end of ctx and ends it.
func (v *supervised) supervise(ctx context.Context, c *reexec.Child) (err error) {
	defer func() { err = errors.Join(err, v.end()) }()
	v.Spec.Links = v.ReplicaRTT != 0
	stack, err := v.provider().Start(ctx, v.Spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Close()) }()
	if v.ReplicaRTT != 0 {
		if err := stack.Distance.Set(ctx, v.ReplicaRTT, 0, 0); err != nil {
			return err
		}
	}
	v.state.describe(stack)
	v.state.ReplicaRTT = v.ReplicaRTT
	if err := v.home.write(v.state); err != nil {
		return err
	}
	if err := c.Ready(v.state); err != nil {
		return err // the starter is gone: nobody knows of the stack
	}
	<-ctx.Done()
	return nil
}

// provider is what runs the servers.
func (v *supervised) provider() env.Provider {
	if v.Container != nil {
		return *v.Container
	}
	return process.Provider{Dir: v.state.Folder, RedisServer: v.RedisServer}
}

// end removes everything and gives up the lock.
func (v *supervised) end() error {
	folder := removeFolder(v.state.Folder) // at leisure: others may enter
	leave, err := v.home.enter(context.Background(), false)
	if errors.Is(err, ErrNone) { // somebody has removed it
		return errors.Join(folder, v.lock.Close())
	}
	if err != nil {
		return errors.Join(folder, err)
	}
	defer leave()
	if folder != nil {
		return errors.Join(folder, v.lock.Close()) // the next to come tries again
	}
	return errors.Join(v.home.clean(v.state), v.lock.Close())
}

// newFolder makes the folder that the stack's own is made in, so that it is
// known by name to whoever removes it after a crash.
func newFolder(dir string) (string, error) {
	if dir == "" {
		dir = process.OnDisk()
	}
	path, err := os.MkdirTemp(dir, folderPrefix)
	if err != nil {
		return "", fmt.Errorf("making a folder for the servers: %w", err)
	}
	// A server which runs as another user must be able to pass through.
	return path, os.Chmod(path, 0o711)
}
