package envtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"lockcost/env"

	"github.com/redis/go-redis/v9"
)

// Patience bounds what tests wait for. Nothing is judged by it.
const Patience = 30 * time.Second

// StartWith starts what spec asks for, and ends it when the test and its
// subtests are done. need is shown what went wrong first, and may skip.
func StartWith(t testing.TB, p env.Provider, spec env.Spec, need func(testing.TB, error)) *env.Stack {
	t.Helper()
	s, err := p.Start(t.Context(), spec)
	need(t, err)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Lack skips the test for what is not there; where CI is set it fails it.
func Lack(t testing.TB, what any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// Eventually waits until ok returns nil.
func Eventually(t testing.TB, what string, ok func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = ok(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// Median is the median time that f takes.
func Median(t testing.TB, f func() error) time.Duration {
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

// Client returns a client of one Redis of the stack.
func Client(t testing.TB, s *env.Stack, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(s.Redis.Options(addr))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Gone checks that a process has ended. 0 is none.
func Gone(pid int) error {
	if pid == 0 {
		return nil
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d: %v", pid, err)
	}
	return nil
}

// Silent checks that nobody listens.
func Silent(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil
	}
	return errors.Join(fmt.Errorf("%s is listened on", addr), conn.Close())
}
