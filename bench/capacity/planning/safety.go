package planning

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockcost/results"
	"lockcost/workloads"
)

// Headroom is how much more than the asked rate a path takes within the SLO.
type Headroom struct {
	Down        string   `json:"down_node,omitempty"`
	MaxRatePerS *float64 `json:"max_rate_per_s"` // nil where it was not measured, or no rate met the SLO
	Ratio       *float64 `json:"headroom_ratio"` // over the asked rate
	AtLeast     bool     `json:"at_least"`       // the instrument, or the end of the search, set the limit
	Note        string   `json:"note,omitempty"`
}

// headrooms are those in normal running, and with a node down.
func headrooms(q Question, l string, sources []Source) []Headroom {
	distance := ""
	for flag, rtt := range map[string]int64{" --replica-rtt ": q.ReplicaRTTNS, " --client-rtt ": q.ClientRTTNS} {
		if path, err := workloads.Find(l); rtt > 0 && err == nil && (path.Replicated() || flag != " --replica-rtt ") {
			distance += flag + time.Duration(rtt).String()
		}
	}
	normal := headroom(q, l, sources, func(down []string) bool { return len(down) == 0 })
	if normal.Note == notMeasured {
		normal.Note = fmt.Sprintf("not measured there: run lockcost sweep --slo %s --paths %s%s", q.SLO, l, distance)
	}
	node := q.Down
	if node == "" {
		node = "replica-1"
		for _, s := range sources {
			if down := s.down(); len(down) > 0 {
				node = down[0]
			}
		}
	}
	failed := headroom(q, l, sources, func(down []string) bool { return slices.Contains(down, node) })
	failed.Down = node
	if failed.Note == notMeasured {
		failed.Note = fmt.Sprintf("not measured: run lockcost sweep --slo %s --down %s --paths %s%s", q.SLO, node, l, distance)
	}
	return []Headroom{normal, failed}
}

const notMeasured = "not measured"

// headroom judges the steps of the sweeps anew, against the asked SLO.
func headroom(q Question, l string, sources []Source, of func(down []string) bool) Headroom {
	var steps []results.Step
	for _, s := range sources {
		if s.Capacity == nil || !of(s.Capacity.Down) {
			continue
		}
		for _, p := range s.Capacity.Points {
			at := p.Distance() == results.Distance{ReplicaNS: q.ReplicaRTTNS, ClientNS: q.ClientRTTNS} ||
				p.Distance() == results.Distance{ClientNS: q.ClientRTTNS} && !waits([]point{{path: p.Path}})
			if p.IsStep() && label(p.Path) == l && at {
				steps = append(steps, s.Capacity.Step(p, q.SLO))
			}
		}
	}
	slices.SortFunc(steps, func(a, b results.Step) int { return cmp.Compare(a.RatePerS, b.RatePerS) })
	if len(steps) == 0 {
		return Headroom{Note: notMeasured}
	}
	low, high := results.Boundary(steps)
	if low == nil {
		return Headroom{Note: "no measured rate met the SLO"}
	}
	ratio := low.RatePerS / q.RatePerS
	return Headroom{MaxRatePerS: &low.RatePerS, Ratio: &ratio, AtLeast: high == nil || high.Outcome == results.StepInstrument}
}

// Failover is what one scenario let through of the path.
type Failover struct {
	Scenario string                 `json:"scenario"`
	Trials   int                    `json:"trials"` // that count
	Events   map[results.Event]Risk `json:"events"`
	OutageNS *results.Level         `json:"outage,omitempty"`            // without any grant
	Refused  map[string]float64     `json:"refused_in_outage,omitempty"` // at the asked rate: median, low, high
}

// Risk is in how many trials something happened.
type Risk struct {
	results.Share
	UpperRatio float64 `json:"upper_ratio"` // that is still possible; of no event in n trials, results.UpperBoundZero
}

func failovers(q Question, l string, sources []Source) (all []Failover) {
	for _, source := range sources {
		if source.Failover == nil {
			continue
		}
		for _, s := range source.Failover.Scenarios {
			if s.PathLabel() != l {
				continue
			}
			f := Failover{Scenario: source.Failover.Label(s), Trials: s.Trials - s.Void, Events: map[results.Event]Risk{}}
			for event, share := range s.Shares {
				risk := Risk{share, share.High}
				if share.Trials == 0 {
					risk.UpperRatio = results.UpperBoundZero(int64(share.Of))
				}
				f.Events[event] = risk
			}
			if outage, ok := s.Times[results.WithoutGrant]; ok {
				f.OutageNS = &outage
				f.Refused = map[string]float64{"median": Little(q.RatePerS, float64(outage.MedianNS))}
				if outage.LowNS != nil && outage.HighNS != nil {
					f.Refused["low"], f.Refused["high"] = Little(q.RatePerS, float64(*outage.LowNS)), Little(q.RatePerS, float64(*outage.HighNS))
				}
			}
			all = append(all, f)
		}
	}
	return all
}

// downstream says what the ledger must support for the path.
func downstream(p results.Path) string {
	path, err := workloads.Find(label(p))
	switch {
	case err != nil || !path.Guarded():
		return "nothing beyond the transaction: the lock alone is trusted"
	case p.Path == "idempotent":
		return "a unique key on the job, inserted in the same transaction; repeats are to be handled"
	case p.Path == "optimistic":
		return "a version column, compared in the same transaction; stale refusals are to be handled"
	}
	return "a fence column, compared and set in the same transaction; stale refusals are to be handled"
}
