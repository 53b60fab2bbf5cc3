package load

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"lockcost/env/timer"
)

// Pauses of the driver are found by what wakes the workers: the poller, which
// notices when one of its turns took long, or, where it sleeps, a goroutine
// that waits each millisecond as the workers wait for their slots. Whatever
// keeps workers from starting keeps it too: a stopped process, a CPU taken
// away, a stall of Go's runtime.
const (
	pauseTick = time.Millisecond
	// pauseFloor is the delay above which it is called a pause. Below it, it
	// is ordinary lag, and judged as that. A pause is found up to a tick
	// shorter than it was.
	pauseFloor = time.Millisecond

	sampleEvery = time.Millisecond // on average
)

// pause is a stretch in which the driver stood still.
type pause struct{ from, to time.Duration }

// pauses keeps them for as long as an operation that overlapped one may take
// to be drained.
type pauses struct {
	keep  time.Duration
	clock *timer.Clock

	// sample, where it is not nil, is called about each millisecond of the
	// window, at random times.
	sample func()

	mu      sync.Mutex
	next    time.Duration // time of the next sample; 0 outside of the window
	seen    time.Duration // until when it is known what happened
	recent  []pause
	count   int64
	longest time.Duration
}

// note takes note of a stretch in which nobody looked.
func (p *pauses) note(from, to time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = to
	if p.next > 0 && to >= p.next {
		p.next = to + sampleEvery/2 + rand.N(sampleEvery)
		p.sample()
	}
	if late := to - from; late > pauseFloor {
		p.recent = append(p.recent, pause{from, to})
		p.count++
		p.longest = max(p.longest, late)
	}
}

// list returns the pauses that are kept, and one that may still be going on.
func (p *pauses) list() []pause {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	p.recent = slices.DeleteFunc(p.recent, func(old pause) bool { return old.to < now-p.keep })
	listed := slices.Clone(p.recent)
	if now-p.seen > pauseTick+pauseFloor {
		listed = append(listed, pause{p.seen, now})
	}
	return listed
}

// restart counts anew from the start of the measured window, and begins to
// sample.
func (p *pauses) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count, p.longest = 0, 0
	if p.sample != nil {
		p.next = p.clock.Now()
	}
}

// windowEnds takes no more samples.
func (p *pauses) windowEnds() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = 0
}

// total is the number of pauses and the longest.
func (p *pauses) total() (int64, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count, p.longest
}

// ticker looks for pauses where the driver sleeps.
type ticker struct {
	timer timer.Timer
	ended chan struct{}
}

func watchPauses(p *pauses, newTimer func(*timer.Clock) (timer.Timer, error)) (*ticker, error) {
	t, err := newTimer(p.clock)
	if err != nil {
		return nil, err
	}
	w := &ticker{timer: timer.Exactly(t, p.clock), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		for {
			// No tick has a fixed place between two slots: of two timers that
			// fire together, the second delays what the first woke.
			tick := p.clock.Now() + pauseTick/2 + rand.N(pauseTick)
			if w.timer.Wait(tick) != nil {
				return
			}
			p.note(tick, p.clock.Now())
		}
	}()
	return w, nil
}

func (w *ticker) close() {
	w.timer.Stop()
	<-w.ended
	_ = w.timer.Close()
}
