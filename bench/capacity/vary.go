package capacity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockcost/bench"
	"lockcost/env"
	"lockcost/env/assembly"
	"lockcost/results"
	"lockcost/workloads"
)

// Variation is one condition and the values to give it.
type Variation struct {
	Name   string
	Values []results.Value
	condition
}

// condition is something that a path's cost may depend on. It has the name of
// the flag that sets it.
type condition struct {
	name    string
	help    string
	parse   func(text string) (float64, error)
	depends func(workloads.Path, bench.Plan) bool // whether a path's acquire or job may depend on it
	set     func(*bench.Plan, *results.Distance, float64)
}

func every(workloads.Path, bench.Plan) bool { return true }

// conditions are those that can be varied.
var conditions = []condition{
	{"replica-rtt", "round trip to the replicas", duration,
		func(p workloads.Path, _ bench.Plan) bool { return p.Replicated() },
		func(_ *bench.Plan, d *results.Distance, v float64) { d.ReplicaNS = int64(v) }},
	{"client-rtt", "round trip from the client to Redis", duration,
		func(p workloads.Path, _ bench.Plan) bool { return p.Remote() },
		func(_ *bench.Plan, d *results.Distance, v float64) { d.ClientNS = int64(v) }},
	{"wait-replicas", "replicas that WAIT waits for", whole,
		func(p workloads.Path, _ bench.Plan) bool { return p.Replicated() },
		func(p *bench.Plan, _ *results.Distance, v float64) { p.WaitReplicas = int(v) }},
	{"ttl", "of the locks", duration, every,
		func(p *bench.Plan, _ *results.Distance, v float64) { p.TTL = time.Duration(v) }},
	{"hold", "how long a lock is held on purpose", duration, every,
		func(p *bench.Plan, _ *results.Distance, v float64) {
			p.Hold = time.Duration(v)
			p.Warmup = max(p.Warmup, p.Hold)
		}},
	{"keys", "keys that are contended for", whole, every,
		func(p *bench.Plan, _ *results.Distance, v float64) { p.Keys = int(v) }},
	{"zipf", "exponent by which --keys are drawn", number, every,
		func(p *bench.Plan, _ *results.Distance, v float64) { p.Zipf = v }},
	{"tx-rows", "rows that each charge's transaction inserts besides", whole, every,
		func(p *bench.Plan, _ *results.Distance, v float64) { p.TxRows = int(v) }},
}

func duration(text string) (float64, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration such as 500us or 1ms", text)
	}
	return float64(d), nil
}

func whole(text string) (float64, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number", text)
	}
	return float64(n), nil
}

func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", text)
	}
	return v, nil
}

// VariationsHelp lists what can be varied.
func VariationsHelp() string {
	var text strings.Builder
	for _, c := range conditions {
		fmt.Fprintf(&text, "  %-14s %s\n", c.name, c.help)
	}
	return strings.TrimRight(text.String(), "\n")
}

// ParseVariation reads NAME=v1,v2,….
func ParseVariation(text string) (Variation, error) {
	name, list, given := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	i := slices.IndexFunc(conditions, func(c condition) bool { return c.name == name })
	switch {
	case i < 0:
		names := make([]string, len(conditions))
		for i, c := range conditions {
			names[i] = c.name
		}
		return Variation{}, fmt.Errorf("--vary %s: can be varied: %s", text, strings.Join(names, ", "))
	case !given:
		return Variation{}, fmt.Errorf("--vary %s: write the values behind it, such as replica-rtt=0,1ms,5ms", text)
	}
	v := Variation{Name: name, condition: conditions[i]}
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		n, err := v.parse(one)
		if err != nil {
			return Variation{}, fmt.Errorf("--vary %s: %w", text, err)
		}
		if slices.ContainsFunc(v.Values, func(o results.Value) bool { return o.Number == n }) {
			return Variation{}, fmt.Errorf("--vary %s: %s is named twice", text, one)
		}
		v.Values = append(v.Values, results.Value{Name: name, Text: one, Number: n})
	}
	slices.SortFunc(v.Values, func(a, b results.Value) int {
		if a.Number < b.Number {
			return -1
		}
		return 1
	})
	return v, nil
}

func (v Variation) record() results.Vary {
	r := results.Vary{Name: v.Name, Values: []string{}}
	for _, value := range v.Values {
		r.Values = append(r.Values, value.Text)
	}
	return r
}

// Spec is the stack that the plan needs at least, at every value of what it
// varies.
func (p Plan) Spec() env.Spec {
	spec := p.Plan.Spec()
	for _, v := range p.Vary {
		for _, value := range v.Values {
			plan, distance := p.Plan, results.Distance{}
			v.set(&plan, &distance, value.Number)
			need := plan.Spec()
			need.Links = need.Links || distance != results.Distance{}
			spec = spec.Merge(need)
		}
	}
	return spec
}

// target is what is driven once in every block: a path under one set of
// conditions.
type target struct {
	variant bench.Variant
	plan    bench.Plan
	varied  *results.Value
}

// comparedWith is the path that costs are stated against.
const comparedWith = "setnx"

// targets are the floors, and for each condition every path that may depend on
// it, at each value. What others are compared with is driven at the first value
// where it does not.
func (p Plan) targets(variants []bench.Variant) []target {
	plan := p.Plan
	plan.Highest = results.P99
	var all []target
	for _, v := range variants {
		if v.Path.Floor {
			all = append(all, target{variant: v, plan: plan})
		}
	}
	for _, vary := range p.Vary {
		for _, v := range variants {
			if v.Path.Floor || !vary.depends(v.Path, plan) && v.Path.Label() != comparedWith {
				continue
			}
			for i, value := range vary.Values {
				if i > 0 && !vary.depends(v.Path, plan) {
					break
				}
				all = append(all, vary.target(v, plan, value))
			}
		}
	}
	return all
}

// target is the path with the condition at a value.
func (v Variation) target(variant bench.Variant, plan bench.Plan, value results.Value) target {
	if v.depends(variant.Path, plan) {
		v.set(&plan, &variant.Distance, value.Number)
	}
	return target{variant: variant, plan: plan, varied: &value}
}

// checkVariation tells what is wrong with a condition's values: each must make
// a plan that can be run.
func (p Plan) checkVariation(v Variation) error {
	if len(v.Values) < 2 {
		return fmt.Errorf("--vary %s: give at least two values", v.Name)
	}
	if !slices.ContainsFunc(p.Paths, func(path workloads.Path) bool { return v.depends(path, p.Plan) }) {
		return fmt.Errorf("--vary %s: no path of --paths depends on it", v.Name)
	}
	for _, value := range v.Values {
		plan, distance := p.Plan, results.Distance{}
		v.set(&plan, &distance, value.Number)
		plan.ReplicaRTTs = []time.Duration{time.Duration(distance.ReplicaNS)}
		plan.ClientRTTs = []time.Duration{time.Duration(distance.ClientNS)}
		if plan.Hold > p.Hold {
			plan.Warmup = max(plan.Warmup, plan.Hold)
		}
		if err := plan.Check(); err != nil {
			return fmt.Errorf("--vary %s=%s: %w", v.Name, value.Text, err)
		}
		if plan.WaitReplicas > assembly.MaxReplicas {
			return fmt.Errorf("--vary %s=%s: at most %d", v.Name, value.Text, assembly.MaxReplicas)
		}
	}
	return nil
}
