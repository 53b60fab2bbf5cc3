package results

import (
	"strings"
	"testing"
)

// fitDoctor is an instrument that just reaches every target.
func fitDoctor() Doctor {
	ns := func(n int64) *int64 { return &n }
	ratio := func(r float64) *float64 { return &r }
	return Doctor{
		TimerLagP50NS: 50_000, TimerLagP99NS: 90_000, TimerSamples: 8000,
		PacerLagP50NS: 50_000, PacerLagP99NS: 90_000, PacerSamples: 8000,
		InterruptionsPerS: ratio(1250), InterruptionP50NS: ns(48_000), InterruptedRatio: ratio(0.06),
		LinearitySpreadNS: ns(30_000),
		Linearity: []Linearity{
			{InjectedNS: 0, ExcessP50NS: 40_000, ExcessP90NS: 70_000, Samples: 2000},
			{InjectedNS: 1_000_000, ExcessP50NS: 70_000, ExcessP90NS: 71_000, Samples: 2000},
		},
		RawPingP50NS: ns(100_000), DriverPingP50NS: ns(150_000), PingOverheadRatio: ratio(1.5),
		RawSetP50NS: ns(100_000), DriverSetP50NS: ns(150_000), SetOverheadRatio: ratio(1.5),
		DriverCeilingPerS: ratio(40_000), RedisBenchmarkPerS: ratio(50_000), CeilingRatio: ratio(0.8),
		DriverCPUNSPerOp: ratio(40_000), RedisBenchmarkCPUNSPerOp: ratio(20_000),
	}
}

func TestTargetsAreReachedAndMissed(t *testing.T) {
	for _, target := range fitDoctor().Targets() {
		if !target.Reached {
			t.Errorf("at its limit, but missed: %+v", target)
		}
	}
	for name, spoil := range map[string]func(*Doctor){
		"lag at P50":    func(d *Doctor) { d.PacerLagP50NS++ },
		"lag at P99":    func(d *Doctor) { d.PacerLagP99NS++ },
		"spread":        func(d *Doctor) { *d.LinearitySpreadNS++ },
		"P90 above P50": func(d *Doctor) { d.Linearity[0].ExcessP90NS++ },
		"PING":          func(d *Doctor) { *d.PingOverheadRatio += 0.001 },
		"SET":           func(d *Doctor) { *d.SetOverheadRatio += 0.001 },
		"throughput":    func(d *Doctor) { *d.CeilingRatio -= 0.001 },
		"CPU":           func(d *Doctor) { *d.DriverCPUNSPerOp++ },
	} {
		d := fitDoctor()
		spoil(&d)
		var missed []string
		for _, target := range d.Targets() {
			if !target.Reached {
				missed = append(missed, target.Name)
			}
		}
		if len(missed) != 1 || !strings.Contains(missed[0], name) {
			t.Errorf("%s was spoilt, and missed is %q", name, missed)
		}
	}
}

// What was not measured is no target, and no line of the table.
func TestShortExaminationHasFewerTargets(t *testing.T) {
	d := Doctor{TimerLagP50NS: 1, PacerLagP50NS: 1, TimerSamples: 1000, PacerSamples: 1000}
	if n := len(d.Targets()); n != 2 {
		t.Errorf("%d targets of the lag alone", n)
	}
	var out strings.Builder
	if err := WriteDoctor(&out, d); err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"round trip", "Linearity", "Throughput", "MISSED", "busy CPU"} {
		if strings.Contains(out.String(), absent) {
			t.Errorf("%q was not measured, and is in the table:\n%s", absent, out.String())
		}
	}
}

func TestDoctorsTable(t *testing.T) {
	d := fitDoctor()
	*d.LinearitySpreadNS = 31_000
	var out strings.Builder
	if err := WriteDoctor(&out, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1250 times a second, for 48.0 µs at the median: 6.0 %", "×1.50", "40.0 µs", "70.0 µs",
		"redis-benchmark", "MISSED", "31.0 µs",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(line)); n > tableWidth+1 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}
