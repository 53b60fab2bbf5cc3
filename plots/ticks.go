package plots

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// minus is the sign that is as wide as a plus, which a hyphen is not.
const minus = "−"

// durationTick prints nanoseconds as an axis does: no more digits than the
// value has, and the unit in which it is a small number.
func durationTick(ns float64) string {
	sign := ""
	if ns < 0 {
		sign, ns = minus, -ns
	}
	switch {
	case ns == 0:
		return "0"
	case ns < 1e3:
		return sign + plainNumber(ns) + " ns"
	case ns < 1e6:
		return sign + plainNumber(ns/1e3) + " µs"
	case ns < 1e9:
		return sign + plainNumber(ns/1e6) + " ms"
	default:
		return sign + plainNumber(ns/1e9) + " s"
	}
}

// plainNumber prints a number without an exponent and without the noise of
// binary fractions.
func plainNumber(v float64) string {
	s := strconv.FormatFloat(v, 'f', 6, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		if rest == "0" {
			return rest
		}
		return minus + rest
	}
	return s
}

// ratioTick prints a multiple.
func ratioTick(r float64) string {
	if r >= 1e4 {
		return grouped(int64(math.Round(r))) + "×"
	}
	return plainNumber(r) + "×"
}

// signedDurationTick prints a difference with its sign.
func signedDurationTick(ns float64) string {
	if ns > 0 {
		return "+" + durationTick(ns)
	}
	return durationTick(ns)
}

// percentTick prints a quantile as a percentage.
func percentTick(q float64) string { return plainNumber(q*100) + " %" }

// logTicks marks a logarithmic axis at 1, 2 and 5 of each decade, or at
// fewer where there would be more than most. An axis that spans less than a
// factor of 4 is marked like a linear one.
type logTicks struct {
	most  int
	label func(float64) string
}

// Ticks implements plot.Ticker.
func (t logTicks) Ticks(lo, hi float64) []plot.Tick {
	if hi/lo < 4 {
		return linearTicks(t).Ticks(lo, hi)
	}
	for _, mantissas := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		if ticks := t.at(lo, hi, mantissas, 1); len(ticks) <= t.most {
			return t.withMinor(lo, hi, ticks)
		}
	}
	step := 2
	for len(t.at(lo, hi, []float64{1}, step)) > t.most {
		step++
	}
	return t.withMinor(lo, hi, t.at(lo, hi, []float64{1}, step))
}

// at marks the given mantissas in every step-th decade.
func (t logTicks) at(lo, hi float64, mantissas []float64, step int) []plot.Tick {
	var ticks []plot.Tick
	for e := int(math.Floor(math.Log10(lo))); e <= int(math.Ceil(math.Log10(hi))); e++ {
		if e%step != 0 {
			continue
		}
		for _, m := range mantissas {
			if v := m * math.Pow10(e); v >= lo && v <= hi {
				ticks = append(ticks, plot.Tick{Value: v, Label: t.label(v)})
			}
		}
	}
	return ticks
}

// withMinor adds an unlabelled mark at each further whole multiple of a
// power of ten.
func (t logTicks) withMinor(lo, hi float64, major []plot.Tick) []plot.Tick {
	labelled := map[float64]bool{}
	for _, tick := range major {
		labelled[tick.Value] = true
	}
	all := major
	for _, tick := range t.at(lo, hi, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1) {
		if !labelled[tick.Value] {
			all = append(all, plot.Tick{Value: tick.Value})
		}
	}
	return all
}

// linearTicks marks a linear axis at multiples of 1, 2 or 5 times a power
// of ten, with at most most marks.
type linearTicks struct {
	most  int
	label func(float64) string
}

// Ticks implements plot.Ticker.
func (t linearTicks) Ticks(lo, hi float64) []plot.Tick {
	step := niceStep((hi - lo) / float64(max(t.most, 1)))
	for i := math.Ceil(lo / step); math.Floor(hi/step)-i+1 > float64(max(t.most, 1)); {
		step = niceStep(step * 1.01)
		i = math.Ceil(lo / step)
	}
	var ticks []plot.Tick
	for i := math.Ceil(lo / step); i <= math.Floor(hi/step); i++ {
		v := i * step
		ticks = append(ticks, plot.Tick{Value: v, Label: t.label(v)})
	}
	return ticks
}

// niceStep returns the smallest 1, 2 or 5 times a power of ten that is not
// below v.
func niceStep(v float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(v))))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// signedTicks marks zero and, on both sides, the powers of ten beyond the
// linear part of a signedScale.
type signedTicks struct {
	most   int
	linear float64
	label  func(float64) string
}

// Ticks implements plot.Ticker.
func (t signedTicks) Ticks(lo, hi float64) []plot.Tick {
	for step := 1; ; step++ {
		if ticks := t.every(lo, hi, step); len(ticks) <= t.most || step > 12 {
			return ticks
		}
	}
}

// every marks each step-th power of ten, the largest one included.
func (t signedTicks) every(lo, hi float64, step int) []plot.Tick {
	first := int(math.Round(math.Log10(t.linear)))
	last := int(math.Floor(math.Log10(math.Max(hi, -lo)) + 1e-9))
	ticks := []plot.Tick{{Value: 0, Label: t.label(0)}}
	for e := last; e >= first; e -= step {
		for _, v := range []float64{-math.Pow10(e), math.Pow10(e)} {
			if v >= lo && v <= hi {
				ticks = append(ticks, plot.Tick{Value: v, Label: t.label(v)})
			}
		}
	}
	return ticks
}

// ninesTicks marks the quantiles that are spoken of, those first that matter
// most.
type ninesTicks struct{}

// Ticks implements plot.Ticker.
func (ninesTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for _, q := range []float64{0.99, 0.9, 0.999, 0.9999, 0.5, 0.99999, 0.999999, 0} {
		if q >= lo && q <= hi {
			ticks = append(ticks, plot.Tick{Value: q, Label: percentTick(q)})
		}
	}
	return ticks
}

// makeRoom gives a horizontal axis that is length long a ticker, and leaves
// out labels that would touch. The axis's scale must be set.
func makeRoom(axis *plot.Axis, ticker plot.Ticker, length vg.Length) {
	style := axis.Tick.Label
	axis.Tick.Marker = roomy{
		Ticker: ticker, scale: axis.Scale, length: length.Points(),
		width: func(label string) float64 { return style.Width(label).Points() },
	}
}

// roomy leaves out labels of a horizontal axis that would touch one that
// comes earlier in the list: a ticker names its marks by importance.
type roomy struct {
	plot.Ticker
	scale  plot.Normalizer
	length float64                    // of the axis, in points
	width  func(label string) float64 // of a label, in points
}

// Ticks implements plot.Ticker.
func (r roomy) Ticks(lo, hi float64) []plot.Tick {
	const gap = 6
	ticks := r.Ticker.Ticks(lo, hi)
	var taken []extent
	for i, tick := range ticks {
		if tick.IsMinor() {
			continue
		}
		middle := r.scale.Normalize(lo, hi, tick.Value) * r.length
		half := r.width(tick.Label)/2 + gap/2
		room := extent{lo: middle - half, hi: middle + half}
		if overlapsAny(room, taken) {
			ticks[i].Label = ""
			continue
		}
		taken = append(taken, room)
	}
	return ticks
}

// overlapsAny says whether the extent shares more than a point with another.
func overlapsAny(e extent, others []extent) bool {
	for _, o := range others {
		if e.lo < o.hi && o.lo < e.hi {
			return true
		}
	}
	return false
}
