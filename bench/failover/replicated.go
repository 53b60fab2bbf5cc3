package failover

import (
	"context"
	"errors"
	"time"

	"lockcost/bench/failover/history"
	"lockcost/env"
	"lockcost/results"
)

// failoverTimeout is Sentinel's failover-timeout. A failover whose leader was
// not elected, since the Sentinels voted for several, is tried again after
// twice that.
const failoverTimeout = 10 * time.Second

// linkedFailoverTimeout is that where there are links: after it Sentinel sends
// a replica around its own.
const linkedFailoverTimeout = 30 * time.Second

// replicated is the replicated Redis with its Sentinels.
type replicated struct{ *trial }

func replicatedSpec(c *cell) env.Spec {
	n := c.scenario.Needs
	timeout := n.FailoverTimeout
	switch {
	case timeout > 0:
	case n.Network, c.rtt > 0:
		timeout = linkedFailoverTimeout
	default:
		timeout = failoverTimeout
	}
	return env.Spec{
		Replicas: max(n.Replicas, c.plan.WaitReplicas), Sentinels: c.plan.Sentinels, DownAfter: c.downAfter,
		FailoverTimeout: timeout, Links: c.rtt > 0,
	}
}

// beginReplicated puts the servers into the state that the scenario needs.
func beginReplicated(ctx context.Context, t *trial) (service, error) {
	t.setPrimary(t.stack.Redis.Primary)
	s := replicated{t}
	if t.rtt > 0 {
		if err := t.stack.Distance.Set(ctx, t.rtt, 0, 0); err != nil {
			return s, err
		}
	}
	n := t.scenario.Needs
	if n.Dataset > 0 {
		if err := t.fill(ctx, n.Dataset); err != nil {
			return s, err
		}
	}
	if n.MinReplicas {
		if err := t.requireReplicas(ctx); err != nil {
			return s, err
		}
	}
	if t.path.Synced() {
		if err := env.AppendFsync(ctx, t.stack, true); err != nil {
			return s, err
		}
	}
	if err := fed(ctx, t.stack, t.settings.Prefix, t.spec().Replicas); err != nil {
		return s, err
	}
	if err := s.healthy(ctx, patience); err != nil {
		return s, err
	}
	var err error
	t.watch, err = watch(ctx, t.stack.Redis, t.now)
	return s, err
}

// undisturbed voids a trial in which Sentinels have begun a failover before
// any fault.
func (s replicated) undisturbed(context.Context) error {
	if s.falseFailovers() > 0 {
		return void("a failover began before any fault")
	}
	return nil
}

// falseFailovers is how often a Sentinel began a failover before the fault, or
// at all where no server is to fail.
func (s replicated) falseFailovers() int64 {
	before := s.faultNS.Load()
	if before == noFault || s.scenario.Needs.NoLoad {
		before = s.now()
	}
	return s.watch.count(failoverTried, before)
}

// healthy checks that the primary takes writes, that it counts as many
// replicas as online as it is to have, and that every Sentinel knows it as
// the primary.
func (s replicated) healthy(ctx context.Context, within time.Duration) error {
	if err := s.replicasOnline(ctx, s.spec().Replicas, within); err != nil {
		return err
	}
	return s.agreed(ctx)
}

func (s replicated) lacking(ctx context.Context, orders []int64) ([]int64, error) {
	return s.lackingOn(ctx, s.primary(), orders)
}

var errNobodyLeads = errors.New("there is no primary")

// leftover is the locks in the primary.
func (s replicated) leftover(ctx context.Context) (map[int64]time.Duration, error) {
	if s.primary() == "" {
		return nil, errNobodyLeads
	}
	return s.leftoverOn(ctx, s.primary())
}

// steps are those of the failover.
func (s replicated) steps(ops []history.Op, crash int64) {
	for m, name := range map[results.Moment]string{
		results.Noticed: objectivelyDown, results.Elected: leaderElected,
		results.Promoted: replicaPromoted, results.Announced: primarySwitched,
	} {
		if e, ok := s.watch.first(crash, name); ok {
			s.moment(m, e.at-crash)
		}
	}
	if at := s.firstWrite.Load(); at > crash {
		s.moment(results.FirstWrite, at-crash)
	}
	from := max(crash, s.firstWrite.Load())
	if s.crashNS.Load() == 0 { // the old one lives on: grants count once clients were told
		told, ok := s.watch.first(crash, primarySwitched)
		if !ok {
			return
		}
		from = told.at
	}
	s.firstGrants(ops, crash, from)
}

func (s replicated) close() {
	if s.watch != nil {
		s.watch.close()
	}
}
