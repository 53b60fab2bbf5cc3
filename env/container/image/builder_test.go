package image_test

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockcost/env/envtest"
)

type result struct {
	status         int
	stdout, stderr string
}

// build runs the script with tmp for TMPDIR.
func build(t *testing.T, tmp string, args ...string) result {
	t.Helper()
	return run(t, command(tmp, nil, args...))
}

func command(tmp string, env []string, args ...string) *exec.Cmd {
	c := exec.Command("./build", args...)
	c.Env = append(append(os.Environ(), "TMPDIR="+tmp), env...)
	return c
}

func run(t *testing.T, c *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); c.ProcessState == nil {
		t.Fatal(err)
	}
	return result{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// needBuilder needs what the script needs.
func needBuilder(t *testing.T) {
	t.Helper()
	needEngine(t)
	if os.Geteuid() != 0 {
		envtest.Lack(t, "an image is built by root alone")
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		envtest.Lack(t, "there is no debootstrap here")
	}
}

// testTag is a name that no image has; one that gets it is removed again.
func testTag(t *testing.T) string {
	tag := "localhost/lockcost-test-" + strings.ToLower(rand.Text()[:10]) + ":build"
	t.Cleanup(func() {
		if exec.Command("docker", "image", "inspect", tag).Run() == nil {
			docker(t, "image", "rm", tag)
		}
	})
	return tag
}

func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v; left in TMPDIR: %v", err, left)
	}
}

// processesIn returns the processes that work in dir or name it.
func processesIn(dir string) []string {
	var found []string
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range commands {
		line, _ := os.ReadFile(file)
		root, _ := os.Readlink(filepath.Join(filepath.Dir(file), "root"))
		if bytes.Contains(line, []byte(dir)) || strings.HasPrefix(root, dir) {
			found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// A trigger keeps what is written to it, and does something once when that
// contains at. It is no bytes.Buffer: that would be filled past Write.
type trigger struct {
	written bytes.Buffer
	at      string
	do      func()
}

func (w *trigger) String() string { return w.written.String() }

func (w *trigger) Write(p []byte) (int, error) {
	n, err := w.written.Write(p)
	if w.do != nil && strings.Contains(w.String(), w.at) {
		w.do()
		w.do = nil
	}
	return n, err
}
