package planning

import (
	"fmt"
	"math"
	"sort"

	"lockcost/results"
)

// Estimate is one predicted time, with its interval where the measured levels
// that it rests on have one.
type Estimate struct {
	MedianNS     int64  `json:"median_ns"`
	LowNS        *int64 `json:"low_ns"`
	HighNS       *int64 `json:"high_ns"`
	LowerBound   bool   `json:"lower_bound,omitempty"`  // the system was saturated at a rate that it rests on
	Extrapolated bool   `json:"extrapolated,omitempty"` // beyond what was measured, by at most 10 %
}

// extrapolationShare is how far beyond the measured rates is still predicted.
const extrapolationShare = 0.10

// knot is a measured rate.
type knot struct {
	ratePerS  float64
	level     results.Level
	saturated bool
}

// curve is a level over rates, in rising order.
type curve []knot

// at is the level at the rate: linear in the logarithm of both between two
// measured rates. Its error says which rates were measured.
func (c curve) at(ratePerS float64) (Estimate, error) {
	if len(c) == 0 {
		return Estimate{}, fmt.Errorf("not measured")
	}
	i := sort.Search(len(c), func(i int) bool { return c[i].ratePerS >= ratePerS })
	if i < len(c) && c[i].ratePerS == ratePerS {
		return c[i].estimate(), nil
	}
	lowest, highest := c[0].ratePerS, c[len(c)-1].ratePerS
	outside := i == 0 || i == len(c)
	if outside && (len(c) < 2 || ratePerS > highest*(1+extrapolationShare) || ratePerS < lowest*(1-extrapolationShare)) {
		return Estimate{}, fmt.Errorf("measured %s", c.span())
	}
	i = min(max(i, 1), len(c)-1)
	e := between(c[i-1], c[i], ratePerS)
	e.Extrapolated = outside
	return e, nil
}

// span is the measured rates in words.
func (c curve) span() string {
	lowest, highest := c[0].ratePerS, c[len(c)-1].ratePerS
	if lowest == highest {
		return fmt.Sprintf("at %s/s only", results.FormatRate(lowest))
	}
	return fmt.Sprintf("from %s/s up to %s/s", results.FormatRate(lowest), results.FormatRate(highest))
}

func (k knot) estimate() Estimate {
	return Estimate{MedianNS: k.level.MedianNS, LowNS: k.level.LowNS, HighNS: k.level.HighNS, LowerBound: k.level.LowerBound || k.saturated}
}

// between is on the line through two knots, or beyond them.
func between(a, b knot, ratePerS float64) Estimate {
	share := math.Log(ratePerS/a.ratePerS) / math.Log(b.ratePerS/a.ratePerS)
	on := func(x, y int64) int64 {
		return int64(math.Round(math.Exp((1-share)*math.Log(float64(max(x, 1))) + share*math.Log(float64(max(y, 1))))))
	}
	end := func(x, y *int64) *int64 {
		if x == nil || y == nil {
			return nil
		}
		v := on(*x, *y)
		return &v
	}
	e := Estimate{MedianNS: on(a.level.MedianNS, b.level.MedianNS),
		LowNS: end(a.level.LowNS, b.level.LowNS), HighNS: end(a.level.HighNS, b.level.HighNS)}
	if e.LowNS != nil && e.HighNS != nil && *e.LowNS > *e.HighNS { // beyond both, where the ends' lines cross
		e.LowNS, e.HighNS = e.HighNS, e.LowNS
	}
	e.LowerBound = a.estimate().LowerBound || b.estimate().LowerBound
	return e
}
