package container_test

import (
	"errors"
	"net"
	"net/http"
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
)

func TestUnusableEngine(t *testing.T) {
	absent := "unix://" + filepath.Join(t.TempDir(), "docker.sock")
	old := "unix://" + oldEngine(t)
	for host, want := range map[string]string{
		absent:                 "there is no socket",
		"tcp://127.0.0.1:1":    "nobody listens on tcp://127.0.0.1:1",
		"tcp://192.0.2.1:2375": "is another machine",
		"ssh://me@192.0.2.1":   "is another machine",
		"nonsense":             "unable to parse docker host",
		old:                    "is too old: its API is 1.24, and it takes 1.40 (Docker 19.03) or newer",
	} {
		t.Run(host, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", host)
			_, err := containertest.Provider().Start(t.Context(), env.Spec{})
			var unavailable *container.UnavailableError
			if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want an UnavailableError with %q", err, want)
			}
			if n, err := container.Clean(t.Context()); n != 0 || !errors.As(err, &unavailable) {
				t.Errorf("Clean: %d, %v", n, err)
			}
		})
	}
}

// oldEngine answers as an engine of 2016 does, as far as it is asked.
func oldEngine(t *testing.T) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lockcost-test-") // a test's own may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.24")
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return socket
}

func TestSocketWithoutPermission(t *testing.T) {
	if os.Geteuid() != 0 {
		envtest.Lack(t, "only root can become a user without rights")
	}
	dir, err := os.MkdirTemp("", "lockcost-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(socket, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), as+"="+nobody, "DOCKER_HOST=unix://"+socket)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "is closed to you: be root or a member of its group") {
		t.Errorf("without permission: %s (%v)", out, err)
	}
}

func TestMissingImage(t *testing.T) {
	docker(t)
	const image = "localhost:1/lockcost-test:missing"
	for name, c := range map[string]struct {
		without func(p *container.Provider)
		needs   env.Spec
		needsNo env.Spec
	}{
		"Redis":     {func(p *container.Provider) { p.RedisImage = image }, env.Spec{NoRedis: true, Independents: 1}, env.Spec{NoRedis: true, Etcd: 1}},
		"ledger":    {func(p *container.Provider) { p.LedgerImage = image }, small, env.Spec{}},
		"etcd":      {func(p *container.Provider) { p.EtcdImage = image }, small, env.Spec{}},
		"ZooKeeper": {func(p *container.Provider) { p.ZooKeeperImage = image }, small, env.Spec{}},
	} {
		t.Run(name, func(t *testing.T) {
			var steps []string
			p := containertest.Provider()
			p.Progress = func(s string) { steps = append(steps, s) }
			c.without(&p)
			_, err := p.Start(t.Context(), c.needs)
			var missing *container.MissingImageError
			if !errors.As(err, &missing) {
				t.Fatalf("got %v, want a MissingImageError", err)
			}
			if missing.Image != image {
				containertest.Need(t, err)
			}
			for _, want := range []string{image, "connection refused", "env/container/image/build", "--redis-image localhost/lockcost:bookworm"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: no %q", err, want)
				}
			}
			if len(steps) == 0 || steps[len(steps)-1] != "pulling "+image {
				t.Errorf("progress: %q", steps)
			}
			containertest.StartWith(t, p, c.needsNo) // which needs no such image
		})
	}
}

func TestRefusedSpec(t *testing.T) {
	p := containertest.Provider()
	p.Network = "overlay"
	if _, err := p.Start(t.Context(), env.Spec{}); err == nil || !strings.Contains(err.Error(), `no network "overlay": it is host or bridge`) {
		t.Errorf("an unknown network: %v", err)
	}
	for _, spec := range []env.Spec{{Links: true}, {Network: true}} {
		if _, err := bridged().Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "use network host") {
			t.Errorf("links over a bridge: %v", err)
		}
	}
}

func TestUnfitImage(t *testing.T) {
	cli := docker(t)
	here := containertest.Provider()
	redis := func(command string) string { return commit(t, cli, here.RedisImage, command) }
	zoo := func(command string) string { return commit(t, cli, here.ZooKeeperImage, command) }
	for name, c := range map[string]struct {
		spec  env.Spec
		image string
		want  []string
	}{
		"of another platform": {env.Spec{}, load(t, cli, "s390x"), []string{"is for linux/s390x, and this engine runs linux/", "docker pull --platform"}},
		"without a shell":     {env.Spec{}, load(t, cli, ""), []string{"primary", `"sh"`}},
		"without Redis":       {env.Spec{}, redis("rm -f /usr/bin/redis-server /usr/bin/valkey-server /usr/local/bin/redis-server /usr/local/bin/valkey-server"), []string{"primary: no redis-server or valkey-server in image"}},
		"without etcd":        {env.Spec{NoRedis: true, Etcd: 3}, load(t, cli, ""), []string{"etcd-", "no etcd in image"}},
		"without Java":        {env.Spec{NoRedis: true, ZooKeeper: 3}, zoo("rm -f $(command -v java)"), []string{"zookeeper-", "no java in image"}},
		"without ZooKeeper":   {env.Spec{NoRedis: true, ZooKeeper: 1}, zoo("rm -rf /usr/share/java/zookeeper.jar /apache-zookeeper-*"), []string{"zookeeper-1: no zookeeper.jar"}},
		"that gets never ready": {env.Spec{}, redis(`printf '#!/bin/sh\necho here I stay; exec sleep 600\n' >/usr/local/sbin/redis-server; chmod +x /usr/local/sbin/redis-server`),
			[]string{"primary", "not ready after 5s", "last lines of its log:\n  here I stay"}},
		"whose server ends": {env.Spec{}, redis(`printf '#!/bin/sh\necho no more; exit 3\n' >/usr/local/sbin/redis-server; chmod +x /usr/local/sbin/redis-server`),
			[]string{"primary", "ended with exit status 3", "no more"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := containertest.Provider()
			p.RedisImage, p.EtcdImage, p.ZooKeeperImage = c.image, c.image, c.image
			s, err := p.WithReady(5*time.Second).Start(t.Context(), c.spec)
			if err == nil {
				_ = s.Close()
			}
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v: no %q", err, want)
				}
			}
		})
	}
}
