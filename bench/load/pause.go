package load

import (
	"lockcost/env/timer"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Pauses of the driver are found where a timer wakes late: the workers' own,
// and a goroutine's that waits beside them as they do. Whatever keeps workers
// from starting keeps it too: a stopped process, a CPU taken away, a stall of
// Go's runtime.
const (
	pauseTick = time.Millisecond
	// restTick is for when the workers' timers do the looking. A timer more
	// is no small thing: on a virtual machine it takes the CPU for 60 µs, and
	// what falls due meanwhile is late.
	restTick = 5 * time.Millisecond
	// pauseFloor is the delay above which a late timer is called a pause.
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
	woken atomic.Int64 // workers' timers since the last tick

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
		now := p.clock.Now()
		p.note(p.tick, now)
		p.next(now)
	}
}

// next sets the next tick. None has a fixed place between two slots, so that
// no delay of the server's is always met by one.
func (p *pauses) next(now time.Duration) {
	wait := pauseTick
	if p.woken.Swap(0) > 0 {
		wait = restTick
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick = now + wait/2 + rand.N(wait)
}

// worker notes that a worker's timer, due at that time, has woken it.
func (p *pauses) worker(due, now time.Duration) {
	p.woken.Add(1)
	if now-due > pauseFloor {
		p.note(due, now)
	}
}

// note records a pause where a timer was late enough. Several that were late
// for the same reason are one.
func (p *pauses) note(due, now time.Duration) {
	if now-due <= pauseFloor {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.recent); n > 0 && due <= p.recent[n-1].to {
		last := &p.recent[n-1]
		last.from, last.to = min(last.from, due), max(last.to, now)
		p.longest = max(p.longest, last.to-last.from)
		return
	}
	p.recent = append(p.recent, pause{due, now})
	p.count++
	p.longest = max(p.longest, now-due)
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
