package lock_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/workloads/lock"
)

// stall is a relay to a server, of which one connection can be made silent
// while the others go on: the one that asks next.
type stall struct {
	net.Listener
	armed   atomic.Bool
	stalled chan struct{} // closed once one is silent
}

func newStall(t *testing.T, target string) *stall {
	t.Helper()
	s := &stall{Listener: must(net.Listen("tcp", "127.0.0.1:0"))(t), stalled: make(chan struct{})}
	var mu sync.Mutex
	var open []net.Conn
	t.Cleanup(func() {
		s.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			c.Close()
		}
	})
	go func() {
		for {
			client, err := s.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, server)
			mu.Unlock()
			go func() { _, _ = io.Copy(client, server); client.Close() }()
			go s.requests(server, client)
		}
	}()
	return s
}

func (s *stall) requests(server, client net.Conn) {
	defer server.Close()
	buffer := make([]byte, 4096)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if s.armed.CompareAndSwap(true, false) {
			close(s.stalled)
			_, _ = io.Copy(io.Discard, client)
			return
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// One renewal gets no answer; those of the other locks go on meanwhile.
func TestRenewalsDoNotWaitForEachOther(t *testing.T) {
	s := start(t, env.Spec{})
	relay := newStall(t, s.Redis.Primary)
	client := s.open(t, lock.Config{Primary: relay.Addr().String(), PoolSize: 8, ReadTimeout: patience})
	dog := lock.NewWatchdog(client, lock.WatchdogOptions{Notify: true})
	t.Cleanup(func() { dog.Close() })
	var leases []lock.Lease
	for i := range 20 {
		leases = append(leases, must(dog.TryLock(t.Context(), fmt.Sprint(prefix, i), 3*time.Second))(t))
	}
	relay.armed.Store(true)
	<-relay.stalled
	before := dog.Renewals()
	eventually(t, "the others have been renewed", func() bool { return dog.Renewals().Count >= before.Count+19 })
	told := 0
	for _, lease := range leases {
		if context.Cause(lease.Alive()) != nil {
			told++
		}
	}
	if told > 1 {
		t.Errorf("%d holders were told, of one whose renewal had no answer", told)
	}
}
