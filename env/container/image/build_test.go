package image_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// An image is built from packages, tells what is in it, is not built again
// unless it must be, and nothing else is left.
func TestBuild(t *testing.T) {
	needBuilder(t)
	tag := testTag(t)
	tmp := t.TempDir()
	args := []string{"--tag", tag, "--packages", "redis-server"}
	got := build(t, tmp, args...)
	if got.status != 0 || got.stdout != tag+"\n" {
		t.Fatalf("status %d, stdout %q, stderr: %s", got.status, got.stdout, got.stderr)
	}
	id := docker(t, "image", "inspect", "--format", "{{.Id}}", tag)
	labels := docker(t, "image", "inspect", "--format", "{{json .Config.Labels}}", tag)
	for _, want := range []string{`"project":"lockcost"`, `"suite":"bookworm"`, `"packages":"redis-server `} {
		if !strings.Contains(labels, want) {
			t.Errorf("labels %s lack %s", labels, want)
		}
	}
	if out := docker(t, "run", "--rm", "--network=none", tag, "sh", "-c",
		"redis-server --version && id redis && ls -d /var/log/redis && ls /usr/sbin/policy-rc.d 2>&1 || :"); !strings.Contains(out, "Redis server v=") ||
		!strings.Contains(out, "/var/log/redis") || !strings.Contains(out, "policy-rc.d': No such file") {
		t.Errorf("in the image: %s", out)
	}
	empty(t, tmp)

	again := build(t, tmp, args...)
	if again.status != 0 || again.stdout != tag+"\n" || !strings.Contains(again.stderr, "is there already") {
		t.Errorf("once more: status %d, stdout %q, stderr: %s", again.status, again.stdout, again.stderr)
	}
	if now := docker(t, "image", "inspect", "--format", "{{.Id}}", tag); now != id {
		t.Errorf("image %s was built again, as %s", id, now)
	}
}

// Bad input and bad surroundings are named.
func TestBuildRefuses(t *testing.T) {
	needBuilder(t)
	noPrograms := t.TempDir()
	for name, c := range map[string]struct {
		args, env []string
		status    int
		says      string
	}{
		"unknown option":  {args: []string{"--frobnicate"}, status: 2, says: "--frobnicate is no option"},
		"no value":        {args: []string{"--suite"}, status: 2, says: "--suite needs a value"},
		"empty value":     {args: []string{"--tag="}, status: 2, says: "--tag needs a value"},
		"odd packages":    {args: []string{"--packages", "a b"}, status: 2, says: "commas between them"},
		"odd suite":       {args: []string{"--suite", "../x"}, status: 2, says: "is no suite"},
		"odd tag":         {args: []string{"--tag", "UPPER"}, status: 2, says: "is no name of an image"},
		"unknown suite":   {args: []string{"--suite", "nosuchsuite"}, status: 1, says: "nosuchsuite"},
		"unknown package": {args: []string{"--packages", "no-such-package"}, status: 1, says: "no-such-package"},
		"no mirror":       {args: []string{"--mirror", "http://127.0.0.1:1/"}, status: 1, says: "http://127.0.0.1:1/"},
		"no engine":       {env: []string{"DOCKER_HOST=unix:///nonexistent/docker.sock"}, status: 1, says: "the Docker engine does not answer"},
		"no docker":       {env: []string{"PATH=" + noPrograms}, status: 1, says: "there is no docker here"},
		"no TMPDIR":       {env: []string{"TMPDIR=/nonexistent"}, status: 1, says: "is TMPDIR right?"},
	} {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			got := run(t, command(tmp, c.env, append([]string{"--tag", testTag(t)}, c.args...)...))
			if got.status != c.status || got.stdout != "" || !strings.Contains(got.stderr, c.says) {
				t.Errorf("status %d (not %d), stdout %q, stderr: %s", got.status, c.status, got.stdout, got.stderr)
			}
			empty(t, tmp)
		})
	}
}

// A file system that cannot be built on is told to be the reason.
func TestBuildFileSystem(t *testing.T) {
	needBuilder(t)
	for options, says := range map[string]string{
		"nodev,size=1g": "set TMPDIR to a folder where they are allowed",
		"size=30m":      "No space left on device",
	} {
		t.Run(options, func(t *testing.T) {
			tmp := t.TempDir()
			if err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", tmp).Run(); err != nil {
				lack(t, fmt.Sprintf("a file system cannot be mounted here: %v", err))
			}
			t.Cleanup(func() {
				if out, err := exec.Command("umount", tmp).CombinedOutput(); err != nil {
					t.Errorf("umount: %v: %s", err, out)
				}
			})
			got := build(t, tmp, "--tag", testTag(t))
			if got.status != 1 || !strings.Contains(got.stderr, says) {
				t.Errorf("status %d, stderr: %s", got.status, got.stderr)
			}
			empty(t, tmp)
		})
	}
}

// Whenever it is told to stop, no file, mount or process is left.
func TestBuildStops(t *testing.T) {
	needBuilder(t)
	for at, s := range map[string]syscall.Signal{
		"Fetching":           syscall.SIGINT,
		"Unpacking required": syscall.SIGTERM,
		"Removing":           syscall.SIGHUP,
	} {
		t.Run(at, func(t *testing.T) {
			tmp := t.TempDir()
			if signal.Ignored(s) {
				s = syscall.SIGTERM // a shell cannot hear what was ignored when it began
			}
			c := command(tmp, nil, "--tag", testTag(t), "--packages", "redis-server")
			c.Stderr = &trigger{at: at, do: func() { c.Process.Signal(s) }}
			err := c.Run()
			if status := c.ProcessState.ExitCode(); status != 128+int(s) {
				t.Errorf("%v; stderr: %s", err, c.Stderr)
			}
			empty(t, tmp)
			mounts, err := os.ReadFile("/proc/mounts")
			if err != nil || bytes.Contains(mounts, []byte(tmp)) {
				t.Errorf("%v; mounts are left: %s", err, mounts)
			}
			if left := processesIn(tmp); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
}
