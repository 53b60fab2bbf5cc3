package container_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/container"
	"lockcost/env/container/containertest"
	"lockcost/env/envtest"

	"github.com/moby/moby/client"
)

// startDriver starts a driver with a stack, and returns the stack's nodes and
// how to kill the driver.
func startDriver(t *testing.T) (nodes []env.Node, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), as+"="+driver, "TESTCONTAINERS_RYUK_DISABLED=true")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the driver told no nodes: %v", err)
	}
	if err := json.Unmarshal(line, &nodes); err != nil {
		t.Fatal(err)
	}
	return nodes, kill
}

func TestKilledDriversContainersAreRemoved(t *testing.T) {
	cli := docker(t)
	alone(t)
	t.Cleanup(func() { _, _ = container.Clean(context.Background()) })
	containertest.Start(t, env.Spec{}) // so that all there is to have is there
	nodes, kill := startDriver(t)

	if n, err := container.Clean(t.Context()); n != 0 || err != nil {
		t.Errorf("of living drivers %d were cleaned up after: %v", n, err)
	}
	running(t, cli, nodes)
	kill()
	running(t, cli, nodes) // nobody has cleaned up yet
	if n, err := container.Clean(t.Context()); n != 1 || err != nil {
		t.Errorf("cleaned up after %d drivers, and one was killed: %v", n, err)
	}
	gone(t, cli, nodes)

	nodes, kill = startDriver(t)
	kill()
	p, steps := containertest.Provider(), []string(nil)
	p.Progress = func(step string) { steps = append(steps, step) }
	s := containertest.StartWith(t, p, env.Spec{})
	gone(t, cli, nodes)
	if len(steps) != 1 || !strings.Contains(steps[0], "has died") {
		t.Errorf("the next start told %q", steps)
	}
	running(t, cli, s.Nodes)
}

func running(t *testing.T, cli *client.Client, nodes []env.Node) {
	t.Helper()
	for _, n := range nodes {
		found, err := cli.ContainerInspect(t.Context(), n.Container, client.ContainerInspectOptions{})
		if err != nil || !found.Container.State.Running {
			t.Errorf("%s does not run (%v)", n.Name, err)
		}
	}
}

func gone(t *testing.T, cli *client.Client, nodes []env.Node) {
	t.Helper()
	for _, n := range nodes {
		if _, err := cli.ContainerInspect(t.Context(), n.Container, client.ContainerInspectOptions{}); err == nil {
			t.Errorf("%s is still there", n.Name)
		}
		if err := envtest.Silent(n.Addr); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
}

// A start that is broken off, at whatever moment, leaves nothing.
func TestBrokenOffStartLeavesNothing(t *testing.T) {
	cli := docker(t)
	for _, c := range []struct {
		container.Provider
		things []int // that there are when it is broken off
	}{
		{containertest.Provider(), []int{0, 1, 2, 5, 8, 12}},
		{bridged(), []int{1, 2, 6}},
	} {
		alone(t)
		for _, things := range c.things {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				s, err := c.Start(ctx, small)
				if err == nil {
					_ = s.Close()
				}
				ended <- err
			}()
			for len(remains(t, cli)) < things && len(ended) == 0 {
				time.Sleep(5 * time.Millisecond)
			}
			cancel()
			err := <-ended
			containertest.Need(t, err)
			if err == nil || !strings.Contains(err.Error(), "canceled") {
				t.Errorf("network %q, broken off with %d things there: %v", c.Network, things, err)
			}
			if what := remains(t, cli); len(what) > 0 {
				t.Fatalf("network %q, broken off with %d things there: left %q", c.Network, things, what)
			}
		}
	}
}

// Labels can be written by anybody: what names a lock file that is none of
// ours is left alone, and so is that file.
func TestWhatOnlyLooksLikeOursIsLeftAlone(t *testing.T) {
	cli := docker(t)
	s := containertest.Start(t, env.Spec{})
	own, err := cli.ContainerInspect(t.Context(), s.Nodes[0].Container, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, lock := range []string{precious, ""} {
		made, err := cli.VolumeCreate(t.Context(), client.VolumeCreateOptions{Labels: map[string]string{
			"lockcost.machine": own.Container.Config.Labels["lockcost.machine"], "lockcost.stack": "ffff", "lockcost.lock": lock,
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := cli.VolumeRemove(context.Background(), made.Volume.Name, client.VolumeRemoveOptions{}); err != nil {
				t.Errorf("a volume with the lock file %q: %v", lock, err)
			}
		}()
	}
	if n, err := container.Clean(t.Context()); n != 0 || err != nil {
		t.Errorf("removed %d stacks: %v", n, err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}
