package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

const (
	// pingTimeout bounds the wait for an engine's first answer.
	pingTimeout = 5 * time.Second
	// oldest is the first Docker that speaks client.MinAPIVersion.
	oldest = "Docker 19.03"
)

// UnavailableError tells that there is no Docker engine that stacks can run in.
type UnavailableError struct {
	Reason string
	Err    error // may be nil
}

func (e *UnavailableError) Error() string { return "no usable Docker engine: " + e.Reason }

// Unwrap returns what the engine or the system said.
func (e *UnavailableError) Unwrap() error { return e.Err }

// find returns a client of the engine: the one at $DOCKER_HOST, else the
// first that answers on a socket where engines usually have one. Its error is
// an *UnavailableError, unless ctx is over.
func find(ctx context.Context) (*client.Client, error) {
	if host := os.Getenv(client.EnvOverrideHost); host != "" {
		return connect(ctx, host)
	}
	var first error
	for _, socket := range sockets() {
		if _, err := os.Stat(socket); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		cli, err := connect(ctx, "unix://"+socket)
		if err == nil {
			return cli, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = &UnavailableError{Reason: "there is no socket of one (" + sockets()[0] +
			"): install Docker, or set DOCKER_HOST to where it listens"}
	}
	return nil, first
}

// sockets is where testcontainers looks for engines: the system's, then the
// user's own.
func sockets() []string {
	list := []string{"/var/run/docker.sock"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		list = append(list, filepath.Join(dir, "docker.sock"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		list = append(list, filepath.Join(home, ".docker", "run", "docker.sock"), filepath.Join(home, ".docker", "desktop", "docker.sock"))
	}
	return append(list, filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "docker.sock"))
}

// connect checks that the engine at host answers, is on this machine and new
// enough.
func connect(ctx context.Context, host string) (*client.Client, error) {
	if err := local(host); err != nil {
		return nil, err
	}
	cli, err := client.New(client.FromEnv, client.WithHost(host))
	if err != nil {
		return nil, &UnavailableError{Reason: fmt.Sprintf("%s: %v", host, err), Err: err}
	}
	bounded, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	ping, err := cli.Ping(bounded, client.PingOptions{})
	if ctx.Err() != nil {
		_ = cli.Close()
		return nil, fmt.Errorf("looking for a Docker engine: %w", context.Cause(ctx))
	}
	if err != nil {
		_ = cli.Close()
		return nil, unreachable(host, err)
	}
	if v := ping.APIVersion; v != "" && versions.LessThan(v, client.MinAPIVersion) {
		_ = cli.Close()
		return nil, &UnavailableError{Reason: fmt.Sprintf("the one at %s is too old: its API is %s, and it takes %s (%s) or newer",
			host, v, client.MinAPIVersion, oldest)}
	}
	return cli, nil
}

// bounded bounds one thing that an engine is asked.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("the Docker engine has not answered for %v", callTimeout))
}

// answered is err, or that the engine has not answered, where that is why.
func answered(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// local refuses an engine on another machine, whose ports would not be ours.
func local(host string) error {
	u, err := client.ParseHostURL(host)
	if err != nil {
		return &UnavailableError{Reason: fmt.Sprintf("DOCKER_HOST: %v", err), Err: err}
	}
	if u.Scheme == "unix" || u.Scheme == "npipe" {
		return nil
	}
	name, _, err := net.SplitHostPort(u.Host)
	if err != nil {
		name = u.Host
	}
	if ip := net.ParseIP(name); name == "localhost" || (ip != nil && ip.IsLoopback()) {
		return nil
	}
	return &UnavailableError{Reason: fmt.Sprintf("DOCKER_HOST=%s is another machine, and the servers must be on this one: unset it, or run lockcost there", host)}
}

func unreachable(host string, err error) error {
	reason := fmt.Sprintf("%s does not answer (%v): is it running, and is DOCKER_HOST right?", host, err)
	switch path, unix := strings.CutPrefix(host, "unix://"); {
	case strings.Contains(err.Error(), "permission denied"): // the client wraps no error of the system's here
		reason = fmt.Sprintf("%s is closed to you: be root or a member of its group (usermod -aG docker NAME, then log in again)", host)
	case unix && errors.Is(err, fs.ErrNotExist):
		reason = fmt.Sprintf("there is no socket %s: start Docker, or set DOCKER_HOST to where it listens", path)
	case client.IsErrConnectionFailed(err):
		reason = fmt.Sprintf("nobody listens on %s: start Docker, or set DOCKER_HOST to where it listens", host)
	case errors.Is(err, context.DeadlineExceeded):
		reason = fmt.Sprintf("%s has not answered for %v", host, pingTimeout)
	}
	return &UnavailableError{Reason: reason, Err: err}
}

// quiet keeps testcontainers from printing: what is told is ours to say.
var quiet = log.NewNoopLogger()

// testcontainer returns testcontainers' way to the engine that cli is of.
func testcontainer(cli *client.Client) (*testcontainers.DockerProvider, error) {
	p, err := testcontainers.ProviderDocker.GetProvider(testcontainers.WithLogger(quiet))
	if err != nil {
		return nil, fmt.Errorf("testcontainers: %w", err)
	}
	d, ok := p.(*testcontainers.DockerProvider)
	if !ok {
		return nil, fmt.Errorf("testcontainers: its provider is a %T", p)
	}
	own := d.Client()
	d.SetClient(cli) // the engine that was looked at, whatever its own settings say
	return d, own.Close()
}
