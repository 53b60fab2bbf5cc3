package link

// firstItems is what a ring begins with; it doubles when it is full.
const firstItems = 64

// fifo is a ring that grows. It is reused from its start whenever it runs
// empty, so that little traffic touches little memory.
type fifo[T any] struct {
	ring          []T
	first, length int
}

func (f *fifo[T]) put(items ...T) {
	if need := f.length + len(items); need > len(f.ring) {
		grown := make([]T, max(need, 2*len(f.ring), firstItems))
		n := copy(grown, f.front(f.length))
		copy(grown[n:], f.ring[:f.length-n])
		f.ring, f.first = grown, 0
	}
	if len(items) == 0 {
		return
	}
	n := copy(f.ring[(f.first+f.length)%len(f.ring):], items)
	copy(f.ring, items[n:])
	f.length += len(items)
}

// head is the first item, in its place.
func (f *fifo[T]) head() *T { return &f.ring[f.first] }

// front is the first n items, or as many as lie before the ring's end.
func (f *fifo[T]) front(n int) []T { return f.ring[f.first:min(f.first+n, len(f.ring))] }

// drop removes the first n items.
func (f *fifo[T]) drop(n int) {
	f.length -= n
	if f.first += n; f.length == 0 {
		f.first = 0
	} else if f.first >= len(f.ring) {
		f.first -= len(f.ring)
	}
}
