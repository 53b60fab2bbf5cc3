package load

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// schedule hands out slots in order. It is safe for use by many workers.
type schedule interface {
	// next claims the next slot and says when it is due, since the start of
	// the run. ok is false when there are no more.
	next() (slot int64, due time.Duration, ok bool)
	// taken is how many slots have been claimed so far.
	taken() int64
}

func newSchedule(p Plan) schedule {
	if p.Clients > 0 {
		return newClosed(p)
	}
	if p.Arrivals == Poisson {
		return &poisson{
			rate:   p.Rate,
			random: rand.New(rand.NewPCG(p.Seed, 0x9e3779b97f4a7c15)),
			warmup: p.Warmup, end: p.Warmup + p.Duration, count: p.Count,
		}
	}
	c := &constant{rateMilli: rateMilli(p.Rate)}
	if p.Count > 0 {
		c.slots = c.before(p.Warmup) + p.Count
	} else {
		c.slots = c.before(p.Warmup + p.Duration)
	}
	return c
}

// constant computes every due time from the slot's number, so no error
// accumulates however long the run.
type constant struct {
	rateMilli uint64 // arrivals per 1000 s
	slots     int64
	claimed   atomic.Int64
}

func rateMilli(rate float64) uint64 { return uint64(math.Round(rate * 1000)) }

func (c *constant) next() (int64, time.Duration, bool) {
	slot := c.claimed.Add(1) - 1
	if slot >= c.slots {
		return 0, 0, false
	}
	return slot, c.due(slot), true
}

func (c *constant) taken() int64 { return min(c.claimed.Load(), c.slots) }

// due is slot × 10¹² / rateMilli, in 128 bits: the product alone overflows
// 64 bits after a few hours.
func (c *constant) due(slot int64) time.Duration {
	high, low := bits.Mul64(uint64(slot), 1e12)
	ns, _ := bits.Div64(high, low, c.rateMilli)
	return time.Duration(ns)
}

// before is the number of slots that are due before t: those with
// slot × 10¹² < t × rateMilli, as due rounds down.
func (c *constant) before(t time.Duration) int64 {
	high, low := bits.Mul64(uint64(t), c.rateMilli)
	n, rest := bits.Div64(high, low, 1e12)
	if rest > 0 {
		n++
	}
	return int64(n)
}

// poisson draws its gaps in order, under the claim.
type poisson struct {
	mu          sync.Mutex
	random      *rand.Rand
	rate        float64
	warmup, end time.Duration
	count       int64 // when above 0, measured slots after which it ends
	slot        int64
	at          float64 // nanoseconds
	measured    int64
}

func (p *poisson) next() (int64, time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at += p.random.ExpFloat64() / p.rate * 1e9
	due := time.Duration(p.at)
	if p.count > 0 && p.measured == p.count || p.count <= 0 && due >= p.end {
		return 0, 0, false
	}
	if due >= p.warmup {
		p.measured++
	}
	p.slot++
	return p.slot - 1, due, true
}

func (p *poisson) taken() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slot
}

// Slots is the number of arrivals in the plan, warm-up included; of a closed
// loop the most that there can be.
func Slots(p Plan) int64 { return WarmupSlots(p) + windowSlots(p) }

// WarmupSlots is the number of arrivals before the measured window. Of a closed
// loop it is not known beforehand, and 0.
func WarmupSlots(p Plan) int64 {
	warmup, _ := count(p)
	return warmup
}

func windowSlots(p Plan) int64 {
	_, window := count(p)
	return window
}

func count(p Plan) (warmup, window int64) {
	s := newSchedule(p)
	switch s := s.(type) {
	case *closed:
		return 0, s.slots
	case *constant:
		warmup = s.before(p.Warmup)
		return warmup, s.slots - warmup
	}
	for {
		switch _, due, ok := s.next(); {
		case !ok:
			return warmup, window
		case due < p.Warmup:
			warmup++
		default:
			window++
		}
	}
}
