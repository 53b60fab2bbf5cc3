package container_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/assembly"
	"lockcost/env/container"
	"lockcost/env/container/containertest"
	"lockcost/env/envtest"
	"lockcost/workloads/lock"

	"github.com/moby/moby/client"
)

func TestProvider(t *testing.T) { envtest.Run(t, containertest.Start, true) }

func TestServices(t *testing.T) { envtest.RunServices(t, containertest.Start, true) }

func TestProviderWithBridge(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole suite once more takes minutes")
	}
	envtest.Run(t, func(t testing.TB, spec env.Spec) *env.Stack {
		t.Helper()
		return containertest.StartWith(t, bridged(), spec)
	}, false)
}

func bridged() container.Provider {
	p := containertest.Provider()
	p.Network = container.NetworkBridge
	return p
}

func TestNodesAreContainers(t *testing.T) {
	cli := docker(t)
	s := containertest.Start(t, small)
	if s.Provider != "container" {
		t.Errorf("the provider is %q", s.Provider)
	}
	for _, n := range s.Nodes {
		found, err := cli.ContainerInspect(t.Context(), n.Container, client.ContainerInspectOptions{})
		if err != nil {
			t.Errorf("%s: %v", n.Name, err)
			continue
		}
		if n.PID != 0 && n.PID != found.Container.State.Pid {
			t.Errorf("%s: process %d, and the engine says %d", n.Name, n.PID, found.Container.State.Pid)
		}
		if cmd := found.Container.Config.Cmd; len(cmd) > 0 {
			t.Errorf("%s is started with the image's own arguments %q", n.Name, cmd)
		}
	}
}

// A client that asks the Sentinels is told addresses of the stack's network,
// which it may be unable to reach, and follows the primary nonetheless.
func TestClientFollowsFailoverOverBridge(t *testing.T) {
	s := containertest.StartWith(t, bridged(), env.Spec{Replicas: 1, Sentinels: 3, DownAfter: 500 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), envtest.Patience)
	defer cancel()
	c, err := lock.Open(ctx, lock.Config{
		Sentinels: s.Redis.Sentinels, MasterName: s.Redis.MasterName, Via: s.Redis.Via, PoolSize: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	locker, err := lock.NewSetNX(c, lock.FormCommand)
	if err != nil {
		t.Fatal(err)
	}
	take := func() error {
		_, err := locker.TryLock(ctx, "key", time.Minute)
		if errors.Is(err, lock.ErrHeld) {
			return nil
		}
		return err
	}
	if err := take(); err != nil {
		t.Fatal(err)
	}
	if err := s.Faults.Kill("primary"); err != nil {
		t.Fatal(err)
	}
	envtest.Eventually(t, "the lock is taken from the new primary", take)
	if n, err := envtest.Client(t, s, s.Redis.Replicas[0]).Exists(ctx, "key").Result(); n != 1 || err != nil {
		t.Errorf("the replica was asked for no lock: %d, %v", n, err)
	}
	// Its connections are the announced primary's, by whatever way they go:
	// they are not dropped and made anew.
	before := connections(t, s)
	for range 300 {
		if err := take(); err != nil {
			t.Fatal(err)
		}
	}
	if made := connections(t, s) - before - 1; made > 2 { // asking takes one
		t.Errorf("%d connections for 300 locks, with a pool of 2", made)
	}
}

// connections is how many connections the first replica has received.
func connections(t *testing.T, s *env.Stack) int {
	t.Helper()
	text, err := envtest.Client(t, s, s.Redis.Replicas[0]).Info(t.Context(), "stats").Result()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(env.ParseInfo(text)["total_connections_received"])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	for _, p := range []container.Provider{containertest.Provider(), bridged()} {
		asked := 0
		s := containertest.StartWith(t, p.WithPort(func() (int, error) {
			if asked++; asked == 1 {
				return taken, nil
			}
			return assembly.FreePort()
		}), env.Spec{})
		if asked != 2 || s.Redis.Primary == l.Addr().String() {
			t.Errorf("network %q: %d ports were asked for, the primary is at %s", p.Network, asked, s.Redis.Primary)
		}
		_, err := p.WithPort(func() (int, error) { return taken, nil }).Start(t.Context(), env.Spec{})
		if !errors.Is(err, assembly.ErrPortTaken) || !strings.Contains(err.Error(), "primary") {
			t.Errorf("network %q, its port is always taken: %v", p.Network, err)
		}
	}
}

// The first server of these kinds may find any of its ports taken: its
// clients', or one for its peers.
func TestPortOfAQuorumTaken(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	for name, c := range map[string]struct {
		spec  env.Spec
		which int
		asks  int // ports of a start
	}{
		"etcd, clients":      {env.Spec{NoRedis: true, Etcd: 1}, 1, 2},
		"etcd, peers":        {env.Spec{NoRedis: true, Etcd: 1}, 2, 2},
		"ZooKeeper, clients": {env.Spec{NoRedis: true, ZooKeeper: 1}, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			containertest.StartWith(t, containertest.Provider().WithPort(func() (int, error) {
				if asked++; asked == c.which {
					return taken, nil
				}
				return assembly.FreePort()
			}), c.spec)
			if asked < 2*c.asks {
				t.Errorf("%d ports were asked for: it was not tried again", asked)
			}
		})
	}
}

// Ports of a bridge are published, and what peers are told is their address
// behind it.
func TestQuorumsOverBridge(t *testing.T) {
	s := containertest.StartWith(t, bridged(), env.Spec{NoRedis: true, Etcd: 1, ZooKeeper: 1})
	for _, n := range s.Nodes {
		if err := s.Faults.Kill(n.Name); err != nil {
			t.Fatal(err)
		}
		if again, err := s.Faults.Restart(t.Context(), n.Name); err != nil || again.Addr != n.Addr {
			t.Errorf("%+v came back as %+v: %v", n, again, err)
		}
	}
}

// Apache's image has ZooKeeper elsewhere than Debian.
func TestZooKeeperAsApacheHasIt(t *testing.T) {
	p := containertest.Provider()
	p.ZooKeeperImage = commit(t, docker(t), p.ZooKeeperImage, `lib=/apache-zookeeper-3.8.0-bin/lib
		[ ! -e /usr/share/java/zookeeper.jar ] || {
			mkdir -p $lib
			mv /usr/share/java/zookeeper.jar $lib/zookeeper-3.8.0.jar
			mv /usr/share/java/slf4j-simple.jar $lib
		}`)
	s := containertest.StartWith(t, p, env.Spec{NoRedis: true, ZooKeeper: 1})
	if mode, err := s.ZooKeeper.Mode(t.Context(), s.ZooKeeper.Servers[0]); mode != "standalone" {
		t.Errorf("it is %q: %v", mode, err)
	}
}

func TestPausedInTheEngineItselfIsRemoved(t *testing.T) {
	cli := docker(t)
	alone(t)
	s := containertest.Start(t, env.Spec{})
	if _, err := cli.ContainerPause(t.Context(), s.Nodes[0].Container, client.ContainerPauseOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if what := remains(t, cli); len(what) > 0 {
		t.Errorf("left: %q", what)
	}
}
