package load

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// garbageBytes is how much a run may allocate before the collector runs. A
// collection on one CPU was seen to delay operations by 3 to 6 ms, and at
// the usual settings there is one each second. An operation allocates some
// 10 KB, client libraries included.
const garbageBytes = 512 << 20

// holdGarbage collects now, and then holds the collector off until the heap
// has grown by garbageBytes. What it returns puts the settings back.
func holdGarbage() (restore func()) {
	runtime.GC()
	memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(memory)
	limit := int64(min(memory[0].Value.Uint64(), math.MaxInt64/2)) + garbageBytes
	percent, before := debug.SetGCPercent(-1), debug.SetMemoryLimit(limit)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(before)
	}
}
