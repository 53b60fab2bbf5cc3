package load

import (
	"testing"
	"time"
)

func TestDelaysAreSharedOutBetweenInstrumentAndSystem(t *testing.T) {
	ms := time.Millisecond
	pauses := []pause{{100 * ms, 300 * ms}, {500 * ms, 510 * ms}}
	for _, c := range []struct {
		name          string
		late          lateness
		due, begun    time.Duration
		lag, queueing time.Duration
	}{
		{"timer woke late", onTime, 10 * ms, 12 * ms, 2 * ms, 0},
		{"a worker was free", lateByDriver, 10 * ms, 12 * ms, 2 * ms, 0},
		{"no worker was free", lateBySystem, 310 * ms, 400 * ms, 0, 90 * ms},
		{"the driver stood still all the while", lateBySystem, 150 * ms, 300 * ms, 150 * ms, 0},
		{"a short pause in a long queue", lateBySystem, 310 * ms, 910 * ms, 10 * ms, 590 * ms},
		{"two pauses", lateBySystem, 0, 1000 * ms, 210 * ms, 790 * ms},
	} {
		lag, queueing := sample{due: c.due, begun: c.begun, late: c.late}.delays(pauses)
		if lag != c.lag || queueing != c.queueing {
			t.Errorf("%s: lag %v and queueing %v, want %v and %v", c.name, lag, queueing, c.lag, c.queueing)
		}
	}
}
