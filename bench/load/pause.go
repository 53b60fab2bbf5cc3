package load

import (
	"lockcost/env/timer"
	"slices"
	"sync"
	"time"
)

// Pauses of the driver are found by a goroutine that waits for each
// millisecond as the workers wait for their slots, so whatever keeps workers
// from starting keeps it too: a stopped process, a CPU taken away, a stall
// of Go's runtime.
const (
	pauseTick = time.Millisecond
	// pauseFloor is the delay above which a late tick is called a pause.
	// Below it, it is ordinary lag, and judged as that. A pause is found up
	// to a tick shorter than it was.
	pauseFloor = time.Millisecond
)

// pause is a stretch in which the driver stood still.
type pause struct{ from, to time.Duration }

// pauses watches for them. They are kept for as long as an operation that
// overlapped one may take to be drained.
type pauses struct {
	keep  time.Duration
	clock *timer.Clock
	timer timer.Timer
	ended chan struct{}

	mu      sync.Mutex
	tick    time.Duration // when the next is due
	recent  []pause
	count   int64
	longest time.Duration
}

func watchPauses(c *timer.Clock, newTimer func(*timer.Clock) (timer.Timer, error), keep time.Duration) (*pauses, error) {
	t, err := newTimer(c)
	if err != nil {
		return nil, err
	}
	p := &pauses{keep: keep, clock: c, timer: timer.Exactly(t, c), ended: make(chan struct{}), tick: c.Now() + pauseTick}
	go p.watch()
	return p, nil
}

func (p *pauses) watch() {
	defer close(p.ended)
	for p.timer.Wait(p.tick) == nil {
		p.note(p.clock.Now())
	}
}

// note records the delay of the tick that was due, and sets the next.
func (p *pauses) note(now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if late := now - p.tick; late > pauseFloor {
		p.recent = append(p.recent, pause{p.tick, now})
		p.count++
		p.longest = max(p.longest, late)
	}
	p.tick = now - now%pauseTick + pauseTick
}

// list returns the pauses that are kept, and one that may still be going on.
func (p *pauses) list() []pause {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	p.recent = slices.DeleteFunc(p.recent, func(old pause) bool { return old.to < now-p.keep })
	listed := slices.Clone(p.recent)
	if now-p.tick > pauseFloor {
		listed = append(listed, pause{p.tick, now})
	}
	return listed
}

// restart counts anew from the start of the measured window.
func (p *pauses) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count, p.longest = 0, 0
}

// total is the number of pauses and the longest.
func (p *pauses) total() (int64, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count, p.longest
}

func (p *pauses) close() {
	p.timer.Stop()
	<-p.ended
	_ = p.timer.Close()
}
