package link

import (
	"container/heap"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readBytes is the size of the largest chunk.
	readBytes = 32 << 10
	// queueBytes bounds what one direction of a connection has under way: at
	// 10 ms enough for 800 MB/s. A sender that is faster waits, until half of
	// it has gone.
	queueBytes = 8 << 20
	// chunkBytes is what a chunk counts for besides its bytes.
	chunkBytes = 32
)

// chunk is what one read returned.
type chunk struct {
	bytes     int           // those that are still to be forwarded
	read, due time.Duration // on the relay's clock; due without the door's delay
	begun     bool          // some bytes have been forwarded, or tried to be
	last      bool          // the end of what comes, and no bytes
}

// way carries chunks in one direction of a connection. Two things are
// settled apart, and each in one place: as a chunk is read, when it is due
// (read), and what becomes of it when it is (forward). So a chunk under way
// holds up no other: what a delay costs is time, not throughput.
type way struct {
	conn      *conn
	direction direction
	from, to  *end
	chunks    fifo[chunk]
	bytes     fifo[byte]
	place     int // in relay.waiting, or none

	free time.Duration // no sooner may more pass, for its bound

	ended   bool // nothing more is to be read
	lost    bool // nobody takes it: what is read is dropped
	full    bool // nothing is read for now
	blocked bool // nothing can be written for now
}

// held is whether nothing passes.
func (w *way) held() bool { return w.conn.door.state.holds(w.direction) }

// due is when the next chunk, or more of it, is to be forwarded.
func (w *way) due() time.Duration {
	return max(w.chunks.head().due+w.conn.door.state.Delay, w.free)
}

// read queues what has come. That was seen at that time, and no later than
// that it came.
func (w *way) read(at time.Duration) {
	r := w.conn.relay
	n, errno := read(w.from.fd, r.buffer[:])
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return
	}
	w.ended = errno != 0 || n == 0
	if w.lost {
		w.conn.abandon()
		w.conn.watch()
		return
	}
	c := chunk{read: at, due: r.delay.Load().due(at), last: w.ended}
	if !w.ended {
		c.bytes = n
		w.bytes.put(r.buffer[:n]...)
	}
	w.chunks.put(c)
	w.full = w.underWay() > queueBytes
	if w.chunks.length == 1 && w.due() <= at {
		w.forward()
		return
	}
	w.settle()
}

// underWay is the bytes that are in, and what else they take.
func (w *way) underWay() int { return w.bytes.length + w.chunks.length*chunkBytes }

// forward passes on the next chunk, or as much of it as may pass and can be
// written.
func (w *way) forward() {
	r, c, s := w.conn.relay, w.chunks.head(), &w.conn.door.state
	if c.last {
		w.conn.close()
		return
	}
	now := r.clock.Now()
	if !c.begun {
		c.begun = true
		r.given[w.direction].add(now - c.read)
	}
	n, errno := write(w.to.fd, w.bytes.front(s.piece(c.bytes)))
	switch errno {
	case 0:
		w.free = max(w.free, now-pieceTime) + s.takes(n)
		w.bytes.drop(n)
		if c.bytes -= n; c.bytes == 0 {
			w.chunks.drop(1)
		}
		w.full = w.full && w.underWay() > queueBytes/2
	case unix.EINTR:
	case unix.EAGAIN:
		w.blocked = true
	default:
		w.lose()
	}
	w.settle()
}

// lose drops what is under way, and what will follow: nobody takes it. What
// comes the other way may still arrive, and its end closes both.
func (w *way) lose() {
	w.lost, w.full, w.chunks, w.bytes = true, false, fifo[chunk]{}, fifo[byte]{}
	w.conn.abandon()
}

// settle has the way wait for what it needs next.
func (w *way) settle() {
	r := w.conn.relay
	waits := w.chunks.length > 0 && !w.blocked && !w.held() && !w.conn.closed
	switch {
	case waits && w.place == none:
		heap.Push(&r.waiting, w)
	case waits:
		heap.Fix(&r.waiting, w.place)
	case w.place != none:
		heap.Remove(&r.waiting, w.place)
	}
	w.conn.watch()
}
