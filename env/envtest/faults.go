package envtest

import (
	"errors"
	"testing"
	"time"

	"lockcost/env"
)

func pausedReplica(t *testing.T, start Start) {
	s := start(t, env.Spec{Replicas: 1})
	conn := Client(t, s, s.Redis.Primary).Conn()
	defer conn.Close()
	acknowledged := func(within time.Duration) int64 {
		t.Helper()
		if err := conn.Incr(t.Context(), "key").Err(); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Wait(t.Context(), 1, within).Result()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if err := s.Faults.Pause("replica-1"); err != nil {
		t.Fatal(err)
	}
	if n := acknowledged(100 * time.Millisecond); n != 0 {
		t.Errorf("a paused replica acknowledged a write")
	}
	if err := s.Faults.Resume("replica-1"); err != nil {
		t.Fatal(err)
	}
	if n := acknowledged(2 * time.Second); n != 1 {
		t.Errorf("a resumed replica acknowledged nothing")
	}
	if err := s.Faults.Pause("replica-1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Faults.Kill("replica-1"); err != nil {
		t.Errorf("a paused replica was not killed: %v", err)
	}
}

func killedNode(t *testing.T, start Start) {
	s := start(t, env.Spec{Sentinels: 1, Ledger: true})
	const written = "key"
	if err := Client(t, s, s.Redis.Primary).Set(t.Context(), written, "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for _, n := range s.Nodes {
		if _, err := s.Faults.Restart(t.Context(), n.Name); err == nil {
			t.Errorf("%s was restarted while it ran", n.Name)
		}
		if err := s.Faults.Kill(n.Name); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(Gone(n.PID), Silent(n.Addr)); err != nil {
			t.Errorf("%s was killed: %v", n.Name, err)
		}
		for what, err := range map[string]error{
			"paused": s.Faults.Pause(n.Name), "resumed": s.Faults.Resume(n.Name), "killed": s.Faults.Kill(n.Name),
		} {
			if err == nil {
				t.Errorf("%s was %s while it did not run", n.Name, what)
			}
		}
		again, err := s.Faults.Restart(t.Context(), n.Name)
		if err != nil {
			t.Fatal(err)
		}
		if again.Addr != n.Addr || again.PID == n.PID && n.PID != 0 || again.Name != n.Name {
			t.Errorf("%+v came back as %+v", n, again)
		}
	}
	if _, err := env.Inspect(t.Context(), s); err != nil {
		t.Errorf("after the restarts: %v", err)
	}
	// Nothing had been saved: the default asks for a change a minute at least.
	if n, err := Client(t, s, s.Redis.Primary).Exists(t.Context(), written).Result(); n != 0 || err != nil {
		t.Errorf("a primary that was killed came back with %d of its keys: %v", n, err)
	}
	if err := s.Faults.Kill("replica-9"); err == nil {
		t.Error("a node that there is not was killed")
	}
}
