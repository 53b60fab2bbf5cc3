package results

import (
	"testing"
	"time"
)

func TestDistanceInLabels(t *testing.T) {
	const ms = int64(time.Millisecond)
	for want, p := range map[string]Path{
		"setnx":                   {Path: "setnx"},
		"setnx-wait@1ms":          {Path: "setnx-wait", ReplicaRTTNS: ms},
		"setnx@client=250µs":      {Path: "setnx", ClientRTTNS: ms / 4},
		"a:b=c@10ms,client=1.5ms": {Path: "a", Options: map[string]string{"b": "c"}, ReplicaRTTNS: 10 * ms, ClientRTTNS: 3 * ms / 2},
	} {
		if got := p.Label(); got != want {
			t.Errorf("label %q, want %q", got, want)
		}
		if path, d := splitDistance(want); path != p.optioned() || d != p.Distance() {
			t.Errorf("%q split into %q and %+v", want, path, d)
		}
	}
	for _, label := range []string{"setnx@", "setnx@home", "setnx@client=far", "setnx@-1ms"} {
		if path, d := splitDistance(label); path != label || d != (Distance{}) {
			t.Errorf("%q split into %q and %+v", label, path, d)
		}
	}
}

// A path's cost is stated against setnx at the same distance from the
// client, wherever the replica is.
func TestCostsAreStatedAtTheSameClientDistance(t *testing.T) {
	run := func(ns int64) []Run {
		return []Run{{Verdict: Valid, Granted: 1000, Spans: map[SpanName]Span{SpanAcquire: {Count: 1000, P50NS: &ns}}}}
	}
	r := Record{Paths: []Path{
		{Path: "setnx", Runs: run(100)},
		{Path: "setnx", ClientRTTNS: 1000, Runs: run(1100)},
		{Path: "setnx-wait", ReplicaRTTNS: 500, Runs: run(600)},
		{Path: "setnx-wait", ReplicaRTTNS: 500, ClientRTTNS: 1000, Runs: run(1700)},
		{Path: "setnx-wait", ClientRTTNS: 2000, Runs: run(2200)},
	}}
	r.Summarize()
	for i, want := range []int64{2: 500, 3: 600} {
		c, ok := r.Paths[i].Cost[SpanAcquire][P50]
		if ok != (want > 0) || c.DeltaNS != want {
			t.Errorf("%s costs %d, want %d", r.Paths[i].Label(), c.DeltaNS, want)
		}
	}
	if r.Paths[4].Cost != nil {
		t.Error("a path was compared with setnx at another distance from the client")
	}
}

func TestTripThatIsOffIsRemarkedOn(t *testing.T) {
	const us = int64(time.Microsecond)
	for _, c := range []struct {
		asked, seen int64
		remark      bool
	}{{0, 0, false}, {1000 * us, 1050 * us, false}, {1000 * us, 950 * us, false}, {1000 * us, 1051 * us, true}, {1000 * us, 900 * us, true}} {
		if got := (Trip{AskedNS: c.asked, P50NS: c.seen}).Remark("the replica's"); (got != "") != c.remark {
			t.Errorf("asked %d, seen %d: %q", c.asked, c.seen, got)
		}
	}
}
