package link

import (
	"net"
	"sync"
	"time"

	"lockcost/env/timer"
)

// direction is the way a chunk travels.
type direction int

const (
	request direction = iota // from the client to the server
	reply                    // from the server to the client
)

// pair is the two directions of one forwarded connection.
type pair [2]*way

func (l *Link) newPair(client, server net.Conn) *pair {
	p := &pair{}
	p[request] = &way{link: l, pair: p, direction: request, from: client, to: server, queue: newQueue()}
	p[reply] = &way{link: l, pair: p, direction: reply, from: server, to: client, queue: newQueue()}
	return p
}

// close ends both sides at once, with what is on its way between them.
// Closing twice is harmless.
func (p *pair) close() {
	for _, w := range p {
		w.close()
	}
}

// way carries chunks in one direction. Reading and writing are apart, so
// that a chunk under way holds up no other: what a delay costs is time, not
// throughput. When a chunk is due is settled as it is read (Link.due), what
// becomes of it as it is forwarded (Link.lost).
type way struct {
	link      *Link
	pair      *pair
	direction direction
	from, to  net.Conn
	queue     *queue

	mu     sync.Mutex
	closed bool
	timer  timer.Timer // made when it is first needed
}

// readBytes is the size of the largest chunk.
const readBytes = 32 << 10

// read queues what comes, and at last that no more does.
func (w *way) read() {
	buffer := make([]byte, readBytes)
	for {
		n, err := w.from.Read(buffer)
		at := w.link.clock.Now()
		if n > 0 && !w.queue.put(buffer[:n], chunk{read: at, due: w.link.due(at)}) {
			return
		}
		if err != nil {
			w.queue.put(nil, chunk{read: at, due: w.link.due(at), last: true})
			return
		}
	}
}

// write forwards each chunk when it is due.
func (w *way) write() {
	defer w.closeTimer()
	var buffer []byte
	for {
		c, ok := w.queue.head()
		if !ok {
			return
		}
		if w.wait(c.due) != nil || c.last {
			w.pair.close()
			return
		}
		if happened := w.link.lost(w.direction); happened != nil {
			close(happened) // first, so that whoever sees the cut sees this
			w.pair.close()
			return
		}
		buffer = w.queue.take(buffer[:0])
		w.link.given[w.direction].add(w.link.clock.Now() - c.read)
		if _, err := w.to.Write(buffer); err != nil {
			// What comes the other way may still arrive; its end closes all.
			_ = w.to.Close()
			w.queue.close()
			return
		}
	}
}

// wait returns when the time has come, or an error when the way is closed.
func (w *way) wait(until time.Duration) error {
	if until <= w.link.clock.Now() {
		return nil
	}
	t, err := w.openTimer()
	if err != nil {
		return err
	}
	return t.Wait(until)
}

func (w *way) openTimer() (timer.Timer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, timer.ErrStopped
	}
	if w.timer == nil {
		t, err := timer.New(w.link.clock)
		if err != nil {
			return nil, err
		}
		w.timer = timer.Exactly(t, w.link.clock)
	}
	return w.timer, nil
}

func (w *way) closeTimer() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		_ = w.timer.Close()
	}
	w.timer, w.closed = nil, true
}

func (w *way) close() {
	w.mu.Lock()
	if w.timer != nil && !w.closed {
		w.timer.Stop()
	}
	w.closed = true
	w.mu.Unlock()
	w.queue.close()
	_ = w.from.Close() // the other direction's to
}
