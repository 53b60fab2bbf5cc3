package failover

import (
	"context"
	"fmt"
	"net"
	"time"

	"lockcost/env"
)

// hole is how long replication is held up before the primary is killed.
const hole = 400 * time.Millisecond

// crashes are the scenarios in which the primary is killed.
func crashes() []Scenario {
	unreplicated := Scenario{
		Name:    "crash-unreplicated",
		Summary: "replication is black-holed, locks are granted, the primary is killed",
		Needs:   Needs{Replicas: 1, Network: true},
		Prepare: holdReplicas, Precondition: nothingPassed, Inject: killPrimary,
		Observe: func(ctx context.Context, t *trial) error {
			if err := failedOver(ctx, t); err != nil {
				return err
			}
			return bringBack(ctx, t)
		},
		Healthy: agreedOn,
	}
	two := unreplicated
	two.Variant, two.Needs.Replicas, two.Observe = "two-replicas", 2, failedOver
	return []Scenario{
		unreplicated, two,
		{
			Name: steadyName, Timed: true,
			Summary: "the primary is killed under load, and nothing else is done",
			Needs:   Needs{Replicas: 1},
			Inject:  killPrimary, Observe: failedOver, Healthy: agreedOn,
		},
		{
			Name:    "crash-site",
			Summary: "the primary is lost with its way to the replica, 50 ms away there and back, and all that is on it",
			Needs:   Needs{Replicas: 1, Network: true, Rate: 100},
			Prepare: putAway, Inject: killSite, Observe: failedOver, Healthy: agreedOn,
		},
		{
			Name:    "crash-during-wait",
			Summary: "the replica has the lock but its acknowledgement is held up, and the primary is killed meanwhile",
			Needs:   Needs{Replicas: 1, Network: true, Rate: 100},
			Prepare: holdAcknowledgements, Precondition: unacknowledged, Inject: killPrimary,
			Observe: failedOver, Healthy: agreedOn,
		},
		{
			Name:    "wait-residual",
			Summary: "one of two replicas acknowledges; it is killed with the primary, the other is promoted, and it comes back",
			Needs:   Needs{Replicas: 2, Network: true},
			Prepare: holdFirstReplica, Precondition: secondReplicaAlone,
			Inject:  func(_ context.Context, t *trial) error { return t.kill(primaryNode, replicaTwo) },
			Observe: residual, Healthy: agreedOn,
		},
		{
			Name:    "restart-empty",
			Summary: "the primary is killed and comes back, empty but where it has an append-only file, before Sentinel holds it to be down",
			Needs:   Needs{Replicas: 1, DownAfter: 3 * time.Second, Hold: failoverMargin},
			Inject:  restartEmpty, Observe: restarted, Healthy: agreedOn,
		},
		{
			Name:    "twice",
			Summary: "the primary is killed, and so is the one promoted in its place",
			Needs:   Needs{Replicas: 2, FailoverTimeout: 3 * time.Second},
			Inject:  killPrimary, Observe: killedAgain, Healthy: agreedOn,
		},
		{
			Name: "no-candidate", Variant: "replicas-down",
			Summary: "both replicas are killed, and later the primary",
			Needs:   Needs{Replicas: 2},
			Prepare: killReplicas, Inject: killPrimary, Observe: nobodyPromoted,
		},
		{
			Name: "no-candidate", Variant: "priority-0",
			Summary: "the primary is killed, and its replica has priority 0",
			Needs:   Needs{Replicas: 1},
			Prepare: refusePromotion, Precondition: knownToRefuse, Inject: killPrimary, Observe: nobodyPromoted,
		},
	}
}

func killPrimary(ctx context.Context, t *trial) error {
	if t.rtt > 0 {
		if err := t.stack.Distance.Check(ctx); err != nil {
			return void("%v", err)
		}
	}
	return t.kill(primaryNode)
}

// agreedOn is how most scenarios must end: all Sentinels name one primary.
func agreedOn(ctx context.Context, t *trial) error { return t.agreed(ctx) }

// failoverMost is how much longer than down-after a failover may take: enough
// for a vote that failed to be held again, except where there are links, and
// failover-timeout is longer for them.
const failoverMost = 2*failoverTimeout + 5*time.Second

// failedOver waits for the promotion and, with the load going on, until the
// second client has asked for every order that was locked at the fault.
func failedOver(ctx context.Context, t *trial) error {
	if !t.knowsLost {
		t.probe(t.ctx, t.replicas()...)
		if err := t.findLost(ctx, t.downAfter+failoverMost); err != nil {
			return err
		}
	}
	if err := t.promotion(ctx, t.addr(primaryNode), t.downAfter+failoverMost); err != nil {
		return err
	}
	return t.sleep(ctx, max(t.second+holdMargin-50*time.Millisecond-t.sinceFault(), 300*time.Millisecond))
}

// residual has the killed replica follow the promoted one, as an operator
// would: without a replica nothing could be granted, neither twice nor once.
func residual(ctx context.Context, t *trial) error {
	t.probe(t.ctx, replicaOne)
	if err := t.findLost(ctx, t.downAfter+failoverMost); err != nil {
		return err
	}
	if _, err := t.stack.Faults.Restart(ctx, replicaTwo); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(t.addr(replicaOne))
	if err != nil {
		return err
	}
	if err := t.node(replicaTwo).ReplicaOf(ctx, host, port).Err(); err != nil {
		return fmt.Errorf("REPLICAOF on %s: %w", replicaTwo, err)
	}
	return failedOver(ctx, t)
}

// bringBack starts the old primary again, and waits until it is a replica of
// the new one. Sentinel makes it one some 10 s after it has seen it.
func bringBack(ctx context.Context, t *trial) error {
	if !t.path.Replicated() {
		return nil // it waits for nobody
	}
	back := t.now()
	if _, err := t.stack.Faults.Restart(ctx, primaryNode); err != nil {
		return err
	}
	if err := t.replicasOnline(ctx, 1, 30*time.Second); err != nil {
		return void("the old primary did not become a replica: %v", err)
	}
	t.fact("old_primary_is_replica_ns", t.now()-back)
	return t.sleep(ctx, 500*time.Millisecond)
}

// siteDelay is how far away the replica of crash-site is, one way.
const siteDelay = 25 * time.Millisecond

func putAway(ctx context.Context, t *trial) error {
	if err := t.setReplicaWays(ctx, env.WayState{Delay: siteDelay}, t.replicas()...); err != nil {
		return err
	}
	return t.sleep(ctx, hole)
}

// killSite loses what is under way to the replica, and the primary. Where its
// process alone dies, or its machine, what was sent still arrives.
func killSite(ctx context.Context, t *trial) error {
	if err := t.stack.Network.Check(ctx); err != nil {
		return void("%v", err)
	}
	t.fault()
	if err := t.setReplicaWays(ctx, env.WayState{Cut: true}, t.replicas()...); err != nil {
		return err
	}
	return t.kill(primaryNode)
}

func restartEmpty(ctx context.Context, t *trial) error {
	if err := t.kill(primaryNode); err != nil {
		return err
	}
	if _, err := t.stack.Faults.Restart(ctx, primaryNode); err != nil {
		return err
	}
	t.accepted(primaryNode)
	return t.findLost(ctx, patience)
}

// restarted voids the trial where the primary was away for too long.
func restarted(ctx context.Context, t *trial) error {
	if err := t.sleep(ctx, max(t.second+holdMargin-50*time.Millisecond-t.sinceFault(), 0)); err != nil {
		return err
	}
	if _, ok := t.watch.first(t.faultNS.Load(), objectivelyDown); ok {
		return void("the primary was away for so long that Sentinel held it to be down")
	}
	return nil
}
