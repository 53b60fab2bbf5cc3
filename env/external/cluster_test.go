package external_test

import (
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/external"
	"lockcost/env/process/processtest"
)

func TestClusterIsRefused(t *testing.T) {
	processtest.Start(t, env.Spec{}) // is Redis installed?
	at := nobody(t)
	_, port, _ := net.SplitHostPort(at)
	cmd := exec.Command("redis-server", "--port", port, "--cluster-port", nobodysPort(t), "--bind", "127.0.0.1",
		"--cluster-enabled", "yes", "--dir", t.TempDir(), "--save", "")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", at); err == nil {
			_ = c.Close()
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	refused(t, external.Provider{Redis: at}, env.Spec{}, at, "Redis Cluster")
}

func nobodysPort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(nobody(t))
	if err != nil {
		t.Fatal(err)
	}
	return port
}
