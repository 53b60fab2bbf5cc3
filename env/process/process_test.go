package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/envtest"
	"lockcost/env/process"
	"lockcost/env/process/processtest"
)

func TestProvider(t *testing.T) { envtest.Run(t, processtest.Start, true) }

func TestServices(t *testing.T) { envtest.RunServices(t, processtest.Start, true) }

func TestCloseRemovesTheFolder(t *testing.T) {
	dir := public(t)
	if err := processtest.StartWith(t, process.Provider{Dir: dir}, envtest.Everything).Close(); err != nil {
		t.Fatal(err)
	}
	if err := empty(dir); err != nil {
		t.Error(err)
	}
}

func TestKilledDriverTakesItsServersAlong(t *testing.T) {
	// The links of the distance, and of the network, where the primary has
	// an address more: the Sentinels'.
	t.Run("distance", func(t *testing.T) { killedDriver(t, 3) })
	t.Run("network", func(t *testing.T) { killedDriver(t, 4, driverNetwork+"=1") })
	t.Run("services", func(t *testing.T) { killedDriver(t, 2+3+1+1, driverServices+"=1") })
}

// killedDriver kills a driver that has a way to so many addresses.
func killedDriver(t *testing.T, ways int, environ ...string) {
	dir := public(t)
	processtest.StartWith(t, process.Provider{Dir: dir}, env.Spec{Ledger: true, Etcd: 1, ZooKeeper: 1}).Close() // installed?
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	driver := exec.Command(exe)
	driver.Env = append(append(os.Environ(), driverIn+"="+dir), environ...)
	driver.Stderr = os.Stderr
	out, err := driver.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.Start(); err != nil {
		t.Fatal(err)
	}
	var its driven
	decodeErr := json.NewDecoder(out).Decode(&its)
	if err := driver.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = driver.Wait()
	if decodeErr != nil || len(its.Nodes) < 7 || len(its.Via) != ways {
		t.Fatalf("the driver told %v, %v", its, decodeErr)
	}
	for _, n := range its.Nodes {
		envtest.Eventually(t, n.Name+" outlives its driver", func() error { return envtest.Gone(n.PID) })
	}
	for _, addr := range its.Via {
		envtest.Eventually(t, "a link outlives its driver", func() error { return envtest.Silent(addr) })
	}
	if empty(dir) == nil {
		t.Fatal("the killed driver has left no folder to sweep")
	}
	if err := processtest.StartWith(t, process.Provider{Dir: dir}, env.Spec{}).Close(); err != nil {
		t.Fatal(err)
	}
	if err := empty(dir); err != nil {
		t.Errorf("the next start has not swept: %v", err)
	}
}

func TestDistanceAndNetworkAreNotForOneStack(t *testing.T) {
	dir := t.TempDir()
	s, err := process.Provider{Dir: dir}.Start(t.Context(), env.Spec{Replicas: 1, Links: true, Network: true})
	if err == nil {
		_ = s.Close()
		t.Fatal("started")
	}
	if !strings.Contains(err.Error(), "only one of them") {
		t.Error(err)
	}
	if err := empty(dir); err != nil {
		t.Error(err)
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	dir := public(t)
	p := process.Provider{Dir: dir}
	began := time.Now()
	processtest.StartWith(t, p, envtest.Everything).Close()
	whole := time.Since(began)
	for i := range 8 {
		ctx, cancel := context.WithTimeoutCause(t.Context(), whole*time.Duration(i)/10, context.Canceled)
		s, err := p.Start(ctx, envtest.Everything)
		cancel()
		if err == nil {
			err = s.Close() // it was faster this time
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d/10: %v", i, err)
		}
		if left := workingIn(dir); len(left) > 0 {
			t.Errorf("cancelled after %d/10: processes %v are left (%v)", i, left, err)
		}
		if err := empty(dir); err != nil {
			t.Errorf("cancelled after %d/10: %v", i, err)
		}
	}
}

func TestServerThatEndsIsNamedWithItsLog(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho cannot open the moon >&2\nexit 3\n"
	if err := os.WriteFile(dir+"/redis-server", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	_, err := process.Provider{}.Start(t.Context(), env.Spec{})
	if err == nil {
		t.Fatal("started")
	}
	for _, want := range []string{"primary", "exit status 3", "cannot open the moon"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

// A server that ends while others are waited for is named, and not one that
// waits for it.
func TestServerThatEndsDuringTheStartIsNamed(t *testing.T) {
	real, err := exec.LookPath("redis-server")
	if err != nil {
		processtest.Need(t, &process.MissingError{Program: "redis-server", Package: "redis-server"})
	}
	bin, dir := t.TempDir(), public(t)
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in */replica-1/*) exec sleep 60 ;; esac\nexec %s \"$@\"\n", real)
	if err := os.WriteFile(bin+"/redis-server", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	go func() {
		for t.Context().Err() == nil {
			if waits, _ := filepath.Glob(dir + "/*/replica-1.log"); len(waits) > 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		for _, pid := range workingIn(dir) {
			if cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); strings.HasSuffix(cwd, "/primary") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}()
	_, err = process.Provider{Dir: dir}.Start(t.Context(), env.Spec{Replicas: 1})
	if err == nil || !strings.Contains(err.Error(), "primary") || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the primary was killed while the replica was waited for: %v", err)
	}
}
