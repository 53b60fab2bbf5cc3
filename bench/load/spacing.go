package load

import (
	"math"
	"slices"
	"time"
)

// spacing measures how evenly operations really start: the coefficient of
// variation of the time between a slot's start and the next one's, near 0
// for constant arrivals and near 1 for Poisson ones. Two slots count that
// ended in the same interval, which is all but a few.
type spacing struct {
	slots      []int64 // of the interval, in no order
	starts     []time.Duration
	ordered    []time.Duration // by slot, from the first
	count      float64
	sum        float64 // seconds
	sumSquares float64
}

// notStarted marks a slot whose start is not known.
const notStarted = time.Duration(-1)

func (g *spacing) add(slot int64, start time.Duration) {
	g.slots, g.starts = append(g.slots, slot), append(g.starts, start)
}

// end takes in what was added since the last call.
func (g *spacing) end() {
	defer func() { g.slots, g.starts = g.slots[:0], g.starts[:0] }()
	if len(g.slots) < 2 {
		return
	}
	first, last := slices.Min(g.slots), slices.Max(g.slots)
	if last-first > 4*int64(len(g.slots)) {
		return // stragglers of a long stall: no picture of how slots start
	}
	g.ordered = g.ordered[:0]
	for range last - first + 1 {
		g.ordered = append(g.ordered, notStarted)
	}
	for i, slot := range g.slots {
		g.ordered[slot-first] = g.starts[i]
	}
	for i := 1; i < len(g.ordered); i++ {
		if g.ordered[i-1] == notStarted || g.ordered[i] == notStarted {
			continue
		}
		gap := (g.ordered[i] - g.ordered[i-1]).Seconds()
		g.count++
		g.sum += gap
		g.sumSquares += gap * gap
	}
}

// variation is the coefficient, 0 where there is nothing to tell it from.
func (g *spacing) variation() float64 {
	if g.count < 2 || g.sum <= 0 {
		return 0
	}
	mean := g.sum / g.count
	return math.Sqrt(max(g.sumSquares/g.count-mean*mean, 0)) / mean
}
