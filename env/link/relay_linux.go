package link

import (
	"container/heap"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"lockcost/env/timer"

	"golang.org/x/sys/unix"
)

// Supported tells whether there can be a Process on this system: its error is
// errors.ErrUnsupported.
func Supported() error { return nil }

// errEnded is of a relay that does nothing any more.
var errEnded = errors.New("the links have ended")

// relay forwards connections to its targets, and holds back what passes. It
// is one loop on one thread: what a server's CPU loses to a chunk is waking
// up twice, a read and a write.
type relay struct {
	addrs []string
	delay atomic.Pointer[delay]
	given [2]reservoir // how long chunks were held back, a direction each

	waking  sync.Mutex
	wake    int         // an eventfd that ends the loop's wait; none once it is closed
	orders  chan func() // what the loop is to do on its thread
	closing atomic.Bool
	close   sync.Once
	ended   chan struct{} // closed when the loop has ended
	err     error         // why it ended; valid then

	// All else is the loop's.
	clock    *timer.Clock
	poller   *poller
	watchers []watcher // by their file descriptor
	doors    []*door
	waiting  waiting
	buffer   [readBytes]byte
}

// watcher is what is told of the events of a file descriptor.
type watcher interface {
	// ready is told what happened, and when that was seen. It may have been
	// to a file descriptor of that number that was closed meanwhile. An error
	// ends the relay.
	ready(events uint32, at time.Duration) error
}

// newRelay listens on a free loopback port for each target, a host:port, and
// forwards each connection made to it, at first without delay. A server is
// connected to when a client comes, not before; where that fails, the
// client's connection is closed.
func newRelay(targets []string) (*relay, error) {
	r := &relay{ended: make(chan struct{}), orders: make(chan func(), 1), clock: timer.NewClock(), wake: none}
	r.SetDelay(0, 0)
	err := r.open(targets)
	if err != nil {
		r.release()
		_ = unix.Close(r.wake)
		return nil, err
	}
	go func() {
		defer close(r.ended)
		defer r.release()
		r.err = r.loop()
	}()
	return r, nil
}

func (r *relay) open(targets []string) (err error) {
	if r.poller, err = newPoller(); err != nil {
		return err
	}
	if r.wake, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	if err := r.poller.watch(r.wake, 0, unix.EPOLLIN); err != nil {
		return err
	}
	for _, target := range targets {
		d := &door{relay: r, name: target, conns: make(map[*conn]struct{})}
		if d.target, err = resolve(target); err != nil {
			return fmt.Errorf("link to %q: %w", target, err)
		}
		var addr string
		if d.fd, addr, err = listen(); err != nil {
			return fmt.Errorf("link to %s: %w", target, err)
		}
		r.addrs = append(r.addrs, addr)
		r.doors = append(r.doors, d)
		r.enter(d.fd, d)
		if err := r.poller.watch(d.fd, 0, unix.EPOLLIN); err != nil {
			return err
		}
	}
	return nil
}

// Addrs is where the clients of each target connect to, a host:port.
func (r *relay) Addrs() []string { return r.addrs }

// SetDelay is Process.SetDelay.
func (r *relay) SetDelay(oneWay, jitter time.Duration) {
	r.delay.Store(&delay{max(oneWay, 0), max(jitter, 0)})
}

// Delays is how long chunks were held back since the relay was made or
// ForgetDelays was called: out to the servers, and back from them.
func (r *relay) Delays() (out, back Quantiles) {
	return r.given[request].quantiles(), r.given[reply].quantiles()
}

// ForgetDelays begins the count of Delays anew.
func (r *relay) ForgetDelays() {
	for i := range r.given {
		r.given[i].reset()
	}
}

// Ended is closed when the relay forwards no more: after Close, or when it
// could not go on.
func (r *relay) Ended() <-chan struct{} { return r.ended }

// Close cuts every connection, with what is on its way, stops listening and
// returns when nothing of the relay is left, and why it ended if that was
// before. It is safe to call more than once.
func (r *relay) Close() error {
	r.close.Do(func() {
		r.closing.Store(true)
		r.rouse()
		<-r.ended
		r.waking.Lock()
		defer r.waking.Unlock()
		_ = unix.Close(r.wake)
		r.wake = none
	})
	<-r.ended
	return r.err
}

// rouse ends the loop's wait.
func (r *relay) rouse() {
	r.waking.Lock()
	defer r.waking.Unlock()
	if r.wake != none {
		_, _ = unix.Write(r.wake, []byte{7: 1})
	}
}

// do has the loop do something, and returns when it is done.
func (r *relay) do(what func()) error {
	done := make(chan struct{})
	select {
	case r.orders <- func() { what(); close(done) }:
	case <-r.ended:
		return errEnded
	}
	r.rouse()
	select {
	case <-done:
		return nil
	case <-r.ended:
		return errEnded
	}
}

// obey does what the loop has been told to.
func (r *relay) obey() {
	var count [8]byte
	_, _ = read(r.wake, count[:]) // or it would wake again
	for {
		select {
		case order := <-r.orders:
			order()
		default:
			return
		}
	}
}

func (r *relay) loop() error {
	runtime.LockOSThread() // never unlocked: the thread's settings end with it
	// Where a thread has no real-time priority, the kernel may wake it later
	// than asked for by as much (PR_SET_TIMERSLACK(2const)).
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	for {
		events, err := r.poller.wait(r.forward())
		if err != nil || r.closing.Load() {
			return err
		}
		at := r.clock.Now()
		r.forward() // first: they have waited for this
		for _, e := range events {
			if int(e.Fd) == r.wake {
				r.obey()
				continue
			}
			if int(e.Fd) >= len(r.watchers) || r.watchers[e.Fd] == nil {
				continue // closed meanwhile, or the poller's own
			}
			if err := r.watchers[e.Fd].ready(e.Events, at); err != nil {
				return err
			}
		}
	}
}

// forward forwards what is due, and returns how long it is until more is: a
// time below 0 if nothing waits.
func (r *relay) forward() time.Duration {
	for len(r.waiting) > 0 {
		w := r.waiting[0]
		if left := w.due() - r.clock.Now(); left > 0 {
			return left
		}
		w.forward()
	}
	return none
}

// enter has events of a file descriptor told to w; nil ends that.
func (r *relay) enter(fd int, w watcher) {
	for fd >= len(r.watchers) {
		r.watchers = append(r.watchers, nil)
	}
	r.watchers[fd] = w
}

// release closes all that is open, except wake.
func (r *relay) release() {
	for fd, w := range r.watchers {
		if w != nil {
			_ = unix.Close(fd)
		}
	}
	if r.poller != nil {
		r.poller.close()
	}
}

// waiting is the ways that have a chunk to forward, the next due first: a
// heap.
type waiting []*way

var _ heap.Interface = (*waiting)(nil)

func (h waiting) Len() int           { return len(h) }
func (h waiting) Less(i, j int) bool { return h[i].due() < h[j].due() }

func (h waiting) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push is part of heap.Interface.
func (h *waiting) Push(x any) {
	w := x.(*way)
	w.place = len(*h)
	*h = append(*h, w)
}

// Pop is part of heap.Interface.
func (h *waiting) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	w.place = none
	return w
}
