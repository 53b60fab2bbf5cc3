package failover

import (
	"context"
	"time"

	"lockcost/env"
	"lockcost/workloads"
)

// The independent servers that are lost, and those that the first client does
// not reach in node-empty.
const (
	lostNode = "independent-3"
	farNodeA = "independent-4"
	farNodeB = "independent-5"
)

// nodeRate is the acquisitions a second of timed trials of independent
// servers: each is five, and waits for the slowest answer.
const nodeRate = 200

// nodeLosses are the scenarios in which one of five independent Redis servers
// is lost.
func nodeLosses() []Scenario {
	redlock := []workloads.Service{workloads.Independents}
	return []Scenario{
		{
			Name: "node-killed", Timed: true,
			Summary: "one of the servers is killed under load, and nothing else is done",
			For:     redlock,
			Needs:   Needs{Hold: 2 * time.Second, Rate: nodeRate},
			Inject:  func(_ context.Context, t *trial) error { return t.kill(lostNode) },
			Observe: nodeLost,
		},
		{
			Name: "node-paused", Timed: true,
			Summary: "one of the servers is stopped under load, and goes on a while later",
			For:     redlock,
			Needs:   Needs{Hold: 2 * time.Second, Rate: nodeRate / 2},
			Inject: func(_ context.Context, t *trial) error {
				t.fault()
				return t.stack.Faults.Pause(lostNode)
			},
			Observe: nodeResumed, Healthy: healthyAgain,
		},
		{
			Name:    "node-empty",
			Summary: "the first client reaches three of five servers; one of these is killed, and comes back empty",
			For:     redlock,
			Needs:   Needs{Hold: 3 * time.Second, Network: true, Apart: true},
			Prepare: reachThree, Precondition: onThree, Inject: emptyNode, Observe: nodeLost, Healthy: healthyAgain,
		},
	}
}

// nodeLost keeps which locks have no majority any more, and goes on with the
// load until the second client has asked for every order that was locked at
// the fault.
func nodeLost(ctx context.Context, t *trial) error {
	t.back()
	if err := t.findLost(ctx, patience); err != nil {
		return err
	}
	return t.sleep(ctx, t.second+holdMargin-50*time.Millisecond-t.sinceFault())
}

// nodePaused is how long a server is stopped.
const nodePaused = 3 * time.Second

func nodeResumed(ctx context.Context, t *trial) error {
	if err := t.sleep(ctx, nodePaused); err != nil {
		return err
	}
	if err := t.stack.Faults.Resume(lostNode); err != nil {
		return err
	}
	t.duringEnd.Store(t.now())
	return t.sleep(ctx, time.Second)
}

// reachThree cuts the first client off from two servers, until all locks that
// it holds are on the other three. Its connections to them are reset: a black
// hole would hold up each of its attempts until they are given up on.
func reachThree(ctx context.Context, t *trial) error {
	for _, node := range []string{farNodeA, farNodeB} {
		if err := t.stack.Network.Set(ctx, env.Way{From: env.Clients[0], To: node}, env.WayState{Cut: true}); err != nil {
			return err
		}
	}
	t.markNS = t.now()
	return t.sleep(ctx, t.hold+200*time.Millisecond)
}

// onThree checks that there are locks of the first client, and that none of
// them is on a server that it does not reach.
func onThree(ctx context.Context, t *trial) error {
	mine := t.clients[0].holding(t.now(), nil)
	if len(mine) == 0 {
		return void("the first client holds no lock")
	}
	for _, node := range []string{farNodeA, farNodeB} {
		lacking, err := t.lackingOn(ctx, t.addr(node), mine)
		if err != nil {
			return err
		}
		if len(lacking) < len(mine) {
			return void("%d locks of the first client are on %s, which it does not reach", len(mine)-len(lacking), node)
		}
	}
	return nil
}

// emptyNode kills a server and starts it again, with nothing on its disk.
func emptyNode(ctx context.Context, t *trial) error {
	if err := t.kill(lostNode); err != nil {
		return err
	}
	if _, err := t.stack.Faults.Restart(ctx, lostNode); err != nil {
		return err
	}
	held := t.held(t.faultNS.Load())
	lacking, err := t.lackingOn(ctx, t.addr(lostNode), held)
	if err != nil {
		return err
	}
	// An attempt that is about to be refused has its own there meanwhile.
	if 2*len(lacking) < len(held) {
		return void("%s came back with %d of %d locks", lostNode, len(held)-len(lacking), len(held))
	}
	return nil
}
