package load

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// garbageBytes is how much a run may allocate before the collector runs. An
// operation allocates some 10 KB, client libraries included.
const garbageBytes = 512 << 20

// holdGarbage collects now, and then holds the collector off until the
// process has grown by garbageBytes: a collection on one CPU was seen to
// delay operations by 3 to 6 ms, and at the usual settings there is one each
// second.
//
// The settings stay as they are when the run is over. Put back, they would
// have the runtime return memory between two runs and take it anew, and on a
// virtual machine each of those pages may wait for the host: pauses of 3 to
// 12 ms in every third run.
func holdGarbage() {
	runtime.GC()
	memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(memory)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(int64(min(memory[0].Value.Uint64(), math.MaxInt64/2)) + garbageBytes)
}
