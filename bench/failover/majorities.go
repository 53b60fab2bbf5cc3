package failover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockcost/bench/failover/history"
	"lockcost/env"
	"lockcost/results"
	"lockcost/workloads"

	"golang.org/x/sync/errgroup"
)

// The lock services whose locks are a majority's.
var (
	ensembles  = []workloads.Service{workloads.Etcd, workloads.ZooKeeper}
	majorities = append([]workloads.Service{workloads.Independents}, ensembles...)
)

// withoutMajority are the scenarios in which no majority of the servers is
// left.
func withoutMajority() []Scenario {
	killed := Scenario{
		Name:    "no-majority",
		Summary: "a majority of the servers is killed, and restarted a while later; Redis comes back empty",
		For:     majorities,
		Needs:   Needs{Hold: withoutHold},
		Inject:  killMajority, Observe: majorityRestarted, Healthy: healthyAgain,
	}
	cut := Scenario{
		Name: "no-majority", Variant: "cut-off",
		Summary: "all members run, and what any sends to another is black-holed; a while later that ends",
		For:     []workloads.Service{workloads.Etcd},
		Needs:   Needs{Hold: withoutHold, Network: true},
		Inject:  cutPeers, Observe: majorityReconnected, Healthy: healthyAgain,
	}
	return []Scenario{killed, cut}
}

// majority is those of the members of whom so many are needed.
func (t *trial) majority() []string {
	members := t.members()
	return members[:len(members)/2+1]
}

func killMajority(_ context.Context, t *trial) error { return t.kill(t.majority()...) }

func cutPeers(ctx context.Context, t *trial) error {
	t.fault()
	for _, node := range t.members() {
		if err := t.stack.Network.Set(ctx, env.Way{From: env.Peers, To: node}, blackHole); err != nil {
			return err
		}
	}
	return nil
}

// withoutMost is how long a majority is away: longer than it takes until the
// first acquisitions are given up on, and what they may have written is looked
// for no more. Locks are held for longer than until a majority is back.
const (
	withoutMost = 3 * time.Second
	withoutHold = 7 * time.Second
)

func majorityRestarted(ctx context.Context, t *trial) error {
	return majorityBack(ctx, t, func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		for _, node := range t.majority() {
			g.Go(func() error {
				_, err := t.stack.Faults.Restart(ctx, node)
				return err
			})
		}
		return g.Wait()
	})
}

func majorityReconnected(ctx context.Context, t *trial) error {
	return majorityBack(ctx, t, t.stack.Network.Mend)
}

// majorityBack leaves the servers without a majority for a while, gets it back,
// and waits until something is granted again.
func majorityBack(ctx context.Context, t *trial, restore func(context.Context) error) error {
	t.awayNS = t.now()
	if err := t.sleep(ctx, withoutMost); err != nil {
		return err
	}
	t.backNS = t.now()
	if err := restore(ctx); err != nil {
		return err
	}
	t.duringEnd.Store(t.now())
	if err := t.service.healthy(ctx, rejoinMost); err != nil {
		return void("a majority did not come back: %v", err)
	}
	t.back()
	t.moment(results.Rejoined, t.now()-t.backNS)
	if err := t.findLost(ctx, patience); err != nil {
		return err
	}
	err := t.until(ctx, patience, func() error {
		if all := len(t.held(t.now())); all == len(t.held(t.backNS)) {
			return errors.New("nothing was granted")
		}
		return nil
	})
	if err != nil {
		t.reason("with a majority back: " + err.Error())
	}
	return t.sleep(ctx, max(t.second+holdMargin-t.sinceFault(), 500*time.Millisecond))
}

// withoutMajority counts what was granted without a majority, of what was
// asked for meanwhile, and keeps how long refusals took, and how soon
// something was granted with it back.
func (t *trial) withoutMajority(ops []history.Op) {
	if t.backNS == 0 {
		return
	}
	granted := countGrants(ops, t.awayNS, t.backNS)
	t.fact("grants_without_majority", granted)
	if granted > 0 {
		t.reason(fmt.Sprintf("%d locks were granted without a majority", granted))
	}
	longest := int64(0)
	for _, op := range ops {
		if a := op.Acquire; a.InvokedNS >= t.awayNS && a.ReturnedNS <= t.backNS && a.Result != history.Granted {
			longest = max(longest, a.ReturnedNS-a.InvokedNS)
		}
	}
	t.fact("longest_refusal_ns", longest)
	if at, ok := history.FirstGrant(ops, "", t.backNS); ok {
		t.fact("granted_again_after_ns", at-t.backNS)
	}
}
