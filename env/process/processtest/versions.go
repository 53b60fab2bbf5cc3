package processtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Version is a server that speaks Redis.
type Version struct {
	Name    string // redis, or the folder that make test-deps unpacks it into
	program string
}

// Installed is the redis-server that the system has.
var Installed = Version{Name: "redis", program: "redis-server"}

// Versions are the servers that what talks to Redis is tried on. Those which
// are not there are told when they are started: make test-deps brings them.
func Versions() []Version {
	return []Version{Installed, {"valkey-8", "valkey-server"}, {"redis-8", "redis-server"}}
}

// Program is the path of the server's program. Where it is missing the test is
// skipped, or fails where CI is set.
func (v Version) Program(t testing.TB) string {
	t.Helper()
	return v.find(t)
}

// find returns the path of the program. Where it is missing the test is
// skipped, or fails where CI is set.
func (v Version) find(t testing.TB) string {
	t.Helper()
	program := v.program
	if v != Installed {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		program = filepath.Join(cache, "lockcost", "servers", v.Name, "bin", v.program)
	}
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") != "":
		t.Fatalf("%s is missing: make test-deps (%v)", v.Name, err)
	}
	t.Skipf("%s is missing: make test-deps (%v)", v.Name, err)
	return ""
}
