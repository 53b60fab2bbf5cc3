package results

import (
	"encoding/json"
	"reflect"
	"testing"
)

// spanOf is a span whose percentiles are all ns.
func spanOf(ns int64) Span {
	return Span{Count: 6000, MinNS: ns, MeanNS: ns, P50NS: &ns, P90NS: &ns, P99NS: &ns, P999NS: &ns, MaxNS: ns}
}

func runsOf(span SpanName, values ...int64) []Run {
	var runs []Run
	for i, ns := range values {
		runs = append(runs, Run{Index: i, Verdict: Valid, Spans: map[SpanName]Span{span: spanOf(ns)}})
	}
	return runs
}

func TestCostIsPairedByBlock(t *testing.T) {
	fencing := runsOf(SpanAcquire, 120, 240, 360, 480, 600, 720)
	fencing[0], fencing[5] = fencing[5], fencing[0] // order is not what pairs them
	r := Record{Paths: []Path{
		{Path: "setnx", Options: map[string]string{"x": "1"}, Runs: runsOf(SpanAcquire, 1, 1, 1, 1, 1, 1)},
		{Path: "setnx", Runs: runsOf(SpanAcquire, 100, 200, 300, 400, 500, 600)},
		{Path: "fencing", Runs: fencing},
		{Path: "ping", Floor: true, Runs: runsOf(SpanAcquire, 50, 50, 50, 50, 50, 50)},
	}}
	r.Summarize()
	c := r.Paths[2].Cost[SpanAcquire][P99]
	if c.N != 6 || !about(c.Ratio, 1.2) || !about(*c.RatioLow, 1.2) || !about(*c.RatioHigh, 1.2) {
		t.Errorf("%+v: every block has a ratio of 1.2", c)
	}
	if c.DeltaNS != 70 || *c.DeltaLowNS != 20 || *c.DeltaHighNS != 120 || !about(c.Confidence, 1-2.0/64) {
		t.Errorf("%+v: the differences are 20 to 120, their median 70", c)
	}
	if r.Paths[1].Cost != nil || r.Paths[3].Cost != nil {
		t.Error("setnx and the floors have no cost")
	}
	if l := r.Paths[1].Summary[SpanAcquire][P50]; l.MedianNS != 350 || *l.LowNS != 100 || *l.HighNS != 600 || l.N != 6 {
		t.Errorf("%+v", l)
	}
}

func TestInvalidRunsDoNotEnter(t *testing.T) {
	r := Record{Paths: []Path{
		{Path: "setnx", Runs: runsOf(SpanAcquire, 100, 100, 100, 100, 100, 100)},
		{Path: "fencing", Runs: runsOf(SpanAcquire, 110, 110, 110, 110, 110, 9_000_000)},
		{Path: "combined", Runs: runsOf(SpanAcquire, 1, 2)},
	}}
	r.Paths[1].Runs[5].Verdict = Invalid
	r.Paths[2].Runs[0].Verdict, r.Paths[2].Runs[1].Verdict = Invalid, Invalid
	r.Summarize()
	l, c := r.Paths[1].Summary[SpanAcquire][P99], r.Paths[1].Cost[SpanAcquire][P99]
	if l.N != 5 || l.MedianNS != 110 || l.LowNS != nil || l.Confidence != 0 {
		t.Errorf("%+v: 5 runs count, too few for an interval", l)
	}
	if c.N != 5 || c.DeltaNS != 10 || c.RatioLow != nil || c.PValue == nil {
		t.Errorf("%+v: 5 blocks count, enough for a test", c)
	}
	if len(r.Paths[2].Summary) != 0 || r.Paths[2].Cost != nil {
		t.Error("numbers of invalid runs alone were summed up")
	}
}

// 5 of 5 apart gives p = 2/252 each, and Holm doubles the lesser of two. 4 of
// 4 gives 2/70, which doubled cannot come below 0.05: no p-value then.
func TestHolmOverThePathsOfASpan(t *testing.T) {
	r := Record{Paths: []Path{
		{Path: "setnx", Runs: runsOf(SpanAcquire, 100, 101, 102, 103, 104)},
		{Path: "fencing", Runs: runsOf(SpanAcquire, 200, 201, 202, 203, 204)},
		{Path: "combined", Runs: runsOf(SpanAcquire, 300, 301, 302, 303, 304)},
	}}
	r.Summarize()
	for _, p := range r.Paths[1:] {
		if got := *p.Cost[SpanAcquire][P50].PValue; !about(got, 4.0/252) {
			t.Errorf("%s: p = %v, want 4/252", p.Path, got)
		}
	}
	for i := range r.Paths {
		r.Paths[i].Runs = r.Paths[i].Runs[:4]
	}
	r.Summarize()
	for _, p := range r.Paths[1:] {
		if got := p.Cost[SpanAcquire][P50].PValue; got != nil {
			t.Errorf("%s: p = %v from 4 blocks and 2 paths", p.Path, *got)
		}
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	r := Record{Paths: []Path{
		{Path: "setnx", Runs: runsOf(SpanAcquire, 100, 100)},
		{Path: "fencing", Runs: runsOf(SpanAcquire, 110, 110)},
		{Path: "combined", Runs: runsOf(SpanAcquire, 120, 120)},
	}}
	r.Paths[1].Runs[1].Errors = map[string]int64{"redis-timeout": 1}
	r.Summarize()
	if r.Paths[0].Summary[SpanAcquire][P50].LowerBound || !r.Paths[1].Summary[SpanAcquire][P50].LowerBound {
		t.Error("the path with an operation given up on, and no other, is a lower bound")
	}
	if got := r.Paths[1].Cost[SpanAcquire][P50].Bound; got != BoundLower {
		t.Errorf("its cost is a bound of kind %q", got)
	}
	r.Paths[0].Runs[0].Expired = 1
	r.Summarize()
	if a, b := r.Paths[1].Cost[SpanAcquire][P50].Bound, r.Paths[2].Cost[SpanAcquire][P50].Bound; a != BoundUnknown || b != BoundUpper {
		t.Errorf("with slots of setnx expired, the costs are bounds of kind %q and %q", a, b)
	}
}

func TestRunsCutShortCountOnlyForWantOfOthers(t *testing.T) {
	p := Path{Path: "setnx", Runs: runsOf(SpanAcquire, 100, 200)}
	p.Runs[1].Interrupted = true
	if got := p.Usable(); len(got) != 1 || got[0].Interrupted {
		t.Errorf("%d runs count, want the whole one", len(got))
	}
	p.Runs = p.Runs[1:]
	if got := p.Usable(); len(got) != 1 {
		t.Errorf("%d runs count, want the only one there is", len(got))
	}
}

func TestSummarizeTwice(t *testing.T) {
	r := exampleRecord(6)
	before, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Summarize()
	after, _ := json.Marshal(r)
	if !reflect.DeepEqual(before, after) {
		t.Error("summing up again changed the record")
	}
}

// failingPath refused every call: no span of grants, no rate of anything.
func failingPath() Path {
	return Path{Path: "etcd", Runs: []Run{{Verdict: Valid, Offered: 6000, Completed: 6000, AchievedPerS: 1000,
		Errors: map[string]int64{"connection refused": 5900, "timeout": 100},
		Spans:  map[SpanName]Span{SpanFailed: spanOf(90_000)}}}}
}

func TestFailingPath(t *testing.T) {
	r := exampleRecord(6)
	r.Paths = append(r.Paths, failingPath())
	r.Paths[2].Runs[0].Spans[SpanAcquire] = spanOf(0) // and a baseline of 0 in one block
	r.Summarize()
	if _, err := json.Marshal(r); err != nil { // NaN and infinity do not encode
		t.Fatal(err)
	}
	last := r.Paths[len(r.Paths)-1]
	if last.Cost != nil || last.Summary[SpanFailed][P50].MedianNS != 90_000 {
		t.Errorf("%+v", last)
	}
	if got := r.Paths[5].Cost[SpanAcquire][P50].N; got != 5 {
		t.Errorf("%d blocks, want the 5 with something to divide by", got)
	}
}
