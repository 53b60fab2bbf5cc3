package results

import (
	"bufio"
	"fmt"
	"io"
	"slices"
)

// WriteDoctor writes the instrument's own measurements as text for a
// terminal, the targets that it misses last.
func WriteDoctor(w io.Writer, d Doctor) error {
	out := bufio.NewWriter(w)
	t := table{page: page{out}}
	t.title("Lag: how late an operation starts")
	t.print(columns{
		{"", "P50", "P90", "P99", "P99.9", "samples"},
		lagRow("kernel's timer", d.TimerSamples, d.TimerLagP50NS, d.TimerLagP90NS, d.TimerLagP99NS, d.TimerLagP999NS),
		lagRow("driver's pacer", d.PacerSamples, d.PacerLagP50NS, d.PacerLagP90NS, d.PacerLagP99NS, d.PacerLagP999NS),
	}.lines())
	if d.InterruptedRatio != nil {
		text := fmt.Sprintf("A busy CPU is taken away %.0f times a second, for %s at the median: %.1f %% of the time.",
			*d.InterruptionsPerS, FormatDuration(*d.InterruptionP50NS), 100**d.InterruptedRatio)
		if *d.InterruptedRatio > interruptedMuch {
			text += " An operation crosses two CPUs several times, so more than a tenth of them meet such a gap: P90 cannot be finer than one."
		}
		t.print(append([]string{""}, wrap("  ", "  ", text)...))
	}
	if d.RawPingP50NS != nil {
		t.title("One round trip, P50")
		t.print(columns{
			{"", "raw calls", "driver", "ratio"},
			tripRow("PING", d.RawPingP50NS, d.DriverPingP50NS, d.PingOverheadRatio),
			tripRow("SET NX PX", d.RawSetP50NS, d.DriverSetP50NS, d.SetOverheadRatio),
		}.lines())
	}
	if len(d.Linearity) > 0 {
		t.title("Linearity: what is measured beyond the time in which a server answers")
		rows := columns{{"answers in", "excess P50", "P90", "server itself late, P50", "P90", "samples"}}
		for _, l := range d.Linearity {
			rows = append(rows, []string{
				FormatDuration(l.InjectedNS), FormatDuration(l.ExcessP50NS), FormatDuration(l.ExcessP90NS),
				FormatDuration(l.ServerLateP50NS), FormatDuration(l.ServerLateP90NS), fmt.Sprint(l.Samples),
			})
		}
		t.print(rows.lines())
	}
	if d.DriverCeilingPerS != nil {
		t.title("Throughput: PING over 50 connections, one command in flight on each")
		rows := columns{{"", "per second", "CPU an operation"}, ceilingRow("driver", d.DriverCeilingPerS, d.DriverCPUNSPerOp)}
		if d.RedisBenchmarkPerS != nil {
			rows = append(rows, ceilingRow("redis-benchmark", d.RedisBenchmarkPerS, d.RedisBenchmarkCPUNSPerOp))
		} else {
			rows = append(rows, []string{"redis-benchmark", "not installed: there is nothing to compare with"})
		}
		t.print(rows.lines())
	}
	t.title("Go's runtime in the driver")
	t.print([]string{fmt.Sprintf("  collections %d, their longest pause %s, scheduler latency P99 %s",
		d.GCCycles, FormatDuration(d.GCPauseMaxNS), FormatDuration(d.SchedLatencyP99NS))})
	t.targets(d.Targets())
	return out.Flush()
}

// interruptedMuch is a share of the time that four moments of an operation
// meet in a tenth of all cases.
const interruptedMuch = 0.025

func (t *table) targets(all []Target) {
	t.title("What the instrument should reach")
	rows := columns{{"", "measured", "goal", ""}}
	for _, reached := range []bool{true, false} {
		for _, target := range all {
			if target.Reached == reached {
				rows = append(rows, []string{word(reached), target.Measured, target.Goal, target.Name})
			}
		}
	}
	t.print(rows.lines())
	if !slices.ContainsFunc(all, func(t Target) bool { return !t.Reached }) {
		return
	}
	t.print(append([]string{""}, wrap("  ", "  ", "A target that is missed does not spoil a run by itself: each run has a "+
		"verdict of its own. But a difference smaller than the spread of the linearity is not to be believed.")...))
}

func word(reached bool) string {
	if reached {
		return "reached"
	}
	return "MISSED"
}

func lagRow(name string, samples int64, ns ...int64) []string {
	row := []string{name}
	for _, n := range ns {
		row = append(row, FormatDuration(n))
	}
	return append(row, fmt.Sprint(samples))
}

func tripRow(name string, raw, driver *int64, ratio *float64) []string {
	if raw == nil || driver == nil || ratio == nil {
		return []string{name, absent, absent, absent}
	}
	return []string{name, FormatDuration(*raw), FormatDuration(*driver), timesText(*ratio)}
}

func ceilingRow(name string, perS, cpu *float64) []string {
	row := []string{name, fmt.Sprintf("%.0f", *perS), absent}
	if cpu != nil {
		row[2] = FormatDuration(int64(*cpu))
	}
	return row
}
