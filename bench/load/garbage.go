package load

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
)

// garbageBytes is how much may be allocated before the collector runs. An
// operation allocates some 10 KB, client libraries included.
const garbageBytes = 512 << 20

// HoldGarbage holds the garbage collector off, for the rest of the process,
// until the process has grown by 512 MiB from now; Run collects before it
// begins. A collection on one CPU was seen to delay operations by 3 to 6 ms,
// and at the usual settings there is one each second.
//
// It is for the start of a program and not for each run: were the settings
// put back, the runtime would return memory between two runs and take it
// anew, and on a virtual machine each of those pages may wait for the host.
// That was seen as pauses of 3 to 12 ms in every third run.
func HoldGarbage() {
	memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(memory)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(int64(min(memory[0].Value.Uint64(), math.MaxInt64/2)) + garbageBytes)
}
