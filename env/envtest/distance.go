package envtest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"lockcost/env"
)

// Linked is a stack that can be put at a distance, whose Sentinels look at
// their replicas often enough to repair one during a test.
var Linked = env.Spec{Replicas: 2, Sentinels: 3, Links: true, DownAfter: 2 * time.Second}

const far = 20 * time.Millisecond

func distances(t *testing.T, start Start) {
	s := start(t, Linked)
	t.Run("replicas", func(t *testing.T) { distantReplicas(t, s) })
	t.Run("clients", func(t *testing.T) { distantClients(t, s) })
	t.Run("around its link", func(t *testing.T) { aroundItsLink(t, s) })
	t.Run("closed", func(t *testing.T) { closedLinks(t, s) })
	t.Run("none asked for", func(t *testing.T) {
		if s := start(t, env.Spec{}); s.Distance != nil {
			t.Error("a stack that was asked for no links has a distance")
		}
	})
}

func distantReplicas(t *testing.T, s *env.Stack) {
	SetDistance(t, s, 0, 0)
	near := waits(t, s, 2)
	SetDistance(t, s, far, 0)
	if d := waits(t, s, 2); d < far || d < 2*near {
		t.Errorf("WAIT 2 takes %v at a round trip of %v, and %v at none", d, far, near)
	}
	if via := s.Distance.Via(); via != nil {
		t.Errorf("clients without a distance are to go via %v", via)
	}
	SetDistance(t, s, 0, 0)
	if d := waits(t, s, 2); d > far/2 {
		t.Errorf("WAIT 2 takes %v without a link again, and took %v before", d, near)
	}
}

// waits returns the median time that a write takes to be acknowledged by the
// primary, and by n replicas of it.
func waits(t *testing.T, s *env.Stack, n int) time.Duration {
	t.Helper()
	conn := Client(t, s, s.Redis.Primary).Conn()
	defer conn.Close()
	return Median(t, func() error {
		if err := conn.Incr(t.Context(), "key").Err(); err != nil {
			return err
		}
		got, err := conn.Wait(t.Context(), n, Patience).Result()
		if err == nil && got < int64(n) {
			err = fmt.Errorf("WAIT %d counted %d", n, got)
		}
		return err
	})
}

func distantClients(t *testing.T, s *env.Stack) {
	SetDistance(t, s, 0, far)
	via := s.Distance.Via()
	for _, addr := range append(s.Redis.Replicas, s.Redis.Primary) {
		direct, through := Client(t, s, addr), Client(t, s, via[addr])
		port, err := through.ConfigGet(t.Context(), "port").Result()
		if err != nil || net.JoinHostPort("127.0.0.1", port["port"]) != addr {
			t.Errorf("the way to %s leads to port %q: %v", addr, port, err)
		}
		near := Median(t, func() error { return direct.Ping(t.Context()).Err() })
		d := Median(t, func() error { return through.Ping(t.Context()).Err() })
		if d < far || d < 2*near {
			t.Errorf("a round trip to %s takes %v at a distance of %v, and %v at none", addr, d, far, near)
		}
	}
	if d := waits(t, s, 2); d > far/2 {
		t.Errorf("replicas without a distance take %v to acknowledge", d)
	}
}

func aroundItsLink(t *testing.T, s *env.Stack) {
	SetDistance(t, s, 5*time.Millisecond, 0)
	astray := Client(t, s, s.Redis.Replicas[1])
	host, port, err := net.SplitHostPort(s.Redis.Primary)
	if err != nil {
		t.Fatal(err)
	}
	if err := astray.ReplicaOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	err = s.Distance.Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "replica-2") || !strings.Contains(err.Error(), s.Redis.Primary) {
		t.Errorf("Check: %v", err)
	}
	SetDistance(t, s, 5*time.Millisecond, 0) // brings it back
	if err := s.Faults.Kill("replica-1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Distance.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "replica-1") {
		t.Errorf("a killed replica: %v", err)
	}
	if _, err := s.Faults.Restart(t.Context(), "replica-1"); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "a restarted replica comes back by its link", func() error { return s.Distance.Check(t.Context()) })
}

func closedLinks(t *testing.T, s *env.Stack) {
	SetDistance(t, s, 10*time.Millisecond, 10*time.Millisecond)
	via := s.Distance.Via()[s.Redis.Primary]
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Silent(via); err != nil {
		t.Errorf("a link outlives its stack: %v", err)
	}
	if err := s.Distance.Set(t.Context(), 0, time.Millisecond, 0); err == nil {
		t.Error("a closed stack was put at a distance")
	}
}

// SetDistance sets a distance and checks that it is there.
func SetDistance(t *testing.T, s *env.Stack, replica, client time.Duration) {
	t.Helper()
	if err := s.Distance.Set(t.Context(), replica, client, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	if err := s.Distance.Check(ctx); err != nil {
		t.Fatalf("right after Set: %v", err)
	}
}
