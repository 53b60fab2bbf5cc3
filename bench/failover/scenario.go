package failover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockcost/env"
	"lockcost/workloads"
)

// Scenario is a fault, and what a trial of it goes through. Its steps are
// taken in the order of the fields, under load from Prepare on. A step that
// returns a voidError ends the trial as void: it shows nothing.
type Scenario struct {
	Name    string
	Variant string // "" where there is only one
	Summary string // one line: what is done
	// For is the lock services that it is made for, "" for paths that take no
	// lock. Nil is the replicated Redis alone.
	For   []workloads.Service
	Needs Needs
	// Timed scenarios run at the full rate, or at their own, and alone: their
	// latencies count.
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
	// every trial is checked in the same way: see service.begin.
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
	// NoLoad has nobody ask for locks beside the steps themselves.
	NoLoad bool
	// Stays has the first client stay with the primary of the start: it asks
	// no Sentinel.
	Stays bool
	// FailoverTimeout is Sentinel's; 0 for failoverTimeout.
	FailoverTimeout time.Duration
	// DownAfter is the least down-after with which the scenario works; 0 for
	// any.
	DownAfter time.Duration
	// Rate is the acquisitions a second that it takes to show anything; 0 for
	// untimedRate. Timed scenarios have the plan's, and at most this where it
	// is given.
	Rate float64
	// Hold is how long locks are held, where nobody waits for down-after; 0
	// elsewhere.
	Hold time.Duration
	// Dataset is how much the primary holds besides the locks, bytes.
	Dataset int64
	// ZooTick is ZooKeeper's tick, of which its servers wait for five until they
	// miss one that is silent; 0 for what it comes with.
	ZooTick time.Duration
	// TTL is that of its locks, where they are to run out, and the length of
	// sessions that hold them, unless that is below shortSession; 0 for the
	// plan's.
	TTL time.Duration
}

// Label is how the scenario is named: name, or name:variant.
func (s Scenario) Label() string {
	if s.Variant == "" {
		return s.Name
	}
	return s.Name + ":" + s.Variant
}

// applies tells whether the scenario is made for the path's lock service.
func (s Scenario) applies(p workloads.Path) bool {
	if s.For == nil {
		return p.Service() == workloads.Redis
	}
	return slices.Contains(s.For, p.Service())
}

// For returns the scenarios that are made for any of the paths.
func For(paths []workloads.Path) []Scenario { return chosen(Catalogue(), paths) }

func chosen(scenarios []Scenario, paths []workloads.Path) (some []Scenario) {
	for _, s := range scenarios {
		if slices.ContainsFunc(paths, s.applies) {
			some = append(some, s)
		}
	}
	return some
}

// Concerns tells whether any of the scenarios is made for a path.
func Concerns(scenarios []Scenario, p workloads.Path) bool {
	return slices.ContainsFunc(scenarios, func(s Scenario) bool { return s.applies(p) })
}

// FindFor is Find, without the variants that are made for none of the paths.
// Where none is left, the error says for which paths the scenario is.
func FindFor(name string, paths []workloads.Path) ([]Scenario, error) {
	found, err := Find(name)
	if err != nil {
		return nil, err
	}
	some := chosen(found, paths)
	if len(some) > 0 {
		return some, nil
	}
	var fit []string
	for _, p := range workloads.All() {
		if slices.ContainsFunc(found, func(s Scenario) bool { return s.applies(p) }) {
			fit = append(fit, p.Name)
		}
	}
	return nil, fmt.Errorf("scenario %s is made for %s, and none of these is among the paths", strings.TrimSpace(name), strings.Join(fit, ", "))
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

// spec is the stack that a trial of the scenario has.
func (c *cell) spec() env.Spec {
	spec := c.servers().spec(c).Merge(c.path.Needs(c.settings()))
	spec.Ledger = false // it is the ground's
	spec.Network = c.scenario.Needs.Network
	return spec
}

// voidError is why a trial shows nothing.
type voidError struct{ reason string }

func (e *voidError) Error() string { return e.reason }

func void(format string, args ...any) error { return &voidError{fmt.Sprintf(format, args...)} }
