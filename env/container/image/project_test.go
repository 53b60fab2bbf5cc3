package image_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockcost/env/envtest"
)

const (
	composeFile = "../../compose.yaml"
	localImage  = "localhost/lockcost:bookworm"
)

// A project is the stack of env/compose.yaml under a name and on ports of
// its own.
type project struct {
	name             string
	program          []string // docker compose, or docker-compose
	settings         []string // environment
	primary, replica int      // ports
	ledger           int
	sentinels        [3]int
}

// newProject needs Compose and the images, and removes the stack after the
// test: something of it that is left is an error.
func newProject(t *testing.T, settings []string) *project {
	t.Helper()
	p := &project{name: "lockcost-test-" + strings.ToLower(rand.Text()[:10]), program: composeProgram(t)}
	ports := freePorts(t, 6)
	p.primary, p.replica, p.ledger = ports[0], ports[1], ports[2]
	copy(p.sentinels[:], ports[3:])
	p.settings = append(os.Environ(),
		"COMPOSE_PROJECT_NAME="+p.name, "COMPOSE_FILE="+composeFile,
		"LOCKCOST_REDIS_IMAGE="+image(t, "LOCKCOST_REDIS_IMAGE"),
		"LOCKCOST_LEDGER_IMAGE="+image(t, "LOCKCOST_LEDGER_IMAGE"),
		"LOCKCOST_PRIMARY_PORT="+strconv.Itoa(p.primary),
		"LOCKCOST_REPLICA_PORT="+strconv.Itoa(p.replica),
		"LOCKCOST_LEDGER_PORT="+strconv.Itoa(p.ledger))
	for i, port := range p.sentinels {
		p.settings = append(p.settings, fmt.Sprintf("LOCKCOST_SENTINEL_%d_PORT=%d", i+1, port))
	}
	p.settings = append(p.settings, settings...)
	t.Cleanup(func() { p.remove(t) })
	return p
}

// remove ends the stack and checks that no container, network or volume of
// it is left.
func (p *project) remove(t *testing.T) {
	filter := "label=com.docker.compose.project=" + p.name
	if t.Failed() {
		out, _ := p.command(context.Background(), "logs", "--no-color", "--tail", "20").CombinedOutput()
		t.Logf("its logs:\n%s", out)
	}
	var volumes []string
	if ids := strings.Fields(docker(t, "container", "ls", "-aq", "--filter", filter)); len(ids) > 0 {
		names := docker(t, append([]string{"inspect", "--format", "{{range .Mounts}}{{.Name}} {{end}}"}, ids...)...)
		volumes = strings.Fields(names)
	}
	if out, err := p.command(context.Background(), "down", "-v", "-t", "5").CombinedOutput(); err != nil {
		t.Errorf("down: %v: %s", err, out)
	}
	for _, list := range [][]string{{"container", "ls", "-aq"}, {"network", "ls", "-q"}, {"volume", "ls", "-q"}} {
		if left := docker(t, append(list, "--filter", filter)...); left != "" {
			t.Errorf("a %s is left: %s", list[0], left)
		}
	}
	for _, name := range strings.Fields(docker(t, "volume", "ls", "-q")) {
		if slices.Contains(volumes, name) {
			t.Errorf("volume %s is left", name)
		}
	}
}

func (p *project) compose(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if out, err := p.command(ctx, args...).CombinedOutput(); err != nil {
		t.Fatalf("compose %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func (p *project) command(ctx context.Context, args ...string) *exec.Cmd {
	all := append(slices.Clone(p.program), args...)
	c := exec.CommandContext(ctx, all[0], all[1:]...)
	c.Env = p.settings
	return c
}

// container is the id of a service's container, running or not.
func (p *project) container(t *testing.T, service string) string {
	t.Helper()
	return docker(t, "container", "ls", "-aq", "--filter", "label=com.docker.compose.project="+p.name,
		"--filter", "label=com.docker.compose.service="+service)
}

// docker returns what the command prints.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var stderr bytes.Buffer
	c := exec.CommandContext(ctx, "docker", args...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// composeProgram is LOCKCOST_COMPOSE where that is set, else Compose v2, else
// docker-compose.
func composeProgram(t *testing.T) []string {
	t.Helper()
	needEngine(t)
	if set := os.Getenv("LOCKCOST_COMPOSE"); set != "" {
		return strings.Fields(set)
	}
	for _, program := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		if exec.Command(program[0], append(program[1:], "version")...).Run() == nil {
			return program
		}
	}
	envtest.Lack(t, "neither docker compose nor docker-compose is here")
	return nil
}

func needEngine(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("docker", "version").CombinedOutput(); err != nil {
		envtest.Lack(t, fmt.Sprintf("no Docker engine: %v: %s", err, out))
	}
}

// image is what the variable names, else the local one.
func image(t *testing.T, variable string) string {
	t.Helper()
	name := os.Getenv(variable)
	if name == "" {
		name = localImage
	}
	if exec.Command("docker", "image", "inspect", name).Run() != nil {
		envtest.Lack(t, fmt.Sprintf("there is no image %s here: make it with env/container/image/build", name))
	}
	return name
}

// freePorts returns n ports that were free at once.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
