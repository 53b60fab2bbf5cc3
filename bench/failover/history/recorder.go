package history

import "sync"

// chunkOps is how many operations are kept in one piece. To move all that was
// kept to a greater piece, as a growing slice does, would stop every worker
// for milliseconds.
const chunkOps = 1024

// Recorder keeps the operations of a running trial. The zero value is ready,
// and any number of workers may use it at once: it is locked for as long as
// it takes to copy one operation.
//
// Every operation is to be added, one that was broken off with the steps it
// came to: a grant that is missing can make another look like the latest.
type Recorder struct {
	mu     sync.Mutex
	chunks [][]Op // each but the last is full
}

// Add keeps an operation that has ended. What it points to must not be
// changed afterwards.
func (r *Recorder) Add(o Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.chunks) - 1
	if last < 0 || len(r.chunks[last]) == chunkOps {
		r.chunks = append(r.chunks, make([]Op, 0, chunkOps))
		last++
	}
	r.chunks[last] = append(r.chunks[last], o)
}

// Ops is what was added until now, in the order in which the acquisitions
// returned. It is a copy; operations may still be added.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	var all []Op
	for _, chunk := range r.chunks {
		all = append(all, chunk...)
	}
	r.mu.Unlock()
	return sortedByReturn(all)
}
