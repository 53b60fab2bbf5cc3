package plots

import (
	"math"

	"gonum.org/v1/plot"
)

var (
	_ plot.Normalizer = logScale{}
	_ plot.Normalizer = ninesScale{}
	_ plot.Normalizer = signedScale{}
)

// logScale is a logarithmic axis that shows what has no logarithm at its
// lower edge: a lag of 0 ns must not stop a figure from being drawn.
type logScale struct{}

// Normalize implements plot.Normalizer.
func (logScale) Normalize(lo, hi, x float64) float64 {
	if x < lo {
		return 0
	}
	return math.Log(x/lo) / math.Log(hi/lo)
}

// ninesScale is an axis of quantiles, from 0 to less than 1, on which each
// further nine takes the same length: 90 %, 99 % and 99.9 % are equally far
// apart.
type ninesScale struct{}

// Normalize implements plot.Normalizer.
func (ninesScale) Normalize(lo, hi, q float64) float64 {
	return (nines(q) - nines(lo)) / (nines(hi) - nines(lo))
}

// nines counts the nines of a quantile: 0 at 0, 1 at 0.9, 2 at 0.99.
func nines(q float64) float64 { return -math.Log10(1 - q) }

// quantileAt is the inverse of nines.
func quantileAt(n float64) float64 { return 1 - math.Pow(10, -n) }

// signedScale is linear near zero and logarithmic beyond Linear on both
// sides, so that a difference of some microseconds and one of a second can
// be read off one axis, and either may be negative.
type signedScale struct{ linear float64 }

// Normalize implements plot.Normalizer.
func (s signedScale) Normalize(lo, hi, x float64) float64 {
	return (s.apply(x) - s.apply(lo)) / (s.apply(hi) - s.apply(lo))
}

// apply maps a value to its position, undo back.
func (s signedScale) apply(v float64) float64 { return math.Asinh(v / s.linear) }
func (s signedScale) undo(p float64) float64  { return math.Sinh(p) * s.linear }

// extent is a range of values. The zero extent is of no use: see newExtent.
type extent struct{ lo, hi float64 }

// newExtent returns an extent that holds nothing.
func newExtent() extent { return extent{lo: math.Inf(1), hi: math.Inf(-1)} }

// add widens the extent to hold the values. NaN stands for no value.
func (e *extent) add(values ...float64) {
	for _, v := range values {
		if math.IsNaN(v) {
			continue
		}
		e.lo = math.Min(e.lo, v)
		e.hi = math.Max(e.hi, v)
	}
}

// empty says whether the extent holds nothing.
func (e extent) empty() bool { return e.lo > e.hi }

// logPadded returns the extent widened on both sides for a logarithmic axis:
// by a part of its length, and at least by the factor least.
func (e extent) logPadded(least float64) extent {
	if e.empty() {
		return extent{lo: 1, hi: 10}
	}
	lo := math.Max(e.lo, 1e-3)
	hi := math.Max(e.hi, lo)
	factor := math.Max(least, math.Pow(hi/lo, 0.06))
	return extent{lo: lo / factor, hi: hi * factor}
}

// paddedOn returns the extent widened by a part of its length as it appears
// on the given scale, whose inverse is back.
func (e extent) paddedOn(there, back func(float64) float64, part float64) extent {
	lo, hi := there(e.lo), there(e.hi)
	pad := (hi - lo) * part
	return extent{lo: back(lo - pad), hi: back(hi + pad)}
}
