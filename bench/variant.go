package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockcost/env"
	"lockcost/results"
	"lockcost/workloads"
)

// Variant is a path at a distance: what is run once in every block.
type Variant struct {
	Path     workloads.Path
	Distance results.Distance
}

// variants are the plan's paths, floors first, each at every distance that it
// depends on.
func (p Plan) variants() []Variant {
	var all []Variant
	for _, path := range p.withFloors() {
		for _, client := range reach(p.ClientRTTs, path.Remote()) {
			for _, replica := range reach(p.ReplicaRTTs, path.Replicated()) {
				all = append(all, Variant{path, results.Distance{ReplicaNS: int64(replica), ClientNS: int64(client)}})
			}
		}
	}
	return all
}

// reach is the round trips that a path is run at: all, or none where it does
// not depend on them.
func reach(rtts []time.Duration, depends bool) []time.Duration {
	if !depends || len(rtts) == 0 {
		return []time.Duration{0}
	}
	return rtts
}

// entry is the variant's place in a record, without runs.
func (v Variant) entry() results.Path {
	p := toPath(v.Path)
	p.ReplicaRTTNS, p.ClientRTTNS = v.Distance.ReplicaNS, v.Distance.ClientNS
	return p
}

// Label names the variant, as it is shown.
func (v Variant) Label() string { return v.entry().Label() }

// distant tells whether any round trip is to be added.
func (p Plan) distant() bool {
	for _, rtts := range [][]time.Duration{p.ReplicaRTTs, p.ClientRTTs} {
		for _, rtt := range rtts {
			if rtt > 0 {
				return true
			}
		}
	}
	return false
}

// checkDistances tells what is wrong with the round trips to add.
func (p Plan) checkDistances() error {
	for flag, rtts := range map[string][]time.Duration{"--replica-rtt": p.ReplicaRTTs, "--client-rtt": p.ClientRTTs} {
		seen := map[time.Duration]bool{}
		for _, rtt := range rtts {
			switch {
			case rtt < 0:
				return fmt.Errorf("%s %v: must not be negative", flag, rtt)
			case seen[rtt]:
				return fmt.Errorf("%s: %v is named twice", flag, rtt)
			case rtt >= p.OpTimeout:
				return fmt.Errorf("%s %v: must be below --op-timeout %v, at which an operation is given up on", flag, rtt, p.OpTimeout)
			}
			seen[rtt] = true
		}
	}
	for _, rtt := range p.ReplicaRTTs {
		if rtt > 0 && !slices.ContainsFunc(p.Paths, workloads.Path.Replicated) {
			return fmt.Errorf("--replica-rtt %v: no path of --paths waits for replicas, so none depends on it", rtt)
		}
		if rtt >= p.WaitTimeout && p.waits() {
			return fmt.Errorf("--replica-rtt %v: must be below --wait-timeout %v, or no WAIT would be answered in time", rtt, p.WaitTimeout)
		}
	}
	return p.checkJitter()
}

// checkJitter refuses what no link can do: a one-way delay below 0.
func (p Plan) checkJitter() error {
	if p.RTTJitter < 0 {
		return fmt.Errorf("--rtt-jitter %v: must not be negative", p.RTTJitter)
	}
	if p.RTTJitter > 0 && !p.distant() {
		return fmt.Errorf("--rtt-jitter %v: there is no --replica-rtt or --client-rtt above 0 to vary", p.RTTJitter)
	}
	for _, rtt := range slices.Concat(p.ReplicaRTTs, p.ClientRTTs) {
		if rtt > 0 && p.RTTJitter > rtt {
			return fmt.Errorf("--rtt-jitter %v: must not exceed the round trip of %v, half of which each way varies within it", p.RTTJitter, rtt)
		}
	}
	return nil
}

// reach puts the stack at the distance.
func (s *site) reach(ctx context.Context, d results.Distance) error {
	if s.stack.Distance == nil {
		if d != (results.Distance{}) {
			return errors.New("--replica-rtt and --client-rtt need servers that lockcost starts")
		}
		return nil
	}
	if err := s.stack.Distance.Set(ctx, time.Duration(d.ReplicaNS), time.Duration(d.ClientNS), s.plan.RTTJitter); err != nil {
		return fmt.Errorf("putting the servers at a distance: %w", err)
	}
	s.stack.Redis.Via = s.stack.Distance.Via()
	return nil
}

// observe measures the round trips across the links until the function it
// returns is called, which puts them into the run, and whether everything
// still went by its link.
func (s *site) observe(ctx context.Context) (func(*results.Run) error, error) {
	if s.stack.Distance == nil {
		return func(*results.Run) error { return nil }, nil
	}
	stop, err := s.stack.Distance.Watch(ctx)
	if err != nil {
		return nil, fmt.Errorf("watching the links: %w", err)
	}
	return func(run *results.Run) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if err := s.stack.Distance.Check(ctx); err != nil {
			run.LinkFault = err.Error()
		}
		replica, client, err := stop(ctx)
		if err != nil {
			return fmt.Errorf("watching the links: %w", err)
		}
		run.ReplicaTrip, run.ClientTrip = toTrip(replica), toTrip(client)
		if t := run.ReplicaTrip; t != nil {
			run.Warnings = appendText(run.Warnings, t.Remark("the replica's"))
		}
		if t := run.ClientTrip; t != nil {
			run.Warnings = appendText(run.Warnings, t.Remark("the client's"))
		}
		return nil
	}, nil
}

func appendText(list []string, text string) []string {
	if text == "" {
		return list
	}
	return append(list, text)
}

func toTrip(t env.Trip) *results.Trip {
	if t.Asked == 0 {
		return nil
	}
	return &results.Trip{
		AskedNS: int64(t.Asked), P50NS: int64(t.P50), P90NS: int64(t.P90), P99NS: int64(t.P99),
		DirectNS: int64(t.Direct), OverheadNS: int64(t.Overhead), Probes: t.Probes, Failed: t.Failed,
	}
}
