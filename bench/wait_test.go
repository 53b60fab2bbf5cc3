package bench

import (
	"testing"
	"time"

	"lockcost/env/process/processtest"
	"lockcost/results"
)

// WAIT alone is told where it is a round trip of its own: it takes the
// replica's distance, and the acquire takes that and the SET besides.
func TestWaitAlone(t *testing.T) {
	for spec, apart := range map[string]bool{"setnx-wait:round-trips=2": true, "setnx-wait": false} {
		plan := faultPlan(mustFind(t, spec))
		plan.Rate, plan.Duration = 200, 2*time.Second
		plan.ReplicaRTTs = []time.Duration{far}
		stack := processtest.Start(t, plan.Spec())
		v := Variant{Path: plan.Paths[0], Distance: results.Distance{ReplicaNS: int64(far)}}
		run := driveAt(t, stack, plan, v, during, func() {})
		wait, told := run.Spans[results.SpanWait]
		if told != apart {
			t.Errorf("%s: WAIT alone is told: %v", spec, told)
		}
		if !apart {
			continue
		}
		acquire := run.Spans[results.SpanAcquireService]
		if wait.Count < run.Granted || *wait.P50NS < int64(far)*9/10 || wait.MeanNS >= acquire.MeanNS {
			t.Errorf("%s: WAIT alone %+v, inside %+v", spec, wait, acquire)
		}
	}
}
