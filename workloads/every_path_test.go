package workloads

import (
	"errors"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/process/processtest"
	"lockcost/workloads/lock"
)

// Every path, with each of its options, opens on the stack that it says it
// needs and nothing else, takes its lock, is refused a second time where there
// is a lock, and goes on waiting for it where that is asked for.
func TestEveryPathOnTheStackThatItNeeds(t *testing.T) {
	settings := Settings{
		Prefix: "lockcost:every:", Workers: 4, OpTimeout: 10 * time.Second, TTL: 10 * time.Second,
		WaitReplicas: 1, WaitTimeout: 5 * time.Second, RedlockNodes: 3,
	}
	specs := []string{
		"null", "ping", "setnx", "setnx:form=script", "watchdog", "watchdog:notify=yes",
		"setnx-wait", "setnx-wait:round-trips=2", "setnx-wait:connection=shared",
		"redlock", "redlock:fail-fast=yes", "etcd", "zookeeper",
	}
	need := env.Spec{NoRedis: true}
	for _, spec := range specs {
		need = need.Merge(found(t, spec).Needs(settings))
	}
	stack := processtest.Start(t, need)
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) { takesItsLock(t, found(t, spec), stack, settings) })
	}
}

func found(t *testing.T, spec string) Path {
	t.Helper()
	p, err := Find(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func takesItsLock(t *testing.T, p Path, stack *env.Stack, s Settings) {
	if took, err := p.Opening(t.Context(), stack, s); err != nil || p.Service() != "" && took <= 0 {
		t.Fatalf("opening a session: %v %v", took, err)
	}
	session := opened(t, p, stack, s)
	if err := p.Check(t.Context(), session, s); err != nil {
		t.Fatal(err)
	}
	key := s.Prefix + p.Label()
	lease, err := session.Locker.TryLock(t.Context(), key, s.TTL)
	if err != nil {
		t.Fatal(err)
	}
	if p.Floor {
		return
	}
	if _, err := session.Locker.TryLock(t.Context(), key, s.TTL); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("a lock that is held: %v, want ErrHeld", err)
	}
	s.AcquireTimeout = 5 * time.Second
	patient := opened(t, p, stack, s)
	waited := make(chan error, 1)
	go func() {
		second, err := patient.Locker.TryLock(t.Context(), key, s.TTL)
		if err == nil {
			err = second.Unlock(t.Context())
		}
		waited <- err
	}()
	time.Sleep(50 * time.Millisecond) // so that it has begun to wait
	if err := lease.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("who waited for the lock did not get it: %v", err)
	}
}

func opened(t *testing.T, p Path, stack *env.Stack, s Settings) *Session {
	t.Helper()
	session, err := p.Open(t.Context(), stack, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}
