package failover

import (
	"context"
	"fmt"
	"time"
)

// killedAgain kills the promoted primary too.
func killedAgain(ctx context.Context, t *trial) error {
	if err := failedOver(ctx, t); err != nil {
		return err
	}
	again, second := t.now(), t.primary()
	if err := t.stack.Faults.Kill(t.nodeAt(second)); err != nil {
		return err
	}
	if err := t.promotionSince(ctx, again, second, t.downAfter+2*t.scenario.Needs.FailoverTimeout+failoverMost); err != nil {
		return err
	}
	t.fact("second_failover_ns", t.now()-again)
	return t.sleep(ctx, time.Second)
}

// nodeAt is the name of the node at an address.
func (t *trial) nodeAt(addr string) string {
	for _, n := range t.stack.Nodes {
		if n.Addr == addr {
			return n.Name
		}
	}
	return addr
}

func killReplicas(ctx context.Context, t *trial) error {
	for _, r := range t.replicas() {
		if err := t.stack.Faults.Kill(r); err != nil {
			return err
		}
	}
	return t.sleep(ctx, t.downAfter+time.Second) // until Sentinel knows
}

// nobodyPromoted waits for a promotion that is not to come, and keeps the
// reason that Sentinel gives.
func nobodyPromoted(ctx context.Context, t *trial) error {
	after := t.faultNS.Load()
	if e, ok := t.watch.await(ctx, after, t.downAfter+4*time.Second, t.switchedFrom(t.primary())); ok {
		t.setPrimary(t.reach(e.switchedTo()))
		t.reason(t.nodeAt(t.primary()) + " was promoted, although none was to be had")
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.reason("nobody was promoted: " + t.why(after))
	t.setPrimary("")
	return nil
}

// refusePromotion gives the replicas a priority with which Sentinel never
// promotes them. It learns that when it next asks, each 10 s.
func refusePromotion(ctx context.Context, t *trial) error {
	for _, r := range t.replicas() {
		if err := t.node(r).ConfigSet(ctx, "replica-priority", "0").Err(); err != nil {
			return fmt.Errorf("replica-priority of %s: %w", r, err)
		}
	}
	return t.until(ctx, 20*time.Second, func() error { return t.knownPriority(ctx) })
}

func knownToRefuse(ctx context.Context, t *trial) error {
	if err := t.knownPriority(ctx); err != nil {
		return void("%v", err)
	}
	return nil
}
