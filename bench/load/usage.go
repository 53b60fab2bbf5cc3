package load

import (
	"math"
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"

	"lockcost/results"
)

// usage is a reading of what the driver has used so far, and of what the Go
// runtime did meanwhile. Figures are differences of two readings.
type usage struct {
	taken   bool
	at      time.Time
	cpu     time.Duration // the driver's CPU time (getrusage(2)), what it took to poll not counted
	cycles  uint64
	gc      *metrics.Float64Histogram
	latency *metrics.Float64Histogram
}

const (
	metricCycles  = "/gc/cycles/total:gc-cycles"
	metricPauses  = "/sched/pauses/total/gc:seconds"
	metricLatency = "/sched/latencies:seconds"
)

func (d *driver) readUsage() usage {
	samples := []metrics.Sample{{Name: metricCycles}, {Name: metricPauses}, {Name: metricLatency}}
	metrics.Read(samples)
	u := usage{taken: true, at: time.Now()}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err == nil {
		u.cpu = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	}
	if d.poller != nil { // which takes all there is
		u.cpu = d.poller.busy()
	}
	u.cycles = samples[0].Value.Uint64()
	u.gc = samples[1].Value.Float64Histogram()
	u.latency = samples[2].Value.Float64Histogram()
	return u
}

// since fills in what was used between before and u.
func (u usage) since(before usage, in *results.Instrument) {
	// GOMAXPROCS is the number of CPUs that it is confined to.
	if elapsed := u.at.Sub(before.at); elapsed > 0 {
		in.CPUNS = int64(u.cpu - before.cpu)
		in.CPUBusyRatio = float64(u.cpu-before.cpu) / float64(elapsed) / float64(runtime.GOMAXPROCS(0))
	}
	in.GCCycles = int64(u.cycles - before.cycles)
	gc := difference(u.gc, before.gc)
	in.GCPauseMaxNS, in.GCPauseTotalNS = gc.max(), gc.total()
	in.SchedP99NS = difference(u.latency, before.latency).quantile(0.99)
}

// buckets is a histogram of the runtime's over a stretch of time. Values are
// taken at a bucket's upper edge, so they are upper bounds.
type buckets struct {
	counts []uint64
	edges  []float64 // seconds, one more than counts
}

func difference(now, before *metrics.Float64Histogram) buckets {
	counts := make([]uint64, len(now.Counts))
	for i := range counts {
		counts[i] = now.Counts[i] - before.Counts[i]
	}
	return buckets{counts, now.Buckets}
}

// upper is the upper edge of a bucket in nanoseconds, or the lower where the
// upper is infinite.
func (b buckets) upper(i int) int64 {
	edge := b.edges[i+1]
	if math.IsInf(edge, 1) {
		edge = b.edges[i]
	}
	return int64(edge * 1e9)
}

func (b buckets) max() int64 {
	for i := len(b.counts) - 1; i >= 0; i-- {
		if b.counts[i] > 0 {
			return b.upper(i)
		}
	}
	return 0
}

func (b buckets) total() (ns int64) {
	for i, n := range b.counts {
		if n > 0 {
			ns += int64(n) * b.upper(i)
		}
	}
	return ns
}

func (b buckets) quantile(q float64) int64 {
	var all, seen uint64
	for _, n := range b.counts {
		all += n
	}
	for i, n := range b.counts {
		seen += n
		if n > 0 && float64(seen) >= q*float64(all) {
			return b.upper(i)
		}
	}
	return 0
}
