package failover

import (
	"context"
	"fmt"
	"time"

	"lockcost/env"
)

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
	t.markNS = t.now()
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
	if err := t.grantedSince(); err != nil {
		return err
	}
	return t.absent(ctx, t.replicas()...)
}

// grantedSince voids the trial where no lock was granted since the marker was
// written: then there is none to be lost. A path that waits for replicas is
// to be granted none.
func (t *trial) grantedSince() error {
	if !t.path.Replicated() && len(t.held(t.now())) == len(t.held(t.markNS)) {
		return void("no lock was granted while replication was held up")
	}
	return nil
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

// holdAcknowledgements holds what the replicas send. However long that is, the
// locks of the last of WAIT's timeouts are waited for when the primary is killed.
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
	if len(t.held(t.now())) == len(t.held(t.markNS)) {
		return void("no lock was granted while the first replica's replication was held up")
	}
	if err := t.absent(ctx, replicaOne); err != nil {
		return err
	}
	return t.has(ctx, replicaTwo)
}
