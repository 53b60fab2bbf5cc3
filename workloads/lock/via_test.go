package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/link"
	"lockcost/workloads/lock"
)

// viaLinks puts a link in front of every Redis of the stack.
func viaLinks(t *testing.T, s *env.Stack) (via map[string]string, links map[string]*link.Link) {
	t.Helper()
	via, links = map[string]string{}, map[string]*link.Link{}
	for _, addr := range append(s.Redis.Replicas, s.Redis.Primary) {
		l, err := link.New(addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		via[addr], links[addr] = l.Addr(), l
	}
	return via, links
}

func TestClientGoesViaItsLink(t *testing.T) {
	s := start(t, env.Spec{Replicas: 1, Sentinels: 3})
	via, links := viaLinks(t, s.Stack)
	for name, config := range map[string]lock.Config{
		"direct":    {Primary: s.Redis.Primary},
		"Sentinels": {Sentinels: s.Redis.Sentinels, MasterName: s.Redis.MasterName},
	} {
		config.Via, config.PoolSize = via, 2
		client := open(t, config)
		passed := links[s.Redis.Primary].CutReply(1)
		locker := must(lock.NewSetNX(client, lock.FormCommand))(t)
		// The lost reply is found out about, by another connection.
		if _, err := locker.TryLock(t.Context(), prefix+name, time.Second); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !happened(passed) {
			t.Errorf("%s: the lock's reply did not pass the link", name)
		}
	}
}

func TestServerIsNamedAsAnnouncedThoughItGoesViaALink(t *testing.T) {
	s := start(t, env.Spec{})
	via, links := viaLinks(t, s.Stack)
	client := open(t, lock.Config{Primary: s.Redis.Primary, Via: via, PoolSize: 2})
	if err := links[s.Redis.Primary].Close(); err != nil {
		t.Fatal(err)
	}
	err := client.Fill(t.Context())
	if err == nil || !strings.Contains(err.Error(), "cannot connect to "+s.Redis.Primary) {
		t.Errorf("without its link: %v", err)
	}
}

func TestFailoverIsFollowedViaLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("a failover takes seconds")
	}
	s := start(t, env.Spec{Replicas: 2, Sentinels: 3, DownAfter: 500 * time.Millisecond})
	via, links := viaLinks(t, s.Stack)
	client := open(t, lock.Config{Sentinels: s.Redis.Sentinels, MasterName: s.Redis.MasterName, Via: via, PoolSize: 4})
	locker := must(lock.NewSetNX(client, lock.FormCommand))(t)
	var passed []<-chan struct{}
	for _, addr := range s.Redis.Replicas {
		passed = append(passed, links[addr].CutReply(1))
	}
	if err := s.Faults.Kill("primary"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		_, err := locker.TryLock(ctx, prefix+"failover", patience)
		if err == nil || errors.Is(err, lock.ErrHeld) {
			break
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !slices.ContainsFunc(passed, happened) {
		t.Error("the new primary was not reached by its link")
	}
}

// happened tells whether a link's cut did.
func happened(cut <-chan struct{}) bool {
	select {
	case <-cut:
		return true
	default:
		return false
	}
}
