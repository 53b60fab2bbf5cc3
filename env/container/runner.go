package container

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockcost/env"
	"lockcost/env/assembly"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

const (
	// callTimeout bounds one thing that the engine is asked to do. It is not
	// broken off with a start: what the engine makes after that nobody would
	// remove.
	callTimeout = 30 * time.Second
	// closeTimeout bounds the removal of a stack.
	closeTimeout = time.Minute
	// portTries bounds how often ports are drawn for one server.
	portTries = 100
)

// engine is a Docker engine.
type engine struct {
	cli *client.Client
	tc  *testcontainers.DockerProvider
}

// runner is the containers of one stack.
type runner struct {
	*engine
	lock    *lock
	images  images
	pin     []int
	port    func() (int, error)
	network *network // nil where the containers have the machine's own
	distant *atomic.Bool

	life context.Context // until the stack is closed
	end  context.CancelFunc

	mu      sync.Mutex
	servers []*server
	ports   []int // that servers have been given
	closed  bool
	called  bool           // the engine may have made something
	calls   sync.WaitGroup // what the engine is doing

	closing sync.Once
	err     error // what Close returned
}

var _ assembly.Runner = (*runner)(nil)

func (p Provider) open(ctx context.Context, e *engine, pin []int, distant *atomic.Bool) (assembly.Runner, error) {
	l, err := newLock()
	if err != nil {
		return nil, err
	}
	r := &runner{engine: e, lock: l, images: p.images(), pin: pin, port: p.port, distant: distant}
	if r.port == nil {
		r.port = assembly.FreePort
	}
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	if p.Network == NetworkBridge {
		if err := r.call(ctx, r.openNetwork); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

// labels tell whose a container, a volume or a network is.
func (r *runner) labels() map[string]string {
	l := testcontainers.GenericLabels() // the reaper's
	l[labelStack], l[labelMachine], l[labelLock] = r.lock.stack, r.lock.machine, r.lock.file.Path()
	return l
}

// name is a container's or a network's, for people who look at them.
func (r *runner) name(of string) string { return "lockcost-" + r.lock.stack + "-" + of }

// internals is how many addresses beside its own a server of a kind has.
var internals = map[env.Kind]int{env.KindEtcd: 1, env.KindZooKeeper: 2}

// Place is part of assembly.Runner.
func (r *runner) Place(_ context.Context, name string, kind env.Kind) (assembly.Server, error) {
	ports, err := r.freePorts(1 + internals[kind])
	if err != nil {
		return nil, err
	}
	s := &server{
		runner: r, name: name, kind: kind, image: r.images.of(kind), port: ports[0], internal: ports[1:],
		folder: volume(kind) + "/" + r.lock.stack + "-" + name,
	}
	if r.network != nil {
		if s.ip, err = r.network.address(); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.servers = append(r.servers, s)
	return s, nil
}

// freePorts returns n ports that no other server of the stack has: those that
// are placed do not listen yet.
func (r *runner) freePorts(n int) ([]int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := len(r.ports)
	for range portTries {
		port, err := r.port()
		if err != nil {
			return nil, err
		}
		if slices.Contains(r.ports, port) {
			continue
		}
		if r.ports = append(r.ports, port); len(r.ports) == first+n {
			return slices.Clone(r.ports[first:]), nil
		}
	}
	return nil, fmt.Errorf("no %d ports among %d that the stack has not already", n, portTries)
}

// Pinned is part of assembly.Runner. The CPUs of a virtual machine are not
// ours, whatever their numbers.
func (r *runner) Pinned() []int {
	if r.distant.Load() {
		return nil
	}
	return r.pin
}

// call has the engine do something, unless the stack has been closed. Close
// waits for it.
func (r *runner) call(ctx context.Context, do func(ctx context.Context) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return errors.New("the stack is closed")
	}
	r.calls.Add(1)
	r.called = true
	r.mu.Unlock()
	defer r.calls.Done()
	ctx, cancel := bounded(context.WithoutCancel(ctx))
	defer cancel()
	return answered(ctx, do(ctx))
}

// Close removes the containers with their volumes, and then the network.
// There is nothing to end gently for: what they hold goes with them.
func (r *runner) Close() error {
	r.closing.Do(func() {
		r.mu.Lock()
		r.closed = true
		servers := r.servers
		r.mu.Unlock()
		r.calls.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		var wg sync.WaitGroup
		for _, s := range servers {
			wg.Go(func() { s.terminate(ctx) })
		}
		wg.Wait()
		var err error
		if r.called {
			err = remove(ctx, r.cli, r.lock.machine, r.lock.stack)
		}
		r.end()
		r.err = errors.Join(err, r.lock.release(), r.cli.Close())
	})
	return r.err
}
