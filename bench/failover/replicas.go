package failover

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/results"
)

// lossLasts is longer than a primary takes to miss a replica: it was seen to
// refuse writes 2.0 to 2.7 s after one fell silent.
const lossLasts = 3200 * time.Millisecond

// loss is a way to lose a replica, and to get it back.
type loss struct {
	name, summary string
	network       bool
	lose, restore func(ctx context.Context, t *trial) error
}

func losses() []loss {
	return []loss{
		{"killed", "the replica is killed", false,
			func(_ context.Context, t *trial) error { return t.stack.Faults.Kill(replicaOne) },
			func(ctx context.Context, t *trial) error {
				_, err := t.stack.Faults.Restart(ctx, replicaOne)
				return err
			}},
		{"stopped", "the replica is stopped", false,
			func(_ context.Context, t *trial) error { return t.stack.Faults.Pause(replicaOne) },
			func(_ context.Context, t *trial) error { return t.stack.Faults.Resume(replicaOne) }},
		{"black-holed", "the replica's replication is black-holed", true,
			func(ctx context.Context, t *trial) error { return t.setReplicaWays(ctx, blackHole, replicaOne) },
			func(ctx context.Context, t *trial) error { return t.stack.Network.Mend(ctx) }},
	}
}

// replicaLosses are the scenarios in which the only replica is lost, comes
// back, and is then promoted.
func replicaLosses() []Scenario {
	var all []Scenario
	for _, l := range losses() {
		s := Scenario{
			Name: "replica-loss", Variant: l.name,
			Summary: l.summary + " and comes back; then the primary is killed",
			Needs:   Needs{Replicas: 1, Network: l.network},
			Inject: func(ctx context.Context, t *trial) error {
				t.fault()
				return l.lose(ctx, t)
			},
			Observe: func(ctx context.Context, t *trial) error { return regained(ctx, t, l.restore) },
			Healthy: agreedOn,
		}
		guarded := s
		guarded.Variant, guarded.Needs.MinReplicas = l.name+"+min-replicas", true
		all = append(all, s, guarded)
	}
	return all
}

// regained gets the replica back after a while, and then has it promoted.
func regained(ctx context.Context, t *trial, restore func(context.Context, *trial) error) error {
	if err := t.sleep(ctx, lossLasts); err != nil {
		return err
	}
	back := t.now()
	if err := restore(ctx, t); err != nil {
		return err
	}
	// A primary counts a replica as online that it has not heard of for a
	// minute: what counts is that it has what is written now.
	if err := t.until(ctx, 2*patience, func() error { return t.caughtUp(ctx, replicaOne) }); err != nil {
		return void("the replica did not come back: %v", err)
	}
	t.moment(results.Rejoined, t.now()-back)
	t.duringEnd.Store(t.now())
	if err := t.knownUp(ctx); err != nil {
		return void("%v", err)
	}
	return promotedAlone(ctx, t)
}

// caughtUp checks that a replica has what was written just before.
func (t *trial) caughtUp(ctx context.Context, replica string) error {
	if err := t.mark(ctx); err != nil {
		return err
	}
	there, err := t.marked(ctx, replica)
	if err == nil && !there {
		err = fmt.Errorf("%s does not have what was written just before", replica)
	}
	return err
}

// promotedAlone kills the primary, and keeps what the promoted node grants
// without a replica of its own.
func promotedAlone(ctx context.Context, t *trial) error {
	if err := t.kill(primaryNode); err != nil {
		return err
	}
	if err := t.promotionSince(ctx, t.crashNS.Load(), t.primary(), t.downAfter+failoverMost); err != nil {
		return err
	}
	t.promotedNS.Store(t.now())
	return t.sleep(ctx, max(t.second+holdMargin-time.Duration(t.now()-t.crashNS.Load()), time.Second))
}

var errStill = errors.New("still so")

// replicaStates is what each Sentinel knows of the replicas.
func (t *trial) replicaStates(ctx context.Context, check func(replica map[string]string) error) error {
	for _, addr := range t.stack.Redis.Sentinels {
		c := redis.NewSentinelClient(t.stack.Redis.SentinelOptions(addr))
		replicas, err := c.Replicas(ctx, t.stack.Redis.MasterName).Result()
		_ = c.Close()
		if err != nil {
			return fmt.Errorf("the Sentinel on %s: %w", addr, err)
		}
		if known, all := len(replicas), len(t.stack.Redis.Replicas); known != all {
			return fmt.Errorf("the Sentinel on %s knows %d of %d replicas", addr, known, all)
		}
		for _, r := range replicas {
			if err := check(r); err != nil {
				return fmt.Errorf("the Sentinel on %s: %w", addr, err)
			}
		}
	}
	return nil
}

// knownUp waits until every Sentinel holds the replicas to be up.
func (t *trial) knownUp(ctx context.Context) error {
	return t.until(ctx, 2*patience, func() error {
		return t.replicaStates(ctx, func(r map[string]string) error {
			if r["flags"] != "slave" {
				return fmt.Errorf("it holds replica %s to be %q", r["name"], r["flags"])
			}
			return nil
		})
	})
}

// knownPriority checks that every Sentinel knows the replicas' priority 0.
func (t *trial) knownPriority(ctx context.Context) error {
	return t.replicaStates(ctx, func(r map[string]string) error {
		if r["slave-priority"] != "0" {
			return fmt.Errorf("it knows replica %s with priority %s", r["name"], r["slave-priority"])
		}
		return nil
	})
}

// operations are the scenarios that an operator makes.
func operations() []Scenario {
	return []Scenario{
		{
			Name: "manual", Timed: true,
			Summary: "SENTINEL FAILOVER under load",
			Needs:   Needs{Replicas: 1, Hold: failoverMargin},
			Inject:  orderFailover, Observe: movedOver, Healthy: agreedOn,
		},
		{
			Name: "replica-rejoin", Timed: true,
			Summary: "one of two replicas comes back, and copies all of a primary of 64 MiB under load",
			Needs:   Needs{Replicas: 2, Dataset: 64 << 20, Hold: time.Second},
			Prepare: func(ctx context.Context, t *trial) error {
				if err := t.stack.Faults.Kill(replicaOne); err != nil {
					return err
				}
				return t.sleep(ctx, 300*time.Millisecond)
			},
			Inject: rejoin, Observe: rejoined, Healthy: agreedOn,
		},
	}
}

func orderFailover(ctx context.Context, t *trial) error {
	addr := t.stack.Redis.Sentinels[0]
	c := redis.NewSentinelClient(t.stack.Redis.SentinelOptions(addr))
	defer c.Close()
	t.fault()
	if err := c.Failover(ctx, t.stack.Redis.MasterName).Err(); err != nil {
		return fmt.Errorf("SENTINEL FAILOVER on %s: %w", addr, err)
	}
	return nil
}

// movedOver waits until clients have been told, and until the second client
// has asked for what was locked then: until then the old primary grants locks
// that the new one does not know.
func movedOver(ctx context.Context, t *trial) error {
	t.probe(t.ctx, t.replicas()...)
	if err := t.findLost(ctx, failoverMost); err != nil {
		return err
	}
	if err := t.promotion(ctx, t.addr(primaryNode), failoverMost); err != nil {
		return err
	}
	if err := t.addLost(ctx, t.now()); err != nil {
		return err
	}
	return t.sleep(ctx, t.second+holdMargin-50*time.Millisecond)
}

func rejoin(ctx context.Context, t *trial) error {
	t.fault()
	_, err := t.stack.Faults.Restart(ctx, replicaOne)
	return err
}

// rejoined waits until the replica has copied all, and keeps what that took.
func rejoined(ctx context.Context, t *trial) error {
	if err := t.replicasOnline(ctx, 2, 60*time.Second); err != nil {
		return void("the replica did not come back: %v", err)
	}
	at := t.now()
	t.duringEnd.Store(at)
	t.moment(results.Rejoined, at-t.faultNS.Load())
	info, err := t.info(ctx, t.addr(primaryNode), "stats")
	if err != nil {
		return err
	}
	us, err := strconv.ParseInt(info["latest_fork_usec"], 10, 64)
	if err == nil {
		t.fact("fork_ns", us*1000)
	}
	if n, err := strconv.ParseInt(info["sync_full"], 10, 64); err == nil && n < 3 {
		return void("the replica did not need a full copy: %d were made in all", n)
	}
	return t.sleep(ctx, time.Second)
}
