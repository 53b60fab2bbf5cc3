package failover

import (
	"context"
	"time"

	"lockcost/results"
)

// electionMost is how long an election may take.
const electionMost = 15 * time.Second

// leaderHold is how long locks are held while a leader is elected: etcd's
// followers wait one to two seconds before they hold an election.
const leaderHold = 3500 * time.Millisecond

// pausedHold is that where the leader is silent and not gone, and pausedTick
// has ZooKeeper's followers miss it after 2.5 s, where it comes with 10 s.
const (
	pausedHold = 6 * time.Second
	pausedTick = 500 * time.Millisecond
)

// leaderRate is the acquisitions a second of timed trials of etcd and
// ZooKeeper: three members and their disks share a machine with the driver, and
// a JVM that has just been started is slow.
const leaderRate = 100

// leaders are the scenarios in which the leader of an ensemble is lost.
func leaders() []Scenario {
	return []Scenario{
		{
			Name: "leader-killed", Timed: true,
			Summary: "the leader is killed under load, and nothing else is done",
			For:     ensembles,
			Needs:   Needs{Hold: leaderHold, Rate: leaderRate},
			Inject: func(_ context.Context, t *trial) error {
				return t.kill(t.service.(*ensemble).leader)
			},
			Observe: ledAnew,
		},
		{
			Name: "leader-paused", Timed: true,
			Summary: "the leader is stopped under load until another is elected, and goes on; ZooKeeper ticks each 500 ms, and so misses it after 2.5 s in place of 10",
			For:     ensembles,
			Needs:   Needs{Hold: pausedHold, Rate: leaderRate, ZooTick: pausedTick},
			Inject: func(_ context.Context, t *trial) error {
				t.fault()
				return t.stack.Faults.Pause(t.service.(*ensemble).leader)
			},
			Observe: leaderResumed, Healthy: healthyAgain,
		},
	}
}

// ledAnew waits for another leader, and with the load going on until the
// second client has asked for every order that was locked at the fault.
func ledAnew(ctx context.Context, t *trial) error {
	if err := t.service.(*ensemble).elected(ctx, electionMost); err != nil {
		return err
	}
	if err := t.findLost(ctx, patience); err != nil {
		return err
	}
	return t.sleep(ctx, max(t.second+holdMargin-50*time.Millisecond-t.sinceFault(), 300*time.Millisecond))
}

// leaderResumed lets the stopped leader go on once there is another, and waits
// until it follows that one.
func leaderResumed(ctx context.Context, t *trial) error {
	old := t.service.(*ensemble).leader
	if err := ledAnew(ctx, t); err != nil {
		return err
	}
	back := t.now()
	if err := t.stack.Faults.Resume(old); err != nil {
		return err
	}
	if err := t.service.healthy(ctx, rejoinMost); err != nil {
		return void("the old leader did not come back: %v", err)
	}
	t.moment(results.Rejoined, t.now()-back)
	return t.sleep(ctx, 300*time.Millisecond)
}
