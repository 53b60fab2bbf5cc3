package results

// Doctor is what was measured of the instrument itself, beside the machine's
// own floor. What was not measured is nil: the form that runs before each
// `lockcost run` leaves the throughput out, and other systems than Linux
// have no raw calls to compare with.
type Doctor struct {
	// How late the kernel's timer wakes a thread (a raw clock_nanosleep to
	// an absolute time, timer slack 1 ns), and how late the driver's pacer
	// starts a slot, at the same pace and on the same CPUs.
	TimerLagP50NS  int64 `json:"timer_lag_p50_ns"`
	TimerLagP90NS  int64 `json:"timer_lag_p90_ns"`
	TimerLagP99NS  int64 `json:"timer_lag_p99_ns"`
	TimerLagP999NS int64 `json:"timer_lag_p99_9_ns"`
	TimerSamples   int64 `json:"timer_samples"`
	PacerLagP50NS  int64 `json:"pacer_lag_p50_ns"`
	PacerLagP90NS  int64 `json:"pacer_lag_p90_ns"`
	PacerLagP99NS  int64 `json:"pacer_lag_p99_ns"`
	PacerLagP999NS int64 `json:"pacer_lag_p99_9_ns"`
	PacerSamples   int64 `json:"pacer_samples"`

	// How often, how long and for what share of the time the CPU is taken
	// from a thread that keeps it busy, by the kernel and by the host of a
	// virtual machine. No percentile that this share reaches can be finer
	// than those stretches are long.
	InterruptionsPerS *float64 `json:"interruptions_per_s"`
	InterruptionP50NS *int64   `json:"interruption_p50_ns"`
	InterruptedRatio  *float64 `json:"interrupted_ratio"`

	// LinearitySpreadNS is the largest excess at P50 less the smallest.
	LinearitySpreadNS *int64      `json:"linearity_spread_ns"`
	Linearity         []Linearity `json:"linearity"`

	// One PING, and one SET NX PX, by blocking system calls on one thread,
	// and through the driver.
	RawPingP50NS      *int64   `json:"raw_ping_p50_ns"`
	DriverPingP50NS   *int64   `json:"driver_ping_p50_ns"`
	PingOverheadRatio *float64 `json:"ping_overhead_ratio"`
	RawSetP50NS       *int64   `json:"raw_set_p50_ns"`
	DriverSetP50NS    *int64   `json:"driver_set_p50_ns"`
	SetOverheadRatio  *float64 `json:"set_overhead_ratio"`

	// PING over 50 connections, one command in flight on each, as fast as it
	// goes; CPU time is the client's.
	DriverCeilingPerS        *float64 `json:"driver_ceiling_per_s"`
	RedisBenchmarkPerS       *float64 `json:"redis_benchmark_per_s"`
	CeilingRatio             *float64 `json:"ceiling_ratio"`
	DriverCPUNSPerOp         *float64 `json:"driver_cpu_ns_per_op"`
	RedisBenchmarkCPUNSPerOp *float64 `json:"redis_benchmark_cpu_ns_per_op"`

	// What Go's runtime did meanwhile, in the driver's slices at 1000/s.
	GCCycles          int64 `json:"gc_cycles"`
	GCPauseMaxNS      int64 `json:"gc_pause_max_ns"`
	SchedLatencyP99NS int64 `json:"sched_latency_p99_ns"`
}

// Linearity is how much longer than it took a server to answer the driver
// says that it took. Whatever the excess is, it must be the same for each
// delay, or a difference between two paths is not what it seems.
type Linearity struct {
	InjectedNS  int64 `json:"injected_ns"`
	ExcessP50NS int64 `json:"excess_p50_ns"`
	ExcessP90NS int64 `json:"excess_p90_ns"`
	// How much later than it should the server answered, by its own log.
	ServerLateP50NS int64 `json:"server_late_p50_ns"`
	ServerLateP90NS int64 `json:"server_late_p90_ns"`
	Samples         int64 `json:"samples"`
}

// Targets of the instrument.
const (
	linearitySpreadMost = 30_000 // ns, over the whole range
	linearityTailMost   = 30_000 // ns from P50 to P90, at each delay
	overheadMost        = 1.5
	ceilingLeast        = 0.8
	ceilingCPUMost      = 2.0
)

// Target is one thing that the instrument should be, and whether it is.
type Target struct {
	Name     string // in words
	Measured string
	Goal     string
	Reached  bool
}

// Targets holds what was measured against what the instrument should reach.
// What was not measured is not in it.
func (d Doctor) Targets() []Target {
	targets := []Target{
		lagTarget("P50", d.PacerLagP50NS, d.TimerLagP50NS),
		lagTarget("P99", d.PacerLagP99NS, d.TimerLagP99NS),
	}
	if d.LinearitySpreadNS != nil {
		var tail int64
		for _, l := range d.Linearity {
			tail = max(tail, l.ExcessP90NS-l.ExcessP50NS)
		}
		targets = append(targets,
			Target{"linearity, spread of the excess", FormatDuration(*d.LinearitySpreadNS), "≤ " + FormatDuration(linearitySpreadMost), *d.LinearitySpreadNS <= linearitySpreadMost},
			Target{"linearity, P90 above P50", FormatDuration(tail), "≤ " + FormatDuration(linearityTailMost), tail <= linearityTailMost})
	}
	for _, r := range []struct {
		name  string
		ratio *float64
	}{{"PING through the driver against raw calls", d.PingOverheadRatio}, {"SET through the driver against raw calls", d.SetOverheadRatio}} {
		if r.ratio != nil {
			targets = append(targets, Target{r.name, timesText(*r.ratio), "≤ " + timesText(overheadMost), *r.ratio <= overheadMost})
		}
	}
	if d.CeilingRatio != nil {
		targets = append(targets, Target{"throughput against redis-benchmark", timesText(*d.CeilingRatio), "≥ " + timesText(ceilingLeast), *d.CeilingRatio >= ceilingLeast})
	}
	if d.DriverCPUNSPerOp != nil && d.RedisBenchmarkCPUNSPerOp != nil && *d.RedisBenchmarkCPUNSPerOp > 0 {
		ratio := *d.DriverCPUNSPerOp / *d.RedisBenchmarkCPUNSPerOp
		targets = append(targets, Target{"CPU an operation against redis-benchmark", timesText(ratio), "≤ " + timesText(ceilingCPUMost), ratio <= ceilingCPUMost})
	}
	return targets
}

func lagTarget(percentile string, pacer, timer int64) Target {
	return Target{"pacer's lag at " + percentile, FormatDuration(pacer), "≤ the timer's " + FormatDuration(timer), pacer <= timer}
}

func timesText(ratio float64) string { return "×" + threeDigits(ratio) }
