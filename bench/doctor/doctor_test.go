package doctor

import (
	"context"
	"errors"
	"testing"
)

func TestQuickMeasuresTheTimer(t *testing.T) {
	d, err := Quick(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.TimerSamples != timerSamples || d.TimerLagP50NS <= 0 {
		t.Errorf("%d samples, median lag %d ns", d.TimerSamples, d.TimerLagP50NS)
	}
	if d.TimerLagP50NS > d.TimerLagP90NS || d.TimerLagP90NS > d.TimerLagP99NS || d.TimerLagP99NS > d.TimerLagP999NS {
		t.Errorf("percentiles are out of order: %+v", d)
	}
}

func TestQuickStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Quick(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
