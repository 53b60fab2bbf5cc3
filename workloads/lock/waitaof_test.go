package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockcost/env/process/processtest"
	"lockcost/workloads/lock"
)

// forEachWithWaitAOF runs test on the servers that have WAITAOF.
func forEachWithWaitAOF(t *testing.T, test func(t *testing.T, v processtest.Version)) {
	forEachVersion(t, func(t *testing.T, v processtest.Version) {
		if v == processtest.Installed {
			addr := processtest.RedisOf(t, v)
			s := &server{raw: rawClient(t, addr)}
			if version := s.infoField(t, "redis_version"); !newer(t, version, 7, 2) {
				t.Logf("%s is %s, without WAITAOF", v.Name, version)
				return
			}
		}
		test(t, v)
	})
}

// aofPair is pair with append-only files, and the replica.
func aofPair(t *testing.T, v processtest.Version, fsync string) (s *server, replica *server) {
	t.Helper()
	settings := []string{"appendonly yes", "appendfsync " + fsync}
	s = pair(t, v, settings...)
	addr := must(replicaOf(t, s))(t)
	return s, &server{raw: rawClient(t, addr)}
}

// replicaOf is the address of the only replica.
func replicaOf(t *testing.T, s *server) (string, error) {
	t.Helper()
	fields := make(map[string]string)
	for field := range strings.SplitSeq(s.infoField(t, "slave0"), ",") {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	if fields["port"] == "" {
		return "", errors.New("no replica")
	}
	return fields["ip"] + ":" + fields["port"], nil
}

// stop stops the server's process until the test is over.
func (s *server) stop(t *testing.T) {
	t.Helper()
	pid := must(strconv.Atoi(s.infoField(t, "process_id")))(t)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
}

var allDisks = lock.WaitAOFOptions{Local: 1, Replicas: 1, Timeout: waitTimeout}

func TestWaitAOFWithTheRightsItNeeds(t *testing.T) {
	forEachWithWaitAOF(t, func(t *testing.T, v processtest.Version) {
		s, _ := aofPair(t, v, "always")
		needs := lock.Needs{Path: "waitaof", WaitAOF: true, Replicas: 1, Prefix: prefix}
		own := strings.ReplaceAll(rights, "+wait", "+waitaof")
		client := must(s.as(t, "~lockcost:* "+strings.ReplaceAll(own, "+incr ", "")))(t)
		if err := ready(t, client, needs); err != nil {
			t.Fatal(err)
		}
		locker, key := must(lock.NewWaitAOF(client, allDisks))(t), prefix+t.Name()
		lease := must(locker.TryLock(t.Context(), key, 30*time.Second))(t)
		if _, err := locker.TryLock(t.Context(), key, time.Second); err != lock.ErrHeld {
			t.Errorf("second lock: %v, want ErrHeld", err)
		}
		if err := lease.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		if n := must(s.raw.DBSize(t.Context()).Result())(t); n != 0 {
			t.Errorf("%d keys are left", n)
		}
		client = must(s.as(t, "~lockcost:* "+strings.ReplaceAll(own, "+waitaof", "")))(t)
		refused(t, ready(t, client, needs), "lacks the right to WAITAOF", "ACL SETUSER app +waitaof", s.Redis.Primary)
	})
}

func TestWaitAOFWithAReplicaStopped(t *testing.T) {
	forEachWithWaitAOF(t, func(t *testing.T, v processtest.Version) {
		s, replica := aofPair(t, v, "always")
		client := open(t, lock.Config{Primary: s.Redis.Primary, PoolSize: 2})
		replica.stop(t)
		options := lock.WaitAOFOptions{Local: 1, Replicas: 1, Timeout: 20 * time.Millisecond}
		locker, key := must(lock.NewWaitAOF(client, options))(t), prefix+t.Name()
		for range 3 {
			_, err := locker.TryLock(t.Context(), key, 30*time.Second)
			s.mustHaveBeenUndone(t, err, key)
			if err == nil || !strings.Contains(err.Error(), "1 of 1 primaries and 0 of 1 replicas") {
				t.Errorf("%v does not tell whose disk is missing", err)
			}
		}
		s.raw.Set(t.Context(), key, "another", 0)
		if _, err := locker.TryLock(t.Context(), key, time.Second); err != lock.ErrHeld {
			t.Errorf("got %v, want ErrHeld", err)
		}
		alone := must(lock.NewWaitAOF(client, lock.WaitAOFOptions{Local: 1, Timeout: waitTimeout}))(t)
		if _, err := alone.TryLock(t.Context(), key+"alone", time.Second); err != nil {
			t.Errorf("for the primary's disk alone: %v", err)
		}
	})
}

// With everysec WAITAOF waits for the next sync of the second, and so does
// every lock.
func TestWaitAOFWithEverysec(t *testing.T) {
	forEachWithWaitAOF(t, func(t *testing.T, v processtest.Version) {
		s, _ := aofPair(t, v, "everysec")
		client := open(t, lock.Config{Primary: s.Redis.Primary, PoolSize: 2})
		locker := must(lock.NewWaitAOF(client, allDisks))(t)
		var took []time.Duration
		for i := range 4 {
			began := time.Now()
			must(locker.TryLock(t.Context(), fmt.Sprint(prefix, i), 30*time.Second))(t)
			took = append(took, time.Since(began).Round(time.Millisecond))
		}
		t.Logf("appendfsync everysec: %v", took)
		hasty := must(lock.NewWaitAOF(client, lock.WaitAOFOptions{Local: 1, Timeout: time.Millisecond}))(t)
		unreplicated := 0
		for i := range 10 {
			key := fmt.Sprint(prefix, "hasty", i)
			if _, err := hasty.TryLock(t.Context(), key, 30*time.Second); errors.Is(err, lock.ErrUnreplicated) {
				unreplicated++
				if s.exists(t, key) {
					t.Error("key is there")
				}
			}
		}
		t.Logf("of 10 locks that waited 1ms %d were not on disk", unreplicated)
		// Valkey 8.1 is known to say that they are, see WaitAOF.
		if v.Name != "valkey-8" && unreplicated == 0 {
			t.Error("all were, with a sync each second")
		}
	})
}

func TestCheckRefusesAServerWithoutWaitAOF(t *testing.T) {
	needs := lock.Needs{Path: "waitaof", WaitAOF: true, Prefix: prefix}
	forEachVersion(t, func(t *testing.T, v processtest.Version) {
		addr := processtest.RedisOf(t, v)
		s := &server{raw: rawClient(t, addr)}
		client := open(t, lock.Config{Primary: addr, PoolSize: 1})
		err := lock.Check(t.Context(), client, needs)
		if version := s.infoField(t, "redis_version"); !newer(t, version, 7, 2) {
			refused(t, err, "WAITAOF needs Redis 7.2 or later", addr+" is "+version)
		} else {
			refused(t, err, "needs appendonly yes", addr)
		}
		if sent := s.infoField(t, "cmdstat_set"); sent != "" {
			t.Errorf("SET was sent before: %s", sent)
		}
	})
	forEachWithWaitAOF(t, func(t *testing.T, v processtest.Version) {
		addr := processtest.RedisOf(t, v, "appendonly yes", `rename-command WAITAOF ""`)
		client := open(t, lock.Config{Primary: addr, PoolSize: 1})
		refused(t, lock.Check(t.Context(), client, needs), "waitaof needs WAITAOF", addr, "renamed")
		addr = processtest.RedisOf(t, v, "appendonly yes")
		client = open(t, lock.Config{Primary: addr, PoolSize: 1})
		needs := needs
		needs.Replicas = 1
		refused(t, lock.Check(t.Context(), client, needs), "waitaof needs 1 replica online", addr+" has 0")
	})
}

// The file is switched off during a run: SET has been executed by then.
func TestRefusedWaitAOFIsUndone(t *testing.T) {
	forEachWithWaitAOF(t, func(t *testing.T, v processtest.Version) {
		addr := processtest.RedisOf(t, v)
		s := &server{raw: rawClient(t, addr)}
		client := open(t, lock.Config{Primary: addr, PoolSize: 1})
		locker, key := must(lock.NewWaitAOF(client, lock.WaitAOFOptions{Local: 1, Timeout: waitTimeout}))(t), prefix+t.Name()
		_, err := locker.TryLock(t.Context(), key, 30*time.Second)
		if kind := lock.Kind(err); kind != "redis-error" {
			t.Errorf("got %v (%s), want redis-error", err, kind)
		}
		if s.exists(t, key) {
			t.Error("key is there")
		}
	})
}

func TestWaitAOFsDeadlineLeavesNoLock(t *testing.T) {
	forEachWithWaitAOF(t, func(t *testing.T, v processtest.Version) {
		s, replica := aofPair(t, v, "always")
		client := open(t, lock.Config{Primary: s.Redis.Primary, PoolSize: 2})
		replica.stop(t)
		locker, key := must(lock.NewWaitAOF(client, allDisks))(t), prefix+t.Name()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err := locker.TryLock(ctx, key, 30*time.Second)
		if kind := lock.Kind(err); kind != "redis-timeout" {
			t.Errorf("got %v (%s), want redis-timeout", err, kind)
		}
		if s.exists(t, key) {
			t.Error("key is there")
		}
	})
}

func TestWaitAOFOptionsRefused(t *testing.T) {
	client := open(t, lock.Config{Primary: processtest.Redis(t), PoolSize: 1, ReadTimeout: time.Second})
	for name, options := range map[string]lock.WaitAOFOptions{
		"zero value":           {},
		"nobody's disk":        {Timeout: 10 * time.Millisecond},
		"two local disks":      {Local: 2, Timeout: 10 * time.Millisecond},
		"negative replicas":    {Local: 1, Replicas: -1, Timeout: 10 * time.Millisecond},
		"timeout is forever":   {Local: 1},
		"timeout becomes 0":    {Local: 1, Timeout: time.Millisecond - 1},
		"read timeout is less": {Local: 1, Timeout: time.Second},
	} {
		if _, err := lock.NewWaitAOF(client, options); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
