package results

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

func benchText(t *testing.T, r *Record) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteBench(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestOneMillisecondInBenchText(t *testing.T) {
	run := Run{Verdict: Valid, Completed: 6000, Granted: 3000, Spans: map[SpanName]Span{
		SpanAcquire: spanOf(1_000_000), SpanTotal: spanOf(2_000_000), SpanLag: spanOf(50_000)}}
	r := &Record{Plan: Plan{Effect: EffectCharge, RatePerS: 1_000_000}, Environment: Environment{OS: "linux", CPU: "a CPU"},
		Paths: []Path{{Path: "setnx-wait", Options: map[string]string{"round-trips": "2"}, ReplicaRTTNS: 1_000_000, Runs: []Run{run}}}}
	const want = `goos: linux
pkg: lockcost/bench
cpu: a CPU
verdict: valid
BenchmarkAcquire/path=setnx-wait:round-trips=2@1ms/rate=1000000	6000	1000000 p50-ns	1000000 p99-ns	1000000 p99.9-ns	50000 lag-p99-ns	0.5 granted/op
BenchmarkCharge/path=setnx-wait:round-trips=2@1ms/rate=1000000	6000	2000000 p50-ns	2000000 p99-ns	2000000 p99.9-ns	50000 lag-p99-ns	0.5 granted/op
`
	if got := benchText(t, r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r.Plan.Effect = EffectNone
	if strings.Contains(benchText(t, r), "BenchmarkCharge") {
		t.Error("a charge was reported where none was made")
	}
}

func TestMissingPercentilesAreLeftOut(t *testing.T) {
	span := filled(map[int64]int{1000: 200}).Span()
	r := &Record{Paths: []Path{{Path: "setnx", Runs: []Run{
		{Verdict: Valid, Completed: 200, Granted: 200, Spans: map[SpanName]Span{SpanAcquire: span}},
		{Verdict: Valid},
	}}, failingPath()}}
	text := benchText(t, r)
	if strings.Contains(text, "p99") || !strings.Contains(text, "1000 p50-ns") {
		t.Errorf("200 samples have P50 and no P99:\n%s", text)
	}
	if strings.Count(text, "path=setnx/") != 1 {
		t.Errorf("a run without operations has a line:\n%s", text)
	}
	if !strings.Contains(text, "path=etcd/rate=0\t6000\t0 granted/op") {
		t.Errorf("the failing path has no line of its own:\n%s", text)
	}
}

func TestBenchfmtReadsBenchText(t *testing.T) {
	r := exampleRecord(6)
	r.Paths[3].Options = map[string]string{"note": "a b/c"}
	r.Paths[3].Runs[0].Verdict = Invalid
	reader := benchfmt.NewReader(strings.NewReader(benchText(t, r)), "bench.txt")
	verdicts := map[string]int{}
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(record)
		case *benchfmt.Result:
			verdicts[record.GetConfig("verdict")]++
			if _, parts := record.Name.Parts(); len(parts) != 2 {
				t.Fatalf("%s has %d parts", record.Name, len(parts))
			}
		}
	}
	if runs := 2 * 6 * len(r.Paths); verdicts["invalid"] != 2 || verdicts["valid"] != runs-2 {
		t.Errorf("%v of %d", verdicts, runs)
	}
}

func TestBenchstatReadsBenchText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.txt")
	if err := os.WriteFile(path, []byte(benchText(t, exampleRecord(6))), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "benchstat", "-col", "/path", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	header := ""
	for _, line := range strings.Split(string(out), "\n") {
		if strings.Contains(line, "│") {
			header = line
			break
		}
	}
	if !strings.Contains(string(out), "p99.9-sec") || !strings.Contains(header, "setnx-wait@1ms") {
		t.Errorf("benchstat makes of it\n%s", out)
	}
	if first := strings.Fields(strings.Trim(header, " │"))[0]; first != "setnx" {
		t.Errorf("benchstat compares with %s, want setnx", first)
	}
}
