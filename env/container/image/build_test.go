package image_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockcost/env/envtest"
)

// An image tells what is in it, has that, and is not built again unless it
// must be.
func TestBuild(t *testing.T) {
	needBuilder(t)
	id, err := exec.Command("docker", "image", "inspect", "--format", "{{.Id}}", localImage).Output()
	if err != nil {
		envtest.Lack(t, "there is no image "+localImage+": run ./build")
	}
	labels := docker(t, "image", "inspect", "--format", "{{json .Config.Labels}}", localImage)
	for _, want := range []string{`"project":"lockcost"`, `"suite":"bookworm"`, "redis-server ", "mariadb-server-core ", "libzookeeper-java ", ", etcd 3."} {
		if !strings.Contains(labels, want) {
			t.Errorf("labels %s lack %s", labels, want)
		}
	}
	inside := docker(t, "run", "--rm", "--network=none", localImage, "sh", "-c",
		"redis-server --version && mariadbd --version && id redis && etcd --version && java -version 2>&1 &&"+
			"ls /usr/share/java/zookeeper.jar && ls /usr/sbin/policy-rc.d 2>&1 || :")
	for _, want := range []string{"Redis server v=", "MariaDB", "(redis)", "etcd Version: 3.", "OpenJDK", "zookeeper.jar\n", "policy-rc.d': No such file"} {
		if !strings.Contains(inside, want) {
			t.Errorf("%q is not in: %s", want, inside)
		}
	}
	again := build(t, t.TempDir())
	if again.status != 0 || again.stdout != localImage+"\n" || !strings.Contains(again.stderr, "is there already") {
		t.Errorf("once more: status %d, stdout %q, stderr: %s", again.status, again.stdout, again.stderr)
	}
	if now, _ := exec.Command("docker", "image", "inspect", "--format", "{{.Id}}", localImage).Output(); !bytes.Equal(now, id) {
		t.Errorf("image %s was built again, as %s", id, now)
	}
}

// An image of an earlier version of the script, or of go.mod, is built anew,
// and anybody else's is left alone.
func TestBuildFindsOutWhatIsLacking(t *testing.T) {
	needBuilder(t)
	for labels, lacks := range map[string]string{
		`project=lockcost packages="redis-server 5:7.0.15-1, etcd 3.0.0"`: "without mariadb-server-core libzookeeper-java default-jre-headless etcd 3.",
		`project=another packages="redis-server 5:7.0.15-1"`:              "",
		`maintainer=somebody`: "",
	} {
		tag := testTag(t)
		c := exec.Command("docker", "import", "--change", "LABEL "+labels, "-", tag)
		c.Stdin = bytes.NewReader(make([]byte, 1024)) // an archive of nothing
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("docker import: %v: %s", err, out)
		}
		got := build(t, t.TempDir(), "--tag", tag, "--mirror", "http://127.0.0.1:1/")
		kept := strings.Contains(got.stderr, "is there already")
		if kept != (lacks == "") || kept != (got.status == 0) || !strings.Contains(got.stderr, lacks) {
			t.Errorf("an image of %s: status %d, stderr: %s", labels, got.status, got.stderr)
		}
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

func TestBuildWithoutGo(t *testing.T) {
	needBuilder(t)
	var folders []string
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(folder, "go")); err != nil {
			folders = append(folders, folder)
		}
	}
	path := "PATH=" + strings.Join(folders, string(filepath.ListSeparator))
	has := exec.Command("sh", "-c", "command -v docker && command -v debootstrap")
	has.Env = []string{path}
	if has.Run() != nil {
		t.Skip("go is in one folder with docker or debootstrap")
	}
	tmp := t.TempDir()
	got := run(t, command(tmp, []string{path, "XDG_CACHE_HOME=" + t.TempDir()}, "--tag", testTag(t)))
	if got.status != 1 || !strings.Contains(got.stderr, "there is no go here") {
		t.Errorf("status %d, stderr: %s", got.status, got.stderr)
	}
	empty(t, tmp)
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
				envtest.Lack(t, fmt.Sprintf("a file system cannot be mounted here: %v", err))
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

// Told to stop while packages are being installed, it leaves no file, mount or
// process.
func TestBuildStops(t *testing.T) {
	needBuilder(t)
	tmp := t.TempDir()
	c := command(tmp, nil, "--tag", testTag(t), "--packages", "redis-server")
	c.Stderr = &trigger{at: "Unpacking required", do: func() { c.Process.Signal(syscall.SIGTERM) }}
	err := c.Run()
	if status := c.ProcessState.ExitCode(); status != 128+int(syscall.SIGTERM) {
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
}
