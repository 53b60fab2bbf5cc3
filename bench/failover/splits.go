package failover

import (
	"context"
	"time"

	"lockcost/env"
	"lockcost/results"
)

// splits are the scenarios with two primaries at once. The first client stays
// with the old one.
func splits() []Scenario {
	partition := Scenario{
		Name:    "partition",
		Summary: "the primary and the first client are cut off from all others, later the cut heals",
		Needs:   Needs{Replicas: 2, Network: true, Apart: true, Stays: true},
		Inject:  cutOff, Observe: healed, Healthy: agreedOn,
	}
	guarded := partition
	guarded.Variant, guarded.Needs.MinReplicas = "min-replicas", true
	return []Scenario{
		{
			Name:    "zombie-primary",
			Summary: "the primary is stopped, a replica promoted, the old primary goes on; the first client stays with it",
			Needs:   Needs{Replicas: 2, Stays: true},
			Inject: func(_ context.Context, t *trial) error {
				t.fault()
				return t.stack.Faults.Pause(primaryNode)
			},
			Observe: resurrected, Healthy: agreedOn,
		},
		partition, guarded,
	}
}

// afterwards is how long an old primary is watched at most. Sentinel was seen
// to demote one some 10 s after it came back.
const afterwards = 20 * time.Second

// resurrected lets the stopped primary go on once another is promoted.
func resurrected(ctx context.Context, t *trial) error {
	if err := failedOver(ctx, t); err != nil {
		return err
	}
	if err := t.stack.Faults.Resume(primaryNode); err != nil {
		return err
	}
	return demoted(ctx, t)
}

// demoted waits until the old primary accepts no more writes, and keeps how
// long that took and how many it did accept.
func demoted(ctx context.Context, t *trial) error {
	back := t.now()
	c := t.redis(t.addr(primaryNode))
	accepted, last := int64(0), back
	err := t.until(ctx, afterwards, func() error {
		role, err := t.info(ctx, t.addr(primaryNode), "replication")
		if err != nil {
			return err // it closes connections as it is demoted
		}
		if role["role"] != "master" {
			return nil
		}
		if c.Set(ctx, t.settings.Prefix+"old", 1, 0).Err() == nil {
			accepted++
			last = t.now()
		}
		return errStill
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.fact("probes_the_old_primary_accepted", accepted)
	if err != nil {
		t.reason("the old primary was still one " + afterwards.String() + " after it came back")
		return nil
	}
	t.moment(results.OldStopped, last-back)
	return t.sleep(ctx, 300*time.Millisecond)
}

// cutOff cuts the primary and the first client off from all others.
func cutOff(ctx context.Context, t *trial) error {
	if err := t.stack.Network.Check(ctx); err != nil {
		return void("%v", err)
	}
	t.fault()
	for _, from := range append(t.replicas(), env.Sentinels, env.Clients[1]) {
		if err := t.stack.Network.Set(ctx, env.Way{From: from, To: primaryNode}, blackHole); err != nil {
			return err
		}
	}
	return nil
}

// healed heals the cut a while after another was promoted.
func healed(ctx context.Context, t *trial) error {
	if err := failedOver(ctx, t); err != nil {
		return err
	}
	if err := t.sleep(ctx, time.Second); err != nil {
		return err
	}
	if err := t.stack.Network.Mend(ctx); err != nil {
		return err
	}
	return demoted(ctx, t)
}
