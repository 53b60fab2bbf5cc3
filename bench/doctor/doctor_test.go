package doctor

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"lockcost/bench/load"
	"lockcost/env"
	"lockcost/env/placement"
	"lockcost/env/placement/placementtest"
	"lockcost/env/process/processtest"
	"lockcost/env/reexec"
	"lockcost/env/timer"
)

func TestMain(m *testing.M) {
	reexec.Main(Part())
	if err := placement.Enter(); err != nil {
		panic(err)
	}
	load.HoldGarbage()
	os.Exit(m.Run())
}

func TestShortFormMeasuresAllButTheThroughput(t *testing.T) {
	stack := processtest.Start(t, env.Spec{Pin: placement.Current().Pin()})
	steps := 0
	d, err := Examine(t.Context(), Options{
		Redis: stack.Redis, Prefix: "lockcost:test:", CPUs: placement.Current().Pin(),
		Watch: func(_ string, done, total int) {
			if steps++; done >= total {
				t.Errorf("step %d of %d", done, total)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	// A slot that had to queue has no lag.
	if d.TimerSamples != int64(short.rounds*short.lag) || d.PacerSamples < d.TimerSamples*9/10 || steps == 0 {
		t.Errorf("%d timers, %d slots, %d steps", d.TimerSamples, d.PacerSamples, steps)
	}
	if d.TimerLagP50NS <= 0 || d.TimerLagP50NS > d.TimerLagP90NS || d.TimerLagP90NS > d.TimerLagP99NS || d.TimerLagP99NS > d.TimerLagP999NS {
		t.Errorf("percentiles are out of order: %+v", d)
	}
	if d.RawPingP50NS == nil || d.RawSetP50NS == nil || *d.PingOverheadRatio <= 0 || *d.SetOverheadRatio <= 0 {
		t.Errorf("no round trips: %+v", d)
	}
	if d.DriverCeilingPerS != nil || d.CeilingRatio != nil {
		t.Error("the short form drove Redis as fast as it goes")
	}
	if len(d.Linearity) != len(short.delays) {
		t.Fatalf("linearity at %d of %d delays", len(d.Linearity), len(short.delays))
	}
	for i, l := range d.Linearity {
		if l.InjectedNS != int64(short.delays[i]) || l.Samples < 400 || l.ExcessP50NS <= 0 || l.ServerLateP50NS < 0 {
			t.Errorf("linearity at %v: %+v", short.delays[i], l)
		}
	}
}

func TestExamineStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Examine(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// spinning is the pacer that the linearity test is for: it wakes before the
// slot and spends the rest in a loop, during which no reply is read.
type spinning struct {
	timer.Timer
	clock *timer.Clock
}

const spin = 200 * time.Microsecond

func (s spinning) Wait(until time.Duration) error {
	if err := s.Timer.Wait(until - spin); err != nil {
		return err
	}
	for s.clock.Now() < until {
	}
	return nil
}

// Replies that fall due while the next slot's spin holds the CPU are late by
// up to its whole length. At 1000 a second those are the ones after 800 to
// 1000 µs, less what a round trip takes.
func TestSpinningPacerFailsLinearity(t *testing.T) {
	placementtest.OwnCPU(t)
	good := linearity(t, nil)
	bad := linearity(t, func(c *timer.Clock) (timer.Timer, error) {
		inner, err := timer.New(c)
		return spinning{inner, c}, err
	})
	if bad < 60*us || bad < 3*good/2 {
		t.Errorf("the spread is %v with a spin of %v before each slot, and %v without", bad, spin, good)
	}
}

// linearity is the spread of the excess with that timer.
func linearity(t *testing.T, newTimer func(*timer.Clock) (timer.Timer, error)) time.Duration {
	t.Helper()
	e, err := newExamination(t.Context(), Options{CPUs: placement.Current().Pin()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	e.plan.NewTimer = newTimer
	for range 4 {
		for _, slice := range e.slices() {
			if !strings.HasPrefix(slice.name, "linearity") {
				continue
			}
			if err := slice.run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := e.exact.stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := e.findings()
	t.Logf("%+v", found.Linearity)
	return time.Duration(*found.LinearitySpreadNS)
}
