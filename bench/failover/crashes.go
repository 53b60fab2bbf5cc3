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
			if err := failedOverInTime(ctx, t); err != nil {
				return err
			}
			return bringBack(ctx, t)
		},
		Healthy: agreedOn,
	}
	two := unreplicated
	two.Variant, two.Needs.Replicas, two.Observe = "two-replicas", 2, failedOverInTime
	return []Scenario{
		unreplicated, two,
		{
			Name: steadyName, Timed: true,
			Summary: "the primary is killed under load, and nothing else is done",
			Needs:   Needs{Replicas: 1},
			Inject:  killPrimary, Observe: failedOver, Healthy: agreedOn,
		},
		{
			Name:    "crash-host",
			Summary: "the primary is killed, and with it what is on its way to the replica, 50 ms away there and back",
			Needs:   Needs{Replicas: 1, Network: true, Rate: 200},
			Prepare: putAway, Inject: killHost, Observe: failedOver, Healthy: agreedOn,
		},
		{
			Name:    "crash-during-wait",
			Summary: "the replica has the lock but its acknowledgement is held up, and the primary is killed meanwhile",
			Needs:   Needs{Replicas: 1, Network: true, Rate: 200},
			Prepare: holdAcknowledgements, Precondition: unacknowledged, Inject: killPrimary,
			Observe: failedOverInTime, Healthy: agreedOn,
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
			Summary: "the primary is killed and comes back empty, before Sentinel holds it to be down",
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

func killPrimary(_ context.Context, t *trial) error { return t.kill(primaryNode) }

// agreedOn is how most scenarios must end: all Sentinels name one primary.
func agreedOn(ctx context.Context, t *trial) error { return t.agreed(ctx) }

// failoverMost is how much longer than down-after a failover may take: enough
// for a vote that failed to be held again.
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
	return t.sleep(ctx, max(t.second+holdMargin-100*time.Millisecond-t.sinceFault(), 300*time.Millisecond))
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
	return failedOverInTime(ctx, t)
}

// failedOverInTime is failedOver for scenarios that show what they are to show
// only if the second client comes after the promotion.
func failedOverInTime(ctx context.Context, t *trial) error {
	if err := failedOver(ctx, t); err != nil {
		return err
	}
	told, _ := t.watch.first(t.faultNS.Load(), primarySwitched)
	if at := time.Duration(told.at - t.faultNS.Load()); at > t.second {
		return void("clients were told of the promotion only %v after the fault, and the second client had asked before", at.Round(time.Millisecond))
	}
	return nil
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

// setReplicaWays puts the ways from replicas to the primary into a state.
func (t *trial) setReplicaWays(ctx context.Context, s env.WayState, replicas ...string) error {
	for _, r := range replicas {
		if err := t.stack.Network.Set(ctx, env.Way{From: r, To: primaryNode}, s); err != nil {
			return err
		}
	}
	return nil
}

var blackHole = env.WayState{HoldRequests: true, HoldReplies: true}

// replicas names the replicas of the start.
func (t *trial) replicas() []string {
	var names []string
	for i := range t.stack.Redis.Replicas {
		names = append(names, fmt.Sprintf("replica-%d", i+1))
	}
	return names
}

// mark writes a key that tells whether what is written from now on passes.
func (t *trial) mark(ctx context.Context) error {
	if err := t.node(primaryNode).Set(ctx, t.marker(), 1, 0).Err(); err != nil {
		return fmt.Errorf("writing a marker to the primary: %w", err)
	}
	return nil
}

func (t *trial) marker() string { return t.settings.Prefix + "marker" }

// marked tells whether a node has the marker.
func (t *trial) marked(ctx context.Context, node string) (bool, error) {
	n, err := t.node(node).Exists(ctx, t.marker()).Result()
	if err != nil {
		return false, fmt.Errorf("looking for the marker on %s: %w", node, err)
	}
	return n == 1, nil
}

// holdReplicas black-holes replication for a while.
func holdReplicas(ctx context.Context, t *trial) error {
	if err := t.setReplicaWays(ctx, blackHole, t.replicas()...); err != nil {
		return err
	}
	if err := t.mark(ctx); err != nil {
		return err
	}
	return t.sleep(ctx, hole)
}

// nothingPassed checks that no replica has what was written in the black
// hole: replication was not led around its link.
func nothingPassed(ctx context.Context, t *trial) error {
	if err := t.stack.Network.Check(ctx); err != nil {
		return void("%v", err)
	}
	return t.absent(ctx, t.replicas()...)
}

// absent voids the trial where a node has the marker.
func (t *trial) absent(ctx context.Context, nodes ...string) error {
	for _, node := range nodes {
		there, err := t.marked(ctx, node)
		if err != nil {
			return err
		}
		if there {
			return void("%s had what was written while its replication was black-holed", node)
		}
	}
	return nil
}

// has voids the trial where a node lacks the marker.
func (t *trial) has(ctx context.Context, node string) error {
	there, err := t.marked(ctx, node)
	if err == nil && !there {
		return void("%s does not have what was written while its replication was to work", node)
	}
	return err
}

// holdAcknowledgements holds what the replicas send, for less than WAIT's
// timeout.
func holdAcknowledgements(ctx context.Context, t *trial) error {
	if err := t.setReplicaWays(ctx, env.WayState{HoldRequests: true}, t.replicas()...); err != nil {
		return err
	}
	if err := t.mark(ctx); err != nil {
		return err
	}
	return t.sleep(ctx, t.plan.WaitTimeout*6/10)
}

// unacknowledged checks that the replica has what was written, and that the
// primary does not know.
func unacknowledged(ctx context.Context, t *trial) error {
	if err := t.stack.Network.Check(ctx); err != nil {
		return void("%v", err)
	}
	conn := t.node(primaryNode).Conn()
	defer conn.Close()
	if err := conn.Set(ctx, t.marker(), 2, 0).Err(); err != nil {
		return err
	}
	n, err := conn.Wait(ctx, 1, 5*time.Millisecond).Result()
	switch {
	case err != nil:
		return err
	case n > 0:
		return void("%d replicas acknowledged a write although their acknowledgements were held up", n)
	}
	return t.has(ctx, replicaOne)
}

// holdFirstReplica black-holes the replication of the replica that is to be
// promoted.
func holdFirstReplica(ctx context.Context, t *trial) error {
	if err := t.setReplicaWays(ctx, blackHole, replicaOne); err != nil {
		return err
	}
	if err := t.mark(ctx); err != nil {
		return err
	}
	return t.sleep(ctx, hole)
}

func secondReplicaAlone(ctx context.Context, t *trial) error {
	if err := t.stack.Network.Check(ctx); err != nil {
		return void("%v", err)
	}
	if err := t.absent(ctx, replicaOne); err != nil {
		return err
	}
	return t.has(ctx, replicaTwo)
}

// hostDelay is how far away the replica of crash-host is, one way.
const hostDelay = 25 * time.Millisecond

func putAway(ctx context.Context, t *trial) error {
	if err := t.setReplicaWays(ctx, env.WayState{Delay: hostDelay}, t.replicas()...); err != nil {
		return err
	}
	return t.sleep(ctx, hole)
}

// killHost loses what is under way to the replica, and the primary.
func killHost(ctx context.Context, t *trial) error {
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
	if err := t.sleep(ctx, max(t.second+holdMargin-100*time.Millisecond-t.sinceFault(), 0)); err != nil {
		return err
	}
	if _, ok := t.watch.first(t.faultNS.Load(), objectivelyDown); ok {
		return void("the primary was away for so long that Sentinel held it to be down")
	}
	return nil
}

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
