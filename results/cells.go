package results

import (
	"fmt"
	"strings"
)

// absent stands where a number has too little behind it.
const absent = "–"

// verdictCell is what was said of the path's runs, the worst first.
func verdictCell(p Path) string {
	count := map[Verdict]int{}
	for _, run := range p.Runs {
		count[run.Verdict]++
	}
	var parts []string
	for _, v := range []Verdict{Invalid, Saturated} {
		switch n := count[v]; {
		case n == len(p.Runs) && n > 0:
			return string(v)
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	switch {
	case len(p.Runs) == 0:
		return absent
	case len(parts) == 0:
		return string(Valid)
	}
	return fmt.Sprintf("%s of %d", strings.Join(parts, ", "), len(p.Runs))
}

// durabilityCell is where the lock is when it is granted.
func durabilityCell(p Path) string {
	if p.Durability == nil && !p.Lockless() {
		return absent // an older record
	}
	return p.Durability.Text()
}

// achievedCell is the median of the rates of the runs that count.
func achievedCell(p Path) string {
	var rates []float64
	for _, run := range p.Usable() {
		rates = append(rates, run.AchievedPerS)
	}
	if len(rates) == 0 {
		return absent
	}
	return fmt.Sprintf("%.4g/s", medianOf(rates).center)
}

// levelCell is a level, with its interval in the same unit.
func levelCell(p Path, span SpanName, percentile Percentile, interval bool) string {
	l, ok := p.Summary[span][percentile]
	if !ok {
		return absent
	}
	cell := FormatDuration(l.MedianNS)
	if interval && l.LowNS != nil && l.HighNS != nil {
		unit := unitOf(l.MedianNS)
		cell += fmt.Sprintf(" [%s, %s]", unit.number(*l.LowNS), unit.number(*l.HighNS))
	}
	if l.LowerBound {
		cell = "≥ " + cell
	}
	return cell
}

var boundSigns = map[Bound]string{BoundLower: "≥ ", BoundUpper: "≤ ", BoundUnknown: "? "}

func ratioCell(c Cost) string {
	cell := boundSigns[c.Bound] + "×" + threeDigits(c.Ratio)
	if c.RatioLow != nil && c.RatioHigh != nil {
		cell += fmt.Sprintf(" [%s, %s]", threeDigits(*c.RatioLow), threeDigits(*c.RatioHigh))
	}
	return cell
}

func deltaCell(c Cost) string {
	sign := boundSigns[c.Bound]
	if c.DeltaLowNS == nil || c.DeltaHighNS == nil {
		return sign + signed(c.DeltaNS) + ", n too small"
	}
	// All three in the unit of the greatest: a centre near 0 has none of its own.
	unit := unitOf(max(size(c.DeltaNS), size(*c.DeltaLowNS), size(*c.DeltaHighNS)))
	return sign + fmt.Sprintf("%s %s [%s, %s]", unit.signed(c.DeltaNS), unit.name,
		unit.signed(*c.DeltaLowNS), unit.signed(*c.DeltaHighNS))
}

func size(ns int64) int64 { return max(ns, -ns) }

func pCell(c Cost) string {
	switch {
	case c.PValue == nil:
		return "n too small"
	case *c.PValue < 0.001:
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", *c.PValue)
}

// controlCell names the control: idempotent takes the same lock as setnx.
func controlCell(p Path, span SpanName) string {
	if p.isControl() && span == SpanAcquire {
		return "A/A control"
	}
	return ""
}

// isControl tells the path whose lock is setnx's own.
func (p Path) isControl() bool { return p.Path == "idempotent" && len(p.Options) == 0 }

// tally sums how operations ended, over the runs that count.
type tally struct {
	completed, granted, held, unreplicated, expired int64
	errors                                          map[string]int64
}

func (p Path) tally() tally {
	t := tally{errors: map[string]int64{}}
	for _, run := range p.Usable() {
		t.completed += run.Completed
		t.granted += run.Granted
		t.held += run.Held
		t.unreplicated += run.Unreplicated
		t.expired += run.Expired
		for kind, n := range run.Errors {
			t.errors[kind] += n
		}
	}
	return t
}

// outcomeCells are the shares granted and refused, the number of errors, and
// the slots that expired.
func outcomeCells(p Path) []string {
	t := p.tally()
	if t.completed == 0 {
		return []string{absent, absent, absent, fmt.Sprint(t.expired)}
	}
	return []string{t.share(t.granted), t.share(t.held + t.unreplicated), fmt.Sprint(t.failed()), fmt.Sprint(t.expired)}
}

// endCells are outcomeCells with the refused by what refused them, how many
// were granted in a second, and the response of what was refused, which are
// absent where there are none.
func endCells(p Path) []string {
	t := p.tally()
	if t.completed == 0 {
		return []string{absent, absent, absent, absent, absent, fmt.Sprint(t.expired), absent, absent}
	}
	unreplicated := absent
	if t.unreplicated > 0 {
		unreplicated = t.share(t.unreplicated)
	}
	return []string{t.share(t.granted), grantedCell(p), t.share(t.held), unreplicated, fmt.Sprint(t.failed()), fmt.Sprint(t.expired),
		levelCell(p, SpanRefused, P50, false), levelCell(p, SpanRefused, P99, false)}
}

// grantedCell is the median over the runs that count of their rates of
// grants.
func grantedCell(p Path) string {
	var rates []float64
	for _, run := range p.Usable() {
		if run.Completed > 0 {
			rates = append(rates, run.AchievedPerS*float64(run.Granted)/float64(run.Completed))
		}
	}
	if len(rates) == 0 {
		return absent
	}
	return fmt.Sprintf("%.4g", medianOf(rates).center)
}

// failed counts the errors of all kinds.
func (t tally) failed() (n int64) {
	for _, count := range t.errors {
		n += count
	}
	return n
}

// share is a part of the completed operations.
func (t tally) share(n int64) string { return percent(float64(n) / float64(t.completed)) }
