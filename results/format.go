package results

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// durationUnit is what durations of a size are written in.
type durationUnit struct {
	name string
	ns   float64
}

var durationUnits = []durationUnit{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}}

// FormatDuration writes a duration in the unit that suits its size, to three
// significant digits: 850 ns, 214 µs, 1.08 ms, 2.50 s.
func FormatDuration(ns int64) string {
	unit := unitOf(ns)
	return unit.number(ns) + " " + unit.name
}

// unitOf picks the unit in which ns, rounded to three digits, is at least 1.
func unitOf(ns int64) durationUnit {
	size := math.Abs(float64(ns))
	for _, unit := range durationUnits {
		if size >= 0.9995*unit.ns {
			return unit
		}
	}
	return durationUnits[len(durationUnits)-1]
}

// number writes ns in the unit, to three significant digits, without it.
func (u durationUnit) number(ns int64) string {
	if u.ns == 1 {
		return fmt.Sprint(ns)
	}
	return threeDigits(float64(ns) / u.ns)
}

// threeDigits writes x with at most three significant digits, and never more
// than three decimals.
func threeDigits(x float64) string {
	switch size := math.Abs(x); {
	case size >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case size >= 9.995:
		return fmt.Sprintf("%.1f", x)
	case size >= 0.9995:
		return fmt.Sprintf("%.2f", x)
	case size < 0.0005:
		return "0"
	}
	return fmt.Sprintf("%.3f", x)
}

// signed is number with a sign in front.
func (u durationUnit) signed(ns int64) string {
	if ns > 0 {
		return "+" + u.number(ns)
	}
	return u.number(ns)
}

// signed is FormatDuration with a sign in front, for differences.
func signed(ns int64) string {
	if ns > 0 {
		return "+" + FormatDuration(ns)
	}
	return FormatDuration(ns)
}

// percent writes a ratio as a percentage of a length that suits it.
func percent(ratio float64) string {
	switch p := ratio * 100; {
	case p == 0 || p >= 99.995:
		return fmt.Sprintf("%.0f %%", p)
	case p >= 10:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.2f %%", p)
	}
}

// FormatRate writes a rate per second for people: 1,410 or 62.5, without its
// unit.
func FormatRate(perS float64) string {
	text := strconv.FormatFloat(perS, 'f', -1, 64)
	if perS >= 100 {
		text = strconv.FormatFloat(perS, 'f', 0, 64)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole
}
