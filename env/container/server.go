package container

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockcost/env"
	"lockcost/env/assembly"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

const (
	// endTimeout bounds the wait for a container that was killed.
	endTimeout = 10 * time.Second
	// waitAgain is how long an engine that has broken off is left alone.
	waitAgain = 500 * time.Millisecond
)

// server is a server in a container of its own.
type server struct {
	runner   *runner
	name     string
	kind     env.Kind
	image    string
	port     int
	internal []int      // ports for other servers of its kind
	ip       netip.Addr // in the stack's network; invalid without one
	folder   string     // in the container

	mu        sync.Mutex
	container testcontainers.Container // nil before the first start
	paused    bool
	life      *life // nil before the first start
}

// life is a container from a start to its end.
type life struct {
	pid   int
	ended chan struct{} // closed when it has ended
	code  int64         // its exit status; valid once ended is closed
}

var _ assembly.Server = (*server)(nil)

// Node is part of assembly.Server.
func (s *server) Node() env.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := env.Node{Name: s.name, Kind: s.kind, Addr: assembly.Loopback(s.port)}
	if s.container != nil {
		n.Container = s.container.GetContainerID()
	}
	if s.life != nil {
		n.PID = s.life.pid
	}
	return n
}

// Peer is part of assembly.Server.
func (s *server) Peer() string { return s.address(s.port) }

// address is how other servers of the stack reach a port of this one.
func (s *server) address(port int) string {
	if s.ip.IsValid() {
		return net.JoinHostPort(s.ip.String(), strconv.Itoa(port))
	}
	return assembly.Loopback(port)
}

// listen is the address it listens on.
func (s *server) listen() string {
	if s.ip.IsValid() {
		return "0.0.0.0" // who reaches it is its network's matter
	}
	return "127.0.0.1"
}

func (s *server) listenOn(port int) string { return net.JoinHostPort(s.listen(), strconv.Itoa(port)) }

// Internal is part of assembly.Server.
func (s *server) Internal() (addrs []string) {
	for _, port := range s.internal {
		addrs = append(addrs, s.address(port))
	}
	return addrs
}

// File is part of assembly.Server. What is copied into a container before its
// start, as it is for etcd, does not get into a volume with every engine.
func (s *server) File() string {
	if s.kind == env.KindEtcd {
		return "/etc/lockcost/" + path.Base(s.folder) + ".yaml"
	}
	return s.folder + "/server.conf"
}

// Directives is part of assembly.Server.
func (s *server) Directives() string {
	switch s.kind {
	case env.KindLedger:
		return ""
	case env.KindEtcd:
		return fmt.Sprintf("data-dir: %q\nlisten-client-urls: \"http://%s\"\nlisten-peer-urls: \"http://%s\"\n",
			s.folder+"/data", s.listenOn(s.port), s.listenOn(s.internal[0]))
	case env.KindZooKeeper:
		return fmt.Sprintf("dataDir=%s\nclientPort=%d\nclientPortAddress=%s\n", s.folder, s.port, s.listen())
	}
	d := fmt.Sprintf("port %d\nbind %s\ndir %q\ndaemonize no\n", s.port, s.listen(), s.folder)
	if s.ip.IsValid() {
		d += "protected-mode no\n" // the clients come from another address
	}
	return d
}

// Start is part of assembly.Server.
func (s *server) Start(ctx context.Context, text string) error {
	return s.runner.call(ctx, func(ctx context.Context) error {
		c, err := s.runner.tc.CreateContainer(ctx, s.request(text))
		if err != nil {
			return fmt.Errorf("making a container of %s: %w", s.image, err)
		}
		s.mu.Lock()
		s.container = c
		s.mu.Unlock()
		return s.run(ctx)
	})
}

// Restart is part of assembly.Server.
func (s *server) Restart(ctx context.Context) error { return s.runner.call(ctx, s.run) }

// run starts the container, and watches for its end.
func (s *server) run(ctx context.Context) error {
	id := s.id()
	if _, err := s.runner.cli.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		if portTaken(err.Error()) {
			return fmt.Errorf("%w: %w", assembly.ErrPortTaken, err)
		}
		if s.kind == env.KindEtcd && strings.Contains(err.Error(), `exec: "`+etcdProgram+`"`) {
			return s.without(programs(s.kind))
		}
		return fmt.Errorf("starting a container of %s: %w", s.image, err)
	}
	l := &life{ended: make(chan struct{})}
	if found, err := s.runner.cli.ContainerInspect(ctx, id, client.ContainerInspectOptions{}); err != nil {
		return err
	} else if state := found.Container.State; state != nil && state.Running {
		if l.pid = localPID(state.Pid, id); l.pid == 0 {
			s.runner.distant.Store(true)
		}
	}
	s.mu.Lock()
	s.life, s.paused = l, false
	s.mu.Unlock()
	go s.watch(l, id)
	return nil
}

// watch waits for the end of a life.
func (s *server) watch(l *life, id string) {
	defer close(l.ended)
	for {
		w := s.runner.cli.ContainerWait(s.runner.life, id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
		select {
		case r := <-w.Result:
			l.code = r.StatusCode
			return
		case err := <-w.Error:
			if errdefs.IsNotFound(err) {
				return
			}
		}
		select {
		case <-s.runner.life.Done():
			return
		case <-time.After(waitAgain):
		}
	}
}

// id is the container's; "" before the first start.
func (s *server) id() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.container == nil {
		return ""
	}
	return s.container.GetContainerID()
}

// now is its present life; nil before the first.
func (s *server) now() *life {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life
}

// Ended is part of assembly.Server.
func (s *server) Ended() <-chan struct{} {
	if l := s.now(); l != nil {
		return l.ended
	}
	return nil
}

// Failure is part of assembly.Server.
func (s *server) Failure() error {
	log, code := s.logEnd(), int64(0)
	if l := s.now(); l != nil {
		code = l.code
	}
	switch {
	case code == programMissing:
		return fmt.Errorf("%s: %w", s.name, s.without(programs(s.kind)))
	case code == javaMissing:
		return fmt.Errorf("%s: %w", s.name, s.without("java"))
	case portTaken(log):
		return fmt.Errorf("%s on %s: %w%s", s.name, assembly.Loopback(s.port), assembly.ErrPortTaken, tailOf(log))
	}
	return fmt.Errorf("%s (image %s) ended with exit status %d%s", s.name, s.image, code, tailOf(log))
}

// without is the error of an image that has not what it needs.
func (s *server) without(program string) error {
	return fmt.Errorf("no %s in image %s", program, s.image)
}

// terminate ends the container and removes it with its volumes. What it does
// not reach is found by its label.
func (s *server) terminate(ctx context.Context) {
	s.mu.Lock()
	c := s.container
	s.mu.Unlock()
	if c == nil {
		return
	}
	_ = s.Kill()
	_ = c.Terminate(ctx, testcontainers.StopTimeout(0))
}

// ended tells that a server does not run.
func (s *server) ended() error {
	select {
	case <-s.Ended():
		return fmt.Errorf("%s does not run", s.name)
	default:
		return nil
	}
}
