package capacity

import (
	"strings"
	"testing"
	"time"

	"lockcost/bench"
	"lockcost/results"
	"lockcost/workloads"
)

func paths(t *testing.T, names ...string) (all []workloads.Path) {
	t.Helper()
	for _, name := range names {
		p, err := workloads.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func variation(t *testing.T, text string) Variation {
	t.Helper()
	v, err := ParseVariation(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWhatCanBeVariedIsReadAndOtherwiseRefused(t *testing.T) {
	v := variation(t, "replica-rtt=1ms,0,250us")
	if len(v.Values) != 3 || v.Values[0].Number != 0 || v.Values[1].Number != 250e3 || v.Values[2].Text != "1ms" {
		t.Errorf("%+v", v.Values)
	}
	for text, says := range map[string]string{
		"rtt=1ms":              "can be varied: replica-rtt",
		"replica-rtt":          "write the values",
		"replica-rtt=1":        "no duration",
		"replica-rtt=0,0ms":    "named twice",
		"keys=1.5":             "no whole number",
		"zipf=much":            "no number",
		"replica-rtt=0,1ms,1x": "no duration",
	} {
		if _, err := ParseVariation(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestBadSweepsAreRefusedInTheWordsOfTheFlags(t *testing.T) {
	good := func() Plan {
		p := DefaultPlan()
		p.Paths = paths(t, "setnx", "setnx-wait")
		p.SLOs = []results.SLO{{Span: results.SpanAcquire, Percentile: results.P99, LimitNS: 5e6}}
		return p
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func(*Plan){
		"nothing to find out":       func(p *Plan) { p.SLOs = nil },
		"--from":                    func(p *Plan) { p.From = 0 },
		"--to 100":                  func(p *Plan) { p.To = 100 },
		"--step":                    func(p *Plan) { p.Step = time.Millisecond },
		"--repeat":                  func(p *Plan) { p.Repeat = 0 },
		"floors":                    func(p *Plan) { p.Paths = paths(t, "ping") },
		"below --op-timeout":        func(p *Plan) { p.SLOs[0].LimitNS = 1e9 },
		"is given twice":            func(p *Plan) { p.SLOs = append(p.SLOs, p.SLOs[0]) },
		"no whole job":              func(p *Plan) { p.Ledger = false; p.SLOs[0].Span = results.SpanTotal },
		"at least two values":       func(p *Plan) { p.Vary = []Variation{variation(t, "ttl=1s")} },
		"no path of --paths":        func(p *Plan) { p.Paths = paths(t, "setnx"); p.Vary = []Variation{variation(t, "replica-rtt=0,1ms")} },
		"--vary ttl: is given":      func(p *Plan) { p.Vary = []Variation{variation(t, "ttl=1s,2s"), variation(t, "ttl=3s,4s")} },
		"--vary wait-replicas=40":   func(p *Plan) { p.Vary = []Variation{variation(t, "wait-replicas=1,40")} },
		"--vary replica-rtt=200ms":  func(p *Plan) { p.Vary = []Variation{variation(t, "replica-rtt=0,200ms")} },
		"lockcost failover to tell": func(p *Plan) { p.Down = []string{"primary"} },
	} {
		p := good()
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// A path is driven at every value of what it depends on, and once where it
// does not: it is what others are compared with.
func TestTargetsAreWhatDependsOnTheCondition(t *testing.T) {
	p := DefaultPlan()
	p.Paths = paths(t, "setnx", "setnx-wait")
	p.Vary = []Variation{variation(t, "replica-rtt=0,1ms,5ms"), variation(t, "hold=0,2s")}
	var variants []bench.Variant
	for _, path := range append(workloads.Floors(), p.Paths...) {
		variants = append(variants, bench.Variant{Path: path})
	}
	count := map[string]int{}
	for _, target := range p.targets(variants) {
		name := target.variant.Path.Name
		if target.varied != nil {
			name += " " + target.varied.Name
		}
		count[name]++
		if target.varied != nil && target.varied.Name == "hold" && target.plan.Hold != time.Duration(target.varied.Number) {
			t.Errorf("%s is held for %v", target.varied.Text, target.plan.Hold)
		}
		if target.plan.Hold > target.plan.Warmup {
			t.Errorf("held for %v after a warm-up of %v", target.plan.Hold, target.plan.Warmup)
		}
		if target.variant.Distance.ReplicaNS > 0 != (target.varied != nil && target.varied.Name == "replica-rtt" && target.varied.Number > 0 && target.variant.Path.Name == "setnx-wait") {
			t.Errorf("%+v at %+v", target.varied, target.variant.Distance)
		}
	}
	want := map[string]int{"null": 1, "ping": 1, "setnx replica-rtt": 1, "setnx-wait replica-rtt": 3, "setnx hold": 2, "setnx-wait hold": 2}
	for name, n := range want {
		if count[name] != n {
			t.Errorf("%s: %d, want %d", name, count[name], n)
		}
	}
}

func TestTheStackHasWhatEveryValueNeeds(t *testing.T) {
	p := DefaultPlan()
	p.Paths = paths(t, "setnx-wait")
	p.Vary = []Variation{variation(t, "replica-rtt=0,1ms"), variation(t, "wait-replicas=1,2,3")}
	if spec := p.Spec(); spec.Replicas != 3 || !spec.Links {
		t.Errorf("%+v", spec)
	}
}

// A step is long enough for the percentile that it is to have.
func TestAStepIsAsLongAsItsPercentileNeeds(t *testing.T) {
	p := DefaultPlan()
	p.SLOs = []results.SLO{{Span: results.SpanAcquire, Percentile: results.P99, LimitNS: 5e6}}
	for _, rate := range []float64{10, 100, 1000, 30000} {
		step := p.at(rate)
		if n := rate * step.Duration.Seconds(); int64(n) < results.SamplesFor(results.P99) {
			t.Errorf("at %v/s %v have %v samples", rate, step.Duration, n)
		}
		if step.Duration < p.Step || step.Highest != results.P99 {
			t.Errorf("at %v/s: %v, judged at %s", rate, step.Duration, step.Highest)
		}
	}
}
