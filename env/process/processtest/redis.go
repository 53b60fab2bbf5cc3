package processtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// In the settings of Redis and Sentinel these stand for a free port each.
const (
	Port      = "{port}" // the one the server is to listen on
	OtherPort = "{other port}"
)

const (
	portAttempts = 5
	patience     = 30 * time.Second // nothing is judged by it
)

// Redis starts one Redis server with settings that no stack has, each a line
// of its configuration, and returns its address. It ends with the test, and
// where it is not installed that is told as Start tells it.
func Redis(t testing.TB, settings ...string) (addr string) {
	t.Helper()
	return RedisOf(t, Installed, settings...)
}

// Sentinel is Redis for a Sentinel.
func Sentinel(t testing.TB, settings ...string) (addr string) {
	t.Helper()
	return SentinelOf(t, Installed, settings...)
}

// RedisOf is Redis in a version of its own.
func RedisOf(t testing.TB, v Version, settings ...string) (addr string) {
	t.Helper()
	return bare(t, v, append([]string{`save ""`}, settings...))
}

// SentinelOf is Sentinel in a version of its own.
func SentinelOf(t testing.TB, v Version, settings ...string) (addr string) {
	t.Helper()
	return bare(t, v, settings, "--sentinel")
}

func bare(t testing.TB, v Version, settings []string, args ...string) string {
	t.Helper()
	program := v.find(t)
	var log string
	for range portAttempts { // a port may be taken until the server takes it
		s := &bareServer{port: freePort(t)}
		ports := strings.NewReplacer(Port, s.port, OtherPort, freePort(t))
		lines := append([]string{"port " + Port, "bind 127.0.0.1"}, settings...)
		if err := s.start(program, t.TempDir(), ports.Replace(strings.Join(lines, "\n")), args...); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.kill)
		if s.listens() {
			return loopback(s.port)
		}
		s.kill()
		log = s.log.String()
	}
	t.Fatalf("%s with %q does not listen:\n%s", v.Name, settings, log)
	return ""
}

// bareServer is one process.
type bareServer struct {
	port  string
	cmd   *exec.Cmd
	log   bytes.Buffer // to be read once it has ended
	ended chan struct{}
}

// start starts it in its own folder dir.
func (s *bareServer) start(program, dir, settings string, args ...string) error {
	file := filepath.Join(dir, "redis.conf")
	if err := os.WriteFile(file, []byte("dir "+dir+"\n"+settings+"\n"), 0o600); err != nil {
		return err
	}
	s.cmd = exec.Command(program, append([]string{file}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	s.ended = make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	return nil
}

// listens waits until the server listens, or has ended.
func (s *bareServer) listens() bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		select {
		case <-s.ended:
			return false
		case <-time.After(5 * time.Millisecond):
		}
		if c, err := net.Dial("tcp", loopback(s.port)); err == nil {
			_ = c.Close()
			return true
		}
	}
	return false
}

// kill is safe to call more than once.
func (s *bareServer) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func loopback(port string) string { return net.JoinHostPort("127.0.0.1", port) }
