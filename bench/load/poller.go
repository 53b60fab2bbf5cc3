package load

import (
	"container/heap"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"lockcost/env/placement"
	"lockcost/env/timer"
)

// PollSwitch is the environment variable that lets the driver sleep when it
// is set to "off".
const PollSwitch = "LOCKCOST_POLL"

// pollRateMost is the rate, per second, up to which one CPU does. Above it
// the driver sleeps when it has nothing to do, on all of its CPUs.
const pollRateMost = 20_000

// poller keeps the driver from going to sleep while it has a CPU to itself.
//
// What wakes a sleeping thread is an interrupt, and on a virtual machine that
// takes 40 to 100 µs, for a timer and for a reply alike. A reply that comes
// before the driver has gone to sleep is read that much sooner than one that
// comes after, so that a server which takes 100 µs longer seems to take
// 150 µs longer; and what comes while a timer interrupts waits for its end.
//
// A loop that waits for the next slot would cure the slots and delay the
// replies. This one looks for both: it makes Go's scheduler ask the network
// each time there is nothing else to run, some 200,000 times a second, and
// then looks at the clock for whoever is due. It yields to whatever can run,
// and no interrupt is ever waited for.
type poller struct {
	clock   *timer.Clock
	turn    func() // lets everything run that can, and asks the network
	close   func() error
	stopped atomic.Bool
	ended   chan struct{}

	mu      sync.Mutex
	waiting waiters
	turns   turns
	last    time.Duration // end of the last turn
	pauses  *pauses
}

// turns is how the poller spent its time.
type turns struct {
	least time.Duration // a turn in which nothing ran
	busy  time.Duration // in all turns in which something did
}

// polls tells whether a run at that rate is to be polled: where the driver
// has a CPU that no server shares.
func polls(rate float64) bool {
	return rate <= pollRateMost && placement.Current().Pinned && os.Getenv(PollSwitch) != "off"
}

// start turns until close is called.
func (p *poller) start() {
	p.ended = make(chan struct{})
	p.last = p.clock.Now()
	go func() {
		defer close(p.ended)
		for !p.stopped.Load() {
			p.turn()
			p.wake(p.clock.Now())
		}
	}()
}

// wake takes note of how long the turn was, and lets those go on who are
// due.
func (p *poller) wake(now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	length := now - p.last
	p.pauses.note(p.last, now)
	p.last = now
	if p.turns.least == 0 || length < p.turns.least {
		p.turns.least = length
	}
	if length > 4*p.turns.least {
		p.turns.busy += length
	}
	for len(p.waiting) > 0 && p.waiting[0].until <= now {
		heap.Pop(&p.waiting).(*polledTimer).let()
	}
}

// busy is how long something was run so far.
func (p *poller) busy() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turns.busy
}

// stop ends the turns, once nobody waits any more.
func (p *poller) stop() {
	p.stopped.Store(true)
	<-p.ended
	_ = p.close()
}

// newTimer makes a timer that the poller wakes.
func (p *poller) newTimer(*timer.Clock) (timer.Timer, error) {
	return &polledTimer{poller: p, due: make(chan struct{}, 1)}, nil
}

// polledTimer is a timer.Timer without an interrupt.
type polledTimer struct {
	poller  *poller
	until   time.Duration
	due     chan struct{}
	stopped atomic.Bool
}

func (t *polledTimer) Wait(until time.Duration) error {
	if t.stopped.Load() {
		return timer.ErrStopped
	}
	t.poller.mu.Lock()
	t.until = until
	heap.Push(&t.poller.waiting, t)
	t.poller.mu.Unlock()
	<-t.due
	if t.stopped.Load() {
		return timer.ErrStopped
	}
	return nil
}

func (t *polledTimer) Stop() {
	t.stopped.Store(true)
	t.let()
}

func (t *polledTimer) Close() error { return nil }

// let ends a wait. One that was stopped may be let go twice.
func (t *polledTimer) let() {
	select {
	case t.due <- struct{}{}:
	default:
	}
}

// waiters is a heap, the first due on top.
type waiters []*polledTimer

func (w waiters) Len() int           { return len(w) }
func (w waiters) Less(i, j int) bool { return w[i].until < w[j].until }
func (w waiters) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }

// Push is part of heap.Interface.
func (w *waiters) Push(x any) { *w = append(*w, x.(*polledTimer)) }

// Pop is part of heap.Interface.
func (w *waiters) Pop() any {
	last := len(*w) - 1
	t := (*w)[last]
	*w = (*w)[:last]
	return t
}
