package results

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// logStart has milliseconds, and nanoseconds below them.
var logStart = time.Date(2026, 9, 21, 10, 30, 59, 123_456_789, time.UTC)

// spooled writes two runs of two seconds each, the second at a distance.
func spooled(t *testing.T) *Folder {
	t.Helper()
	folder, err := Create(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	spool, err := folder.Spool()
	if err != nil {
		t.Fatal(err)
	}
	defer spool.Close()
	for run, rttNS := range []int64{0, int64(time.Millisecond)} {
		label := Path{Path: "setnx-wait", ReplicaRTTNS: rttNS}.Label()
		for second := range 2 {
			start := time.Duration(second) * time.Second
			err := spool.Add(start, time.Second, map[SpanName][]int64{
				SpanAcquire: {1_000_000, 1_000_000, 999_999, int64(run)*1000 + 1},
				SpanLag:     {0, 80_000},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := spool.Encode(label, run, Distance{ReplicaNS: rttNS}, logStart.Add(time.Duration(run)*10*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestIntervalsRoundTrip(t *testing.T) {
	folder := spooled(t)
	all, err := ReadIntervals(folder.Dir(), "setnx-wait")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 8 {
		t.Fatalf("%d intervals, want 2 runs of 2 seconds of 2 spans", len(all))
	}
	last := all[6] // acquire, second second of the second run
	if last.Run != 1 || last.Distance.ReplicaNS != 1_000_000 || last.Span != SpanAcquire {
		t.Errorf("tag came back as %+v", last)
	}
	if last.StartNS != 1_000_000_000 || last.LengthNS != 1_000_000_000 {
		t.Errorf("start %d, length %d; want a second each, to the nanosecond", last.StartNS, last.LengthNS)
	}
	if h := last.Histogram; h.Count() != 4 || h.Max() != 1_000_000 || h.Min() != 1001 {
		t.Errorf("count %d, minimum %d, maximum %d", h.Count(), h.Min(), h.Max())
	}
	far, err := ReadIntervals(folder.Dir(), "setnx-wait@1ms")
	if err != nil || len(far) != 4 || far[0].Run != 1 {
		t.Errorf("at 1ms: %d intervals, %v; want run 1's four", len(far), err)
	}
	near, err := Path{Path: "setnx-wait"}.Intervals(folder.Dir())
	if err != nil || len(near) != 4 || near[0].Run != 0 {
		t.Errorf("without distance: %d intervals, %v; want run 0's four", len(near), err)
	}
}

func TestTruncatedLogKeepsWhatIsWhole(t *testing.T) {
	folder := spooled(t)
	path := filepath.Join(folder.Dir(), "setnx-wait.hlog")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < 200; cut += 7 {
		if err := os.WriteFile(path, whole[:len(whole)-cut], 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := ReadIntervals(folder.Dir(), "setnx-wait")
		if err != nil {
			t.Fatalf("cut by %d bytes: %v", cut, err)
		}
		if len(got) < 6 || len(got) > 7 {
			t.Fatalf("cut by %d bytes: %d intervals, want all but the last one or two", cut, len(got))
		}
	}
}

func TestDamageInTheMiddleIsNamed(t *testing.T) {
	folder := spooled(t)
	path := filepath.Join(folder.Dir(), "setnx-wait.hlog")
	whole, _ := os.ReadFile(path)
	copy(whole[len(whole)/2:], "????????")
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadIntervals(folder.Dir(), "setnx-wait"); err == nil {
		t.Error("a damaged log was read without an error")
	}
}

func TestSpoolRefusesUnknownSpans(t *testing.T) {
	folder, err := Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	spool, err := folder.Spool()
	if err != nil {
		t.Fatal(err)
	}
	if err := spool.Add(0, time.Second, map[SpanName][]int64{"typo": {1}}); err == nil {
		t.Error("samples of an unknown span were dropped in silence")
	}
	if err := spool.Close(); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(folder.Dir()); len(files) != 1 || files[0].Name() != recordName {
		t.Errorf("the spool left %v behind", files)
	}
}

// BenchmarkSpoolAdd is what a second at 1000 operations of 8 spans costs.
func BenchmarkSpoolAdd(b *testing.B) {
	folder, err := Create(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	spool, err := folder.Spool()
	if err != nil {
		b.Fatal(err)
	}
	defer spool.Close()
	samples := map[SpanName][]int64{}
	for _, name := range SpanNames[:8] {
		for i := range 1000 {
			samples[name] = append(samples[name], int64(50_000+i*997))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := spool.Add(0, time.Second, samples); err != nil {
			b.Fatal(err)
		}
		if spool.size > 64<<20 {
			if err := spool.cutTo(0); err != nil {
				b.Fatal(err)
			}
		}
	}
}
