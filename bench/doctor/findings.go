package doctor

import (
	"slices"

	"lockcost/results"
)

// findings reads what was measured.
func (e *examination) findings() results.Doctor {
	d := results.Doctor{
		TimerLagP50NS: e.timer.Quantile(0.5), TimerLagP90NS: e.timer.Quantile(0.9),
		TimerLagP99NS: e.timer.Quantile(0.99), TimerLagP999NS: e.timer.Quantile(0.999),
		TimerSamples:  e.timer.Count(),
		PacerLagP50NS: e.pacer.Quantile(0.5), PacerLagP90NS: e.pacer.Quantile(0.9),
		PacerLagP99NS: e.pacer.Quantile(0.99), PacerLagP999NS: e.pacer.Quantile(0.999),
		PacerSamples: e.pacer.Count(),
		GCCycles:     e.instrument.GCCycles, GCPauseMaxNS: e.instrument.GCPauseMaxNS,
		SchedLatencyP99NS: e.instrument.SchedP99NS,
		Linearity:         []results.Linearity{},
	}
	d.RawPingP50NS, d.DriverPingP50NS, d.PingOverheadRatio = compared(e.rawPing, e.drivenPing)
	d.RawSetP50NS, d.DriverSetP50NS, d.SetOverheadRatio = compared(e.rawSet, e.drivenSet)
	if e.interrupted.Count() > 0 {
		perS := float64(e.interrupted.Count()) / e.busy.Seconds()
		share := perS * e.interrupted.Mean() / 1e9
		length := e.interrupted.Quantile(0.5)
		d.InterruptionsPerS, d.InterruptionP50NS, d.InterruptedRatio = &perS, &length, &share
	}
	e.findLinearity(&d)
	e.findThroughput(&d)
	return d
}

// compared is the medians of two histograms and their ratio, nil where one
// is empty.
func compared(raw, driven *results.Histogram) (rawNS, drivenNS *int64, ratio *float64) {
	if raw.Count() == 0 || driven.Count() == 0 {
		return nil, nil, nil
	}
	a, b := raw.Quantile(0.5), driven.Quantile(0.5)
	r := float64(b) / float64(a)
	return &a, &b, &r
}

func (e *examination) findLinearity(d *results.Doctor) {
	if len(e.linearity) == 0 {
		return
	}
	late := e.exact.log
	var excess []int64
	for i, measured := range e.linearity {
		injected := int64(e.delays[i])
		d.Linearity = append(d.Linearity, results.Linearity{
			InjectedNS:  injected,
			ExcessP50NS: measured.Quantile(0.5) - injected, ExcessP90NS: measured.Quantile(0.9) - injected,
			ServerLateP50NS: late[i].P50NS, ServerLateP90NS: late[i].P90NS,
			Samples: measured.Count(),
		})
		excess = append(excess, measured.Quantile(0.5)-injected)
	}
	spread := slices.Max(excess) - slices.Min(excess)
	d.LinearitySpreadNS = &spread
}

func (e *examination) findThroughput(d *results.Doctor) {
	driver, ok := total(e.ceilings)
	if !ok {
		return
	}
	d.DriverCeilingPerS, d.DriverCPUNSPerOp = driver.perS(), driver.cpuPerOp()
	benchmark, ok := total(e.benchmarks)
	if !ok {
		return
	}
	d.RedisBenchmarkPerS, d.RedisBenchmarkCPUNSPerOp = benchmark.perS(), benchmark.cpuPerOp()
	ratio := *d.DriverCeilingPerS / *d.RedisBenchmarkPerS
	d.CeilingRatio = &ratio
}
