package supervisor

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/reexec"

	"github.com/redis/go-redis/v9"
)

func TestDetachedStackOutlivesItsStarter(t *testing.T) {
	need(t)
	p := newPlace(t)
	var s State
	c, err := reexec.Start(t.Context(), reexec.Options{
		Part: "starter", Config: config{Options: p.options(everything, true), Home: p.path},
	}, &s)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the starter", func() error { return gone(c.PID) })

	found, err := p.Find(t.Context())
	if err != nil || found.PID != s.PID || !found.Ready || len(found.Servers) != 6 {
		t.Fatalf("found %+v, %v", found, err)
	}
	status := found.Check(t.Context())
	if status.Down() != 0 {
		t.Errorf("%d servers do not answer: %+v", status.Down(), status.Checks)
	}
	client := redis.NewClient(&redis.Options{Addr: export(status, "LOCKCOST_REDIS")})
	defer client.Close()
	if ok, err := client.SetNX(t.Context(), "key", "value", 0).Result(); err != nil || !ok {
		t.Errorf("a client at the exported address: %v, %v", ok, err)
	}
	ended, err := p.Down(t.Context())
	if err != nil || ended.PID != s.PID || ended.Killed {
		t.Errorf("ended %+v, %v", ended, err)
	}
	p.nothingLeft(t, s)
	if _, err := p.Down(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("ended what is no more: %v", err)
	}
}

func TestDeadServerIsNamed(t *testing.T) {
	p := newPlace(t)
	r := p.mustUp(t, everything, true)
	for i, name := range map[int]string{1: "replica-1", 3: "sentinel-2", 5: "ledger"} {
		if r.Servers[i].Name != name {
			t.Fatalf("server %d is %s", i, r.Servers[i].Name)
		}
		mustKill(t, r.Servers[i].PID)
	}
	for i, c := range r.Check(t.Context()).Checks {
		if (c.Err != nil) != (i%2 == 1) {
			t.Errorf("%s: %v", c.Name, c.Err)
		}
	}
	if _, err := p.Down(t.Context()); err != nil {
		t.Error(err)
	}
	p.nothingLeft(t, r.State)
}

// Servers beside the replicated Redis are exported by themselves, and a Redis
// among them is no replica, nor a second primary.
func TestServicesAreExported(t *testing.T) {
	p := newPlace(t)
	r := p.mustUp(t, env.Spec{Replicas: 1, Sentinels: 1, Independents: 2, Etcd: 1, ZooKeeper: 1}, true)
	status := r.Check(t.Context())
	if status.Down() > 0 {
		t.Errorf("%+v", status.Checks)
	}
	at := map[string]string{}
	for _, v := range r.Servers {
		at[v.Name] = v.Address
	}
	for name, want := range map[string]string{
		"LOCKCOST_REDIS": at["primary"], "LOCKCOST_REPLICAS": at["replica-1"],
		"LOCKCOST_REDLOCK": at["independent-1"] + "," + at["independent-2"],
		"LOCKCOST_ETCD":    at["etcd-1"], "LOCKCOST_ZOOKEEPER": at["zookeeper-1"],
	} {
		if got := export(status, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for i, v := range r.Servers {
		if name, _, _ := strings.Cut(v.Name, "-"); name == "etcd" || name == "zookeeper" {
			mustKill(t, v.PID)
			eventually(t, v.Name+" is missed", func() error {
				if r.Check(t.Context()).Checks[i].Err == nil {
					return errors.New("it answers")
				}
				return nil
			})
		}
	}
	if _, err := p.Down(t.Context()); err != nil {
		t.Error(err)
	}
	p.nothingLeft(t, r.State)
}

func TestExportsFollowAFailover(t *testing.T) {
	p := newPlace(t)
	r := p.mustUp(t, env.Spec{Replicas: 1, Sentinels: 3, DownAfter: everything.DownAfter}, true)
	before := r.Check(t.Context())
	mustKill(t, r.Servers[0].PID)
	eventually(t, "failover", func() error {
		now := r.Check(t.Context())
		if export(now, "LOCKCOST_REDIS") != export(before, "LOCKCOST_REPLICAS") {
			return errors.New("the exports still name the dead primary")
		}
		return nil
	})
}

func TestOfTwoPrimariesTheSentinelsIsExported(t *testing.T) {
	p := newPlace(t)
	r := p.mustUp(t, env.Spec{Replicas: 1, Sentinels: 3}, true)
	before := r.Check(t.Context())
	replica := redis.NewClient(&redis.Options{Addr: export(before, "LOCKCOST_REPLICAS")})
	defer replica.Close()
	if err := replica.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	now := r.Check(t.Context())
	if at := export(now, "LOCKCOST_REDIS"); at != export(before, "LOCKCOST_REDIS") {
		t.Errorf("%s is exported as the primary", at)
	}
	if c := now.Checks[1]; c.Name != "replica-1" || c.Err == nil || !strings.Contains(c.Err.Error(), export(before, "LOCKCOST_REDIS")) {
		t.Errorf("%s: %v", c.Name, c.Err)
	}
}

func TestReplicasAtADistance(t *testing.T) {
	need(t)
	p := newPlace(t)
	o := p.options(env.Spec{Replicas: 2}, true)
	o.ReplicaRTT = 20 * time.Millisecond
	r, err := p.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	status := r.Check(t.Context())
	if status.Down() > 0 || status.ReplicaRTT != o.ReplicaRTT {
		t.Errorf("%+v", status)
	}
	conn := redis.NewClient(&redis.Options{Addr: export(status, "LOCKCOST_REDIS")}).Conn()
	defer conn.Close()
	if err := conn.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	n, err := conn.Wait(t.Context(), 2, patience).Result()
	if took := time.Since(began); err != nil || n != 2 || took < o.ReplicaRTT/2 {
		t.Errorf("%d replicas acknowledged within %v: %v", n, took, err)
	}
	if _, err := p.Down(t.Context()); err != nil {
		t.Error(err)
	}
	p.nothingLeft(t, r.State)

	o.ReplicaRTT = time.Nanosecond
	if _, err := p.Up(t.Context(), o); err == nil || !strings.Contains(err.Error(), "1ns") {
		t.Errorf("a round trip that no link can have: %v", err)
	}
	p.nothingLeft(t, State{})
}

func TestOneStackAUser(t *testing.T) {
	need(t)
	p := newPlace(t)
	const rivals = 4
	won, errs := make([]*Running, rivals), make([]error, rivals)
	var wg sync.WaitGroup
	for i := range rivals {
		wg.Go(func() { won[i], errs[i] = p.Up(context.Background(), p.options(env.Spec{}, true)) })
	}
	wg.Wait()
	var winner *Running
	for i, err := range errs {
		switch {
		case err == nil && winner == nil:
			winner = won[i]
		case !errors.Is(err, ErrRunning):
			t.Errorf("rival %d: %v", i, err)
		}
	}
	if winner == nil {
		t.Fatal("nobody has won")
	}
	_, err := p.Up(t.Context(), p.options(env.Spec{}, false))
	if !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), "lockcost env down") {
		t.Errorf("a second stack: %v", err)
	}
	if winner.Check(t.Context()).Down() != 0 {
		t.Error("the winner does not answer any more")
	}
	if _, err := p.Down(t.Context()); err != nil {
		t.Error(err)
	}
	p.nothingLeft(t, winner.State)
}

func TestKilledSupervisorLeavesNothing(t *testing.T) {
	p := newPlace(t)
	for name, look := range map[string]func() error{
		"find": func() error { _, err := p.Find(t.Context()); return err },
		"down": func() error { _, err := p.Down(t.Context()); return err },
		"up": func() error {
			r, err := p.Up(t.Context(), p.options(env.Spec{}, false))
			if err != nil || r.Cleared == nil {
				t.Fatalf("started anew: %+v, %v", r, err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := r.Wait(ended); err != nil {
				t.Error(err)
			}
			return r.Cleared
		},
	} {
		r := p.mustUp(t, everything, true)
		mustKill(t, r.PID)
		err := look()
		var stale *StaleError
		if !errors.As(err, &stale) || stale.PID != r.PID || !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
		p.nothingLeft(t, r.State)
	}
}

func TestForegroundEnds(t *testing.T) {
	p := newPlace(t)
	for name, c := range map[string]struct {
		end   func(r *Running, cancel func())
		stale bool
	}{
		"by its context": {func(_ *Running, cancel func()) { cancel() }, false},
		"by down":        {func(*Running, func()) { _, _ = p.Down(context.Background()) }, false},
		"by a kill":      {func(r *Running, _ func()) { mustKill(t, r.PID) }, true},
	} {
		r := p.mustUp(t, env.Spec{Replicas: 1}, false)
		if s, err := p.Find(t.Context()); err != nil || s.PID != r.PID {
			t.Errorf("%s: it does not count as running: %v, %v", name, s, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go c.end(r, cancel)
		err := r.Wait(ctx)
		var stale *StaleError
		if errors.As(err, &stale) != c.stale || !c.stale && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p.nothingLeft(t, r.State)
		cancel()
	}
}

func TestFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	p := newPlace(t)
	for _, detached := range []bool{true, false} {
		o := p.options(env.Spec{}, detached)
		o.Dir = filepath.Join(p.dir, "nowhere")
		if _, err := p.Up(t.Context(), o); err == nil || !strings.Contains(err.Error(), o.Dir) {
			t.Errorf("detached %v: %v", detached, err)
		}
		o = p.options(env.Spec{Replicas: 1000}, detached)
		if _, err := p.Up(t.Context(), o); err == nil || !strings.Contains(err.Error(), "1000") {
			t.Errorf("detached %v: %v", detached, err)
		}
		p.nothingLeft(t, State{})
	}
}

func TestInterruptedStartLeavesNothing(t *testing.T) {
	need(t)
	p := newPlace(t)
	for _, detached := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		go p.whenStarting(cancel)
		_, err := p.Up(ctx, p.options(everything, detached))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("detached %v: %v", detached, err)
		}
		p.nothingLeft(t, State{})
	}
}

func TestDownWhileStarting(t *testing.T) {
	need(t)
	p := newPlace(t)
	ended := make(chan error, 1)
	go p.whenStarting(func() {
		_, err := p.Down(context.Background())
		ended <- err
	})
	if _, err := p.Up(t.Context(), p.options(everything, true)); err == nil || !strings.Contains(err.Error(), "ended before") {
		t.Errorf("the starter was told %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	p.nothingLeft(t, State{})
}

func export(s Status, name string) string {
	for _, e := range s.Exports() {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}
