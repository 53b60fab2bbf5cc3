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
	read, due time.Duration // on the relay's clock
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

	ended   bool // nothing more is to be read
	full    bool // nothing is read for now
	blocked bool // nothing can be written for now
}

// read queues what has come. That was seen at that time, and no later than
// that it came.
func (w *way) read(at time.Duration) {
	r := w.conn.relay
	n, errno := read(w.from.fd, r.buffer[:])
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return
	}
	c := chunk{read: at, due: r.delay.Load().due(at)}
	if errno != 0 || n == 0 {
		c.last, w.ended = true, true
	} else {
		c.bytes = n
		w.bytes.put(r.buffer[:n]...)
	}
	w.chunks.put(c)
	w.full = w.underWay() > queueBytes
	if w.chunks.length == 1 && c.due <= at {
		w.forward()
		return
	}
	w.settle()
}

// underWay is the bytes that are in, and what else they take.
func (w *way) underWay() int { return w.bytes.length + w.chunks.length*chunkBytes }

// forward passes on the next chunk, or as much of it as can be written.
func (w *way) forward() {
	r, c := w.conn.relay, w.chunks.head()
	if c.last {
		w.conn.close()
		return
	}
	if !c.begun {
		c.begun = true
		r.given[w.direction].add(r.clock.Now() - c.read)
	}
	n, errno := write(w.to.fd, w.bytes.front(c.bytes))
	switch errno {
	case 0:
		w.bytes.drop(n)
		if c.bytes -= n; c.bytes == 0 {
			w.chunks.drop(1)
		}
		w.full = w.full && w.underWay() > queueBytes/2
	case unix.EINTR:
	case unix.EAGAIN:
		w.blocked = true
	default:
		w.end()
	}
	w.settle()
}

// end drops what is under way, and what would follow: nobody takes it. What
// comes the other way may still arrive, and its end closes both.
func (w *way) end() {
	w.ended, w.chunks, w.bytes = true, fifo[chunk]{}, fifo[byte]{}
	if back := w.to.out; back.ended && back.chunks.length == 0 { // neither does the other side
		w.conn.close()
	}
}

// settle has the way wait for what it needs next.
func (w *way) settle() {
	r := w.conn.relay
	waits := w.chunks.length > 0 && !w.blocked
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
