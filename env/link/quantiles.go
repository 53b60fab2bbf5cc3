package link

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Quantiles describe a set of durations. They are 0 where there are none.
type Quantiles struct {
	P10, P50, P90, P99, Max time.Duration
	Count                   int64
}

// reservoirSize is enough for a P99 with 40 durations beyond it.
const reservoirSize = 4096

// reservoir keeps a fair sample of any number of durations: all of them
// while they are few (algorithm R; Vitter 1985, "Random sampling with a
// reservoir").
type reservoir struct {
	mu     sync.Mutex
	sample []time.Duration
	count  int64
	max    time.Duration
}

func (r *reservoir) add(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	r.max = max(r.max, d)
	if r.sample == nil {
		r.sample = make([]time.Duration, 0, reservoirSize)
	}
	if len(r.sample) < reservoirSize {
		r.sample = append(r.sample, d)
	} else if i := rand.Int64N(r.count); i < reservoirSize {
		r.sample[i] = d
	}
}

func (r *reservoir) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sample, r.count, r.max = r.sample[:0], 0, 0
}

func (r *reservoir) quantiles() Quantiles {
	r.mu.Lock()
	q := Quantiles{Max: r.max, Count: r.count}
	sorted := slices.Clone(r.sample)
	r.mu.Unlock()
	if len(sorted) == 0 {
		return q
	}
	slices.Sort(sorted)
	at := func(p float64) time.Duration { return sorted[int(math.Ceil(p*float64(len(sorted))))-1] }
	q.P10, q.P50, q.P90, q.P99 = at(0.10), at(0.50), at(0.90), at(0.99)
	return q
}
