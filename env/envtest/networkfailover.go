package envtest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"lockcost/env"
)

// A write that no replica has when the primary is killed is gone: the promise
// of a lock that is only on the primary.
func losesAWrite(t *testing.T, start Start) {
	s := start(t, Breakable)
	const key = "lost"
	known := announced(t, s, s.Redis.Sentinels[0])
	for _, replica := range []string{"replica-1", "replica-2"} {
		SetWay(t, s, replica, "primary", hole)
	}
	if n, err := acknowledged(t, s, key, 100*time.Millisecond); n != 0 || err != nil {
		t.Errorf("WAIT counts %d replicas in a hole: %v", n, err)
	}
	if !has(t, s, s.Redis.Primary, key) || has(t, s, s.Redis.Replicas[0], key) || has(t, s, s.Redis.Replicas[1], key) {
		t.Fatal("the primary is not the only one that has the key")
	}
	if err := s.Faults.Kill("primary"); err != nil {
		t.Fatal(err)
	}
	promoted := failedOver(t, s)
	if has(t, s, promoted, key) {
		t.Error("the promoted replica has a write that was held")
	}
	other := s.Redis.Replicas[0]
	if other == promoted {
		other = s.Redis.Replicas[1]
	}
	follows(t, s, other, promoted)
	if testing.Short() {
		return // a Sentinel takes its time with an old primary, 8 s at least
	}
	if err := s.Network.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Faults.Restart(t.Context(), "primary"); err != nil {
		t.Fatal(err)
	}
	follows(t, s, s.Redis.Primary, promoted)
	if has(t, s, promoted, key) || has(t, s, other, key) {
		t.Error("a write that was lost is back")
	}
	info, err := replication(t, s, promoted)
	if err != nil {
		t.Fatal(err)
	}
	for _, replica := range []string{info["slave0"], info["slave1"]} {
		if !announcedAs(replica, other) && !announcedAs(replica, known) {
			t.Errorf("the Sentinels will take %q for another server than %s and %s", replica, other, known)
		}
	}
}

// announcedAs tells whether a primary's line of INFO about a replica has that
// address.
func announcedAs(line, addr string) bool {
	host, port, _ := strings.Cut(addr, ":")
	return strings.HasPrefix(line, "ip="+host+",port="+port+",")
}

// failedOver waits until every Sentinel announces a replica as the primary,
// and returns the driver's way to it.
func failedOver(t *testing.T, s *env.Stack) (promoted string) {
	t.Helper()
	for _, sentinel := range s.Redis.Sentinels {
		Eventually(t, "a replica is promoted", func() error {
			promoted = announced(t, s, sentinel)
			if !slices.Contains(s.Redis.Replicas, promoted) {
				return fmt.Errorf("the primary is %s", promoted)
			}
			info, err := replication(t, s, promoted)
			if err == nil && info["role"] != "master" {
				err = fmt.Errorf("%s is a %s", promoted, info["role"])
			}
			return err
		})
	}
	return promoted
}

// follows waits until a server replicates another, by no link.
func follows(t *testing.T, s *env.Stack, replica, primary string) {
	t.Helper()
	Eventually(t, replica+" follows "+primary, func() error {
		info, err := replication(t, s, replica)
		if err != nil {
			return err
		}
		at := net.JoinHostPort(info["master_host"], info["master_port"])
		if info["role"] != "slave" || at != primary || info["master_link_status"] != "up" {
			return fmt.Errorf("it is a %s of %s with its link %s", info["role"], at, info["master_link_status"])
		}
		return nil
	})
}

// A primary that only the Sentinels do not reach loses its place, and does
// not know it.
func unreachedPrimary(t *testing.T, start Start) {
	s := start(t, Breakable)
	SetWay(t, s, env.Sentinels, "primary", hole)
	promoted := failedOver(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	first := Client(t, s, s.Network.Redis(env.Clients[0]).Via[s.Redis.Primary])
	if err := first.Set(ctx, "key", "of the old primary", 0).Err(); err != nil {
		t.Errorf("the old primary takes no writes: %v", err)
	}
	second := Client(t, s, s.Network.Redis(env.Clients[1]).Via[promoted])
	if err := second.Set(ctx, "key", "of the new primary", 0).Err(); err != nil {
		t.Errorf("the new primary takes no writes: %v", err)
	}
	if testing.Short() {
		return // a Sentinel takes its time with an old primary, 8 s at least
	}
	SetWay(t, s, env.Sentinels, "primary", whole)
	follows(t, s, s.Redis.Primary, promoted)
	if got, err := first.Get(ctx, "key").Result(); got != "of the new primary" || err != nil {
		t.Errorf("the old primary has %q: %v", got, err)
	}
}
