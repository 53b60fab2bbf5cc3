package process_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/process/processtest"

	"github.com/redis/go-redis/v9"
)

func TestPausedReplicaAcknowledgesNothing(t *testing.T) {
	s := processtest.Start(t, env.Spec{Replicas: 1})
	conn := client(t, s, s.Redis.Primary).Conn()
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
}

func TestKilledNodeComesBack(t *testing.T) {
	s := processtest.Start(t, env.Spec{Ledger: true})
	for _, n := range s.Nodes {
		if _, err := s.Faults.Restart(t.Context(), n.Name); err == nil {
			t.Errorf("%s was restarted while it ran", n.Name)
		}
		if err := s.Faults.Kill(n.Name); err != nil {
			t.Fatal(err)
		}
		if err := gone(n.PID); err != nil {
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
		if again.Addr != n.Addr || again.PID == n.PID || again.Name != n.Name {
			t.Errorf("%+v came back as %+v", n, again)
		}
	}
	if _, err := env.Inspect(t.Context(), s); err != nil {
		t.Errorf("after the restarts: %v", err)
	}
	if err := s.Faults.Kill("replica-9"); err == nil {
		t.Error("a node that there is not was killed")
	}
}

// A primary that is killed loses its place, and takes its new one when it
// comes back.
func TestSentinelsPromote(t *testing.T) {
	if testing.Short() {
		t.Skip("a Sentinel takes its time with an old primary, 8 s at least")
	}
	s := processtest.Start(t, everything)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Faults.Kill("primary"); err != nil {
		t.Fatal(err)
	}
	sentinel := redis.NewSentinelClient(s.Redis.SentinelOptions(s.Redis.Sentinels[0]))
	defer sentinel.Close()
	eventually(t, "a replica is promoted", func() error {
		at, err := sentinel.GetMasterAddrByName(ctx, s.Redis.MasterName).Result()
		if err == nil && at[0]+":"+at[1] == s.Redis.Primary {
			err = errors.New("the primary is still " + s.Redis.Primary)
		}
		return err
	})
	if _, err := s.Faults.Restart(ctx, "primary"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the old primary follows the new one", func() error {
		text, err := client(t, s, s.Redis.Primary).Info(ctx, "replication").Result()
		if err != nil {
			return err
		}
		if info := env.ParseInfo(text); info["role"] != "slave" || info["master_link_status"] != "up" {
			return fmt.Errorf("it is a %s with its link %s", info["role"], info["master_link_status"])
		}
		return nil
	})
}
