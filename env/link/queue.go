package link

import (
	"sync"
	"time"
)

const (
	// queueBytes bounds what one direction of a connection has under way: at
	// 10 ms enough for 800 MB/s. A sender that is faster waits.
	queueBytes = 8 << 20
	// chunkBytes is what a chunk counts for besides its bytes.
	chunkBytes = 32
	// firstItems is what a ring begins with; it doubles when it is full.
	firstItems = 64
)

// chunk is what one read returned.
type chunk struct {
	bytes     int
	read, due time.Duration // on the link's clock
	last      bool          // the end of what comes, and no bytes
}

// queue holds the chunks under way in one direction, first in, first out. One
// goroutine puts and another takes.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	closed  bool
	chunks  fifo[chunk]
	bytes   fifo[byte]
}

func newQueue() *queue {
	q := &queue{}
	q.changed.L = &q.mu
	return q
}

// put adds a chunk of these bytes, once there is room for it. It returns
// false when the queue has been closed.
func (q *queue) put(bytes []byte, c chunk) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && q.bytes.length+q.chunks.length*chunkBytes > queueBytes {
		q.changed.Wait()
	}
	if q.closed {
		return false
	}
	c.bytes = len(bytes)
	q.bytes.put(bytes...)
	q.chunks.put(c)
	q.changed.Signal()
	return true
}

// head waits for the next chunk, and leaves it in. It returns false when the
// queue has been closed.
func (q *queue) head() (chunk, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && q.chunks.length == 0 {
		q.changed.Wait()
	}
	if q.closed {
		return chunk{}, false
	}
	return q.chunks.head(), true
}

// take removes the head and appends its bytes to buffer.
func (q *queue) take(buffer []byte) []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.chunks.length == 0 {
		return buffer
	}
	n := q.chunks.head().bytes
	q.chunks.drop(1)
	q.changed.Signal()
	old := len(buffer)
	buffer = append(buffer, make([]byte, n)...)
	q.bytes.peek(buffer[old:])
	q.bytes.drop(n)
	return buffer
}

// close drops what is in, and everything that comes.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// fifo is a ring that grows. It is reused from its start whenever it runs
// empty, so that little traffic touches little memory.
type fifo[T any] struct {
	ring          []T
	first, length int
}

func (f *fifo[T]) put(items ...T) {
	if need := f.length + len(items); need > len(f.ring) {
		grown := make([]T, max(need, 2*len(f.ring), firstItems))
		f.peek(grown[:f.length])
		f.ring, f.first = grown, 0
	}
	if len(items) == 0 {
		return
	}
	n := copy(f.ring[(f.first+f.length)%len(f.ring):], items)
	copy(f.ring, items[n:])
	f.length += len(items)
}

func (f *fifo[T]) head() T { return f.ring[f.first] }

// peek copies the first items to into, which has room for no more than are in.
func (f *fifo[T]) peek(into []T) {
	n := copy(into, f.ring[f.first:])
	copy(into[n:], f.ring)
}

// drop removes the first n items.
func (f *fifo[T]) drop(n int) {
	f.length -= n
	if f.first += n; f.length == 0 {
		f.first = 0
	} else if f.first >= len(f.ring) {
		f.first -= len(f.ring)
	}
}
