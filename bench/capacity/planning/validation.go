package planning

import (
	"slices"

	"lockcost/results"
)

// Check is a measured level, predicted from all others of its path.
type Check struct {
	Path        string             `json:"path"` // with its distance
	RatePerS    float64            `json:"rate_per_s"`
	Span        results.SpanName   `json:"span"`
	Percentile  results.Percentile `json:"percentile"`
	PredictedNS int64              `json:"predicted_ns"`
	MeasuredNS  int64              `json:"measured_ns"`
	ErrorRatio  float64            `json:"error_ratio"`       // predicted over measured, less 1
	Overlap     *bool              `json:"intervals_overlap"` // nil where one has no interval

	main results.SpanName // that the path is known by: acquire, or the job of one without a lock
}

// checkRuns is how many runs a level has at least that a prediction is held
// against: of one run, as a search has many, it is chance.
const checkRuns = 3

// leaveOneOut predicts each interior rate of each distance from the others,
// where the system kept up.
func leaveOneOut(own []point) (checks []Check) {
	var seen []results.Distance
	for _, p := range own {
		d := p.path.Distance()
		if slices.Contains(seen, d) {
			continue
		}
		seen = append(seen, d)
		for _, span := range []results.SpanName{results.SpanAcquire, results.SpanTotal} {
			for _, percentile := range []results.Percentile{results.P50, results.P99} {
				c, _ := curveOf(atDistance(own, d), span, percentile)
				c = slices.DeleteFunc(c, func(k knot) bool { return k.estimate().LowerBound })
				for i := 1; i < len(c)-1; i++ {
					if c[i].level.N < checkRuns {
						continue
					}
					rest := slices.Delete(slices.Clone(c), i, i+1)
					e, err := rest.at(c[i].ratePerS)
					if err != nil {
						continue
					}
					checks = append(checks, check(p.path.Label(), p.path.Lockless(), c[i], span, percentile, e))
				}
			}
		}
	}
	return checks
}

func check(l string, lockless bool, k knot, span results.SpanName, p results.Percentile, e Estimate) Check {
	c := Check{Path: l, RatePerS: k.ratePerS, Span: span, Percentile: p, PredictedNS: e.MedianNS, MeasuredNS: k.level.MedianNS}
	c.main = results.SpanAcquire
	if lockless {
		c.main = results.SpanTotal
	}
	c.ErrorRatio = float64(e.MedianNS)/float64(max(1, k.level.MedianNS)) - 1
	if e.LowNS != nil && e.HighNS != nil && k.level.LowNS != nil && k.level.HighNS != nil {
		overlap := *e.LowNS <= *k.level.HighNS && *k.level.LowNS <= *e.HighNS
		c.Overlap = &overlap
	}
	return c
}
