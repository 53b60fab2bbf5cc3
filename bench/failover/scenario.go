package failover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockcost/env"
)

// Scenario is a fault, and what a trial of it goes through. Its steps are
// taken in the order of the fields, under load from Prepare on. A step that
// returns a voidError ends the trial as void: it shows nothing.
type Scenario struct {
	Name    string
	Variant string // "" where there is only one
	Summary string // one line: what is done
	Needs   Needs
	// Timed scenarios run at the full rate and alone: their latencies count.
	Timed bool

	// Prepare is done before the fault, once the population of held locks is
	// steady. Nil for nothing.
	Prepare func(ctx context.Context, t *trial) error
	// Precondition must hold just before the fault. Nil for none.
	Precondition func(ctx context.Context, t *trial) error
	// Inject does the fault. It calls t.fault at the moment from which times
	// count, unless it is t.kill that does.
	Inject func(ctx context.Context, t *trial) error
	// Observe waits for what follows, and keeps times and facts of it.
	Observe func(ctx context.Context, t *trial) error
	// Healthy tells whether the servers ended up as they should. Its error is
	// kept with the trial as a reason, and voids nothing. Before the fault
	// every trial is checked in the same way: see trial.healthy.
	Healthy func(ctx context.Context, t *trial) error
}

// Needs is what a scenario's trial must have.
type Needs struct {
	Replicas int
	Network  bool // links that can be broken
	// MinReplicas has every Redis refuse writes with fewer than one replica
	// in touch within a second.
	MinReplicas bool
	// Apart has the clients reach the servers by links of their own.
	Apart bool
	// Stays has the first client stay with the primary of the start: it asks
	// no Sentinel.
	Stays bool
	// FailoverTimeout is Sentinel's; 0 for failoverTimeout.
	FailoverTimeout time.Duration
	// DownAfter is the least down-after with which the scenario works; 0 for
	// any.
	DownAfter time.Duration
	// Rate is the acquisitions a second that it takes to show anything; 0 for
	// untimedRate. Timed scenarios have the plan's.
	Rate float64
	// Hold is how long locks are held, where nobody waits for down-after; 0
	// elsewhere.
	Hold time.Duration
	// Dataset is how much the primary holds besides the locks, bytes.
	Dataset int64
	// Holder has the first client be a process of its own, that can be
	// stopped; there is no other load, and locks have this TTL.
	Holder time.Duration
}

// Label is how the scenario is named: name, or name:variant.
func (s Scenario) Label() string {
	if s.Variant == "" {
		return s.Name
	}
	return s.Name + ":" + s.Variant
}

// Find returns the scenarios of that name: all its variants, or the one that
// is named as name:variant.
func Find(name string) ([]Scenario, error) {
	name = strings.TrimSpace(name)
	var found []Scenario
	var names []string
	for _, s := range Catalogue() {
		if s.Name == name || s.Label() == name {
			found = append(found, s)
		}
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	if base, variant, given := strings.Cut(name, ":"); len(found) == 0 && given {
		var variants []string
		for _, s := range Catalogue() {
			if s.Name == base && s.Variant != "" {
				variants = append(variants, s.Variant)
			}
		}
		if len(variants) > 0 {
			return nil, fmt.Errorf("scenario %s has no variant %q: its variants are %s", base, variant, strings.Join(variants, ", "))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("unknown scenario %q: the scenarios are %s", name, strings.Join(names, ", "))
	}
	return found, nil
}

// failoverTimeout is Sentinel's failover-timeout. A failover whose leader was
// not elected, since the Sentinels voted for several, is tried again after
// twice that.
const failoverTimeout = 10 * time.Second

// linkedFailoverTimeout is that where there are links: after it Sentinel sends
// a replica around its own.
const linkedFailoverTimeout = 30 * time.Second

// spec is the stack that a trial of the scenario has.
func (c *cell) spec() env.Spec {
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
		FailoverTimeout: timeout, Network: n.Network, Links: c.rtt > 0,
	}
}

// voidError is why a trial shows nothing.
type voidError struct{ reason string }

func (e *voidError) Error() string { return e.reason }

func void(format string, args ...any) error { return &voidError{fmt.Sprintf(format, args...)} }
