package lock_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"lockcost/env"
	"lockcost/workloads/lock"
)

// What a lock costs is two round trips, of which the second has two requests,
// and two more where the key is new; one to release it.
func TestZooKeeperRequestsSent(t *testing.T) {
	s := startZooKeeper(t, env.Spec{NoRedis: true, Durability: env.Relaxed})
	client, locker := s.open(t, longSession)
	if err := client.Check(within(t)); err != nil { // which makes the root
		t.Fatal(err)
	}
	var lease lock.Lease
	take := func() (err error) { lease, err = locker.TryLock(within(t), t.Name(), 0); return err }
	release := func() error { return lease.Unlock(within(t)) }
	refused := func() error {
		if _, err := locker.TryLock(within(t), t.Name(), 0); err != lock.ErrHeld {
			t.Errorf("got %v, want ErrHeld", err)
		}
		return nil
	}
	for _, c := range []struct {
		what string
		want int
		do   func() error
	}{
		{"a lock of a new key", 5, take}, // create, container, create; children and exists
		{"a lock that is held", 4, refused},
		{"a release", 1, release},
		{"a lock of a known key", 3, take},
		{"its release", 1, release},
	} {
		// Pings and what confirms sessions is counted too, so that the least
		// of some counts is the cost of nothing, and of one it may be too many.
		idle := s.received(t)
		idle = s.received(t) - idle
		before := s.received(t)
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if sent := s.received(t) - before - idle; sent < c.want || sent > c.want+2 {
			t.Errorf("%s: %d requests, want %d", c.what, sent, c.want)
		}
	}
}

// received is how many packets the servers have had.
func (s *sessions) received(t *testing.T) (n int) {
	t.Helper()
	for _, at := range s.servers {
		for line := range strings.Lines(must(s.ZooKeeper.Ask(within(t), at, "srvr"))(t)) {
			if value, ok := strings.CutPrefix(line, "Received: "); ok {
				n += must(strconv.Atoi(strings.TrimSpace(value)))(t)
			}
		}
	}
	return n
}

// Who may not write below the root is told so.
func TestZooKeeperRights(t *testing.T) {
	s := startZooKeeper(t, env.Spec{NoRedis: true, Durability: env.Relaxed})
	raw := rawZooKeeper(t, s.servers)
	if err := raw.AddAuth("digest", []byte("owner:secret")); err != nil {
		t.Fatal(err)
	}
	must(raw.Create("/owned", nil, zk.FlagPersistent, zk.AuthACL(zk.PermAll)))(t)
	for _, c := range []struct{ scheme, auth, kind string }{
		{"", "", "zookeeper-noperm"},
		{"digest", "another:secret", "zookeeper-noperm"},
		{"digest", "owner:secret", ""},
	} {
		client, err := lock.OpenZooKeeper(within(t), lock.ZooKeeperConfig{
			Servers: s.servers, AuthScheme: c.scheme, Auth: c.auth, Root: "/owned/locks", SessionTimeout: longSession,
		})
		if err != nil {
			t.Errorf("%q: %v", c.auth, err)
			continue
		}
		err = client.Check(within(t))
		if lock.Kind(err) != c.kind || err != nil && !strings.Contains(err.Error(), "/owned/locks") {
			t.Errorf("%q: %v (%s), want %q", c.auth, err, lock.Kind(err), c.kind)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, root := range []string{"/", "locks", "/locks/"} {
		if _, err := lock.OpenZooKeeper(within(t), lock.ZooKeeperConfig{Servers: s.servers, Root: root}); err == nil {
			t.Errorf("root %q was accepted", root)
		}
	}
}
