package history

import (
	"fmt"
	"testing"
)

// BenchmarkCheckers shows how the checkers' time grows: n·log n is some 1.2
// times as much for each operation where there are ten times as many.
func BenchmarkCheckers(b *testing.B) {
	for _, n := range []int64{20_000, 200_000} {
		histories := map[string][]Op{"one": nested(n), "many": make([]Op, n)}
		for i := range n {
			histories["many"][i] = grant(i/2, 10*i, 10*i+5, 1000, 10*i+9)
		}
		for _, orders := range []string{"one", "many"} {
			ops := histories[orders]
			for i := range ops {
				at := ops[i].Acquire.ReturnedNS
				ops[i].Read = step(at, at+1, Stale)
			}
			check := func(name string, do func()) {
				b.Run(fmt.Sprintf("checker=%s/orders=%s/ops=%d", name, orders, n), func(b *testing.B) {
					for b.Loop() {
						do()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/history-op")
				})
			}
			check("overlaps", func() { Overlaps(ops) })
			check("refused", func() { RightfulRefused(ops) })
		}
	}
}
