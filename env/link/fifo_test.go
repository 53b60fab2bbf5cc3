package link

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A fifo is compared with a slice that does the same.
func TestFifoKeepsOrder(t *testing.T) {
	var f fifo[int]
	var want []int
	next := 0
	for range 10_000 {
		items := make([]int, rand.N(40))
		for i := range items {
			items[i] = next
			next++
		}
		f.put(items...)
		want = append(want, items...)
		for range rand.N(4) {
			front := f.front(rand.N(f.length + 1))
			if !slices.Equal(front, want[:len(front)]) {
				t.Fatalf("in front are %v, want %v", front, want[:len(front)])
			}
			f.drop(len(front))
			want = want[len(front):]
		}
		if f.length != len(want) || len(want) > 0 && *f.head() != want[0] {
			t.Fatalf("%d items, want %v", f.length, want)
		}
	}
	if len(f.ring) > 16*firstItems*firstItems {
		t.Errorf("the ring has grown to %d items", len(f.ring))
	}
}
