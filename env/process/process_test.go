package process_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/placement"
	"lockcost/env/process"
	"lockcost/env/process/processtest"

	_ "github.com/go-sql-driver/mysql"
)

func TestStackIsReady(t *testing.T) {
	s := processtest.Start(t, everything)
	ctx := t.Context()
	if len(s.Nodes) != 7 || len(s.Redis.Replicas) != 2 || len(s.Redis.Sentinels) != 3 {
		t.Errorf("nodes: %+v", s.Nodes)
	}
	conn := client(t, s, s.Redis.Primary).Conn()
	defer conn.Close()
	if err := conn.Set(ctx, "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Wait(ctx, 2, 2*time.Second).Result(); n != 2 || err != nil {
		t.Errorf("WAIT 2 right after the start: %d, %v", n, err)
	}
	db, err := sql.Open("mysql", s.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB"); err != nil {
		t.Errorf("the ledger's user: %v", err)
	}
	for _, n := range s.Nodes {
		used, err := env.CPUTime(n.PID)
		if (err != nil || used <= 0) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("CPU time of %s: %v, %v", n.Name, used, err)
		}
	}
}

func TestLedgerHasNoOtherUser(t *testing.T) {
	s := processtest.Start(t, env.Spec{Ledger: true})
	_, addr, _ := strings.Cut(s.Ledger, "@")
	for _, user := range []string{"root", "lockcost", "nobody", "mariadb.sys"} {
		db, err := sql.Open("mysql", user+"@"+addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Ping(); err == nil || !strings.Contains(err.Error(), "denied") {
			t.Errorf("%s without a password: %v", user, err)
		}
		_ = db.Close()
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	dir := public(t)
	s := processtest.StartWith(t, process.Provider{Dir: dir}, everything)
	if err := s.Faults.Pause("replica-2"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range s.Nodes {
		if err := gone(n.PID); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
	if err := empty(dir); err != nil {
		t.Error(err)
	}
	if _, err := s.Faults.Restart(t.Context(), "primary"); err == nil {
		t.Error("a closed stack restarted a server")
	}
}

func TestTwoStacksAtOnce(t *testing.T) {
	const n = 2
	stacks, errs := make([]*env.Stack, n), make([]error, n)
	done := make(chan int)
	for i := range n {
		go func() {
			stacks[i], errs[i] = process.Provider{}.Start(t.Context(), everything)
			done <- i
		}()
	}
	addrs := map[string]bool{}
	for range n {
		i := <-done
		processtest.Need(t, errs[i])
		if errs[i] != nil {
			t.Error(errs[i])
			continue
		}
		defer stacks[i].Close()
		for _, node := range stacks[i].Nodes {
			addrs[node.Addr] = true
		}
	}
	if !t.Failed() && len(addrs) != 7*n {
		t.Errorf("%d stacks have %d addresses", n, len(addrs))
	}
}

func TestKilledDriverTakesItsServersAlong(t *testing.T) {
	dir := public(t)
	processtest.StartWith(t, process.Provider{Dir: dir}, env.Spec{Ledger: true}).Close() // installed?
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	driver := exec.Command(exe)
	driver.Env = append(os.Environ(), driverIn+"="+dir)
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
	if decodeErr != nil || len(its.Nodes) != 7 || len(its.Via) != 3 {
		t.Fatalf("the driver told %v, %v", its, decodeErr)
	}
	for _, n := range its.Nodes {
		eventually(t, n.Name+" outlives its driver", func() error { return gone(n.PID) })
	}
	for _, addr := range its.Via {
		eventually(t, "a link outlives its driver", func() error { return silent(addr) })
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

func TestCancelledStartLeavesNothing(t *testing.T) {
	dir := public(t)
	p := process.Provider{Dir: dir}
	began := time.Now()
	processtest.StartWith(t, p, everything).Close()
	whole := time.Since(began)
	for i := range 8 {
		ctx, cancel := context.WithTimeoutCause(t.Context(), whole*time.Duration(i)/10, context.Canceled)
		s, err := p.Start(ctx, everything)
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

func TestServersHaveTheCPUsAskedFor(t *testing.T) {
	cpus, err := placement.Allowed()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	pin := cpus[len(cpus)-1:]
	spec := everything
	spec.Pin = pin
	s := processtest.Start(t, spec)
	if !slices.Equal(s.Pinned, pin) {
		t.Errorf("pinned to %v, asked for %v", s.Pinned, pin)
	}
	for _, n := range s.Nodes {
		if on, err := placement.Of(n.PID); err != nil || !slices.Equal(on, pin) {
			t.Errorf("%s may run on %v (%v), asked for %v", n.Name, on, err, pin)
		}
	}
	if now, _ := placement.Allowed(); !slices.Equal(now, cpus) {
		t.Errorf("the driver was on %v and is on %v", cpus, now)
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
