package envtest

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"lockcost/env"

	"github.com/redis/go-redis/v9"
)

// Patience bounds what tests wait for. Nothing is judged by it.
const Patience = 30 * time.Second

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
