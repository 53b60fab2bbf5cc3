package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/envtest"
	"lockcost/env/link"
	"lockcost/env/process"
	"lockcost/env/reexec"
)

// driverIn makes this test binary a driver that starts a whole stack in that
// folder, puts it at a distance, prints what it has and then waits to be
// killed. With driverNetwork its network is one that can be broken instead,
// and with driverServices it has servers of the other kinds.
const (
	driverIn       = "PROCESS_TEST_DRIVER_IN"
	driverNetwork  = "PROCESS_TEST_DRIVER_NETWORK"
	driverServices = "PROCESS_TEST_DRIVER_SERVICES"
)

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
	ctx, spec := context.Background(), envtest.Everything
	spec.Network = os.Getenv(driverNetwork) != ""
	spec.Links = !spec.Network
	if os.Getenv(driverServices) != "" {
		spec = env.Spec{Replicas: 1, Independents: 1, Etcd: 3, ZooKeeper: 1, Ledger: true, Links: true}
	}
	s, err := process.Provider{Dir: dir}.Start(ctx, spec)
	if err != nil {
		return err
	}
	if spec.Network {
		return json.NewEncoder(os.Stdout).Encode(driven{s.Nodes, s.Network.Redis(env.Clients[0]).Via})
	}
	if err := s.Distance.Set(ctx, 5*time.Millisecond, 5*time.Millisecond, 0); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(driven{s.Nodes, s.Distance.Via()})
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
