package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/link"
	"lockcost/env/process"
	"lockcost/env/reexec"

	"github.com/redis/go-redis/v9"
)

// driverIn makes this test binary a driver that starts a whole stack in that
// folder, puts it at a distance, prints what it has and then waits to be
// killed.
const driverIn = "PROCESS_TEST_DRIVER_IN"

func TestMain(m *testing.M) {
	reexec.Main(link.Part())
	dir := os.Getenv(driverIn)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := drive(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// driven is what a driver has started.
type driven struct {
	Nodes []env.Node
	Via   map[string]string
}

func drive(dir string) error {
	ctx, spec := context.Background(), everything
	spec.Links = true
	s, err := process.Provider{Dir: dir}.Start(ctx, spec)
	if err != nil {
		return err
	}
	if err := s.Distance.Set(ctx, 5*time.Millisecond, 5*time.Millisecond, 0); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(driven{s.Nodes, s.Distance.Via()})
}

// everything is a stack with all kinds of servers.
var everything = env.Spec{Replicas: 2, Sentinels: 3, Ledger: true, DownAfter: 500 * time.Millisecond}

// patience bounds what tests wait for. Nothing is judged by it.
const patience = 30 * time.Second

// eventually waits until ok returns nil.
func eventually(t *testing.T, what string, ok func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = ok(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// median is the median time that f takes.
func median(t *testing.T, f func() error) time.Duration {
	t.Helper()
	var took []time.Duration
	for range 15 {
		began := time.Now()
		if err := f(); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// client returns a client of one Redis of the stack.
func client(t *testing.T, s *env.Stack, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(s.Redis.Options(addr))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// public returns a folder that servers which run as nobody can pass through,
// as a test's own temporary folder cannot always be.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lockcost-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// gone checks that a process has ended.
func gone(pid int) error {
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d: %v", pid, err)
	}
	return nil
}

// silent checks that nobody listens.
func silent(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil
	}
	return errors.Join(fmt.Errorf("%s is listened on", addr), conn.Close())
}

// empty checks that a folder is.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s holds %v", dir, entries)
	}
	return err
}

// workingIn lists the processes that run inside a folder. It knows of none
// where there is no /proc.
func workingIn(dir string) (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, l := range links {
		cwd, err := os.Readlink(l)
		if errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(cwd, dir+"/") {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(l, "/")[2])
		pids = append(pids, pid)
	}
	return pids
}
