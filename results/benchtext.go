package results

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// benchPackage is the package of the Go benchmarks with the same names, so
// that benchstat compares a run of the command with one of go test.
const benchPackage = "lockcost/bench"

// WriteBench writes the record in the Go benchmark format
// (https://go.dev/design/14313-benchmark-format): for every path and run one
// line of the acquire response, BenchmarkAcquire, and where orders were
// charged one of the whole job, BenchmarkCharge. An iteration is a completed
// operation; a run without any has no line, and a percentile with too few
// samples is left out. The verdict is a configuration line, by which
// benchstat keeps numbers of different verdicts apart. The baseline comes
// first, since benchstat compares with what it meets first, and the floors
// last.
//
// benchfmt's writer is not used: it writes 1 ms as 1e+06 ns.
func WriteBench(w io.Writer, r *Record) error {
	out := bufio.NewWriter(w)
	config := func(key, value string) {
		if value != "" {
			fmt.Fprintf(out, "%s: %s\n", key, value)
		}
	}
	config("goos", r.Environment.OS)
	config("goarch", r.Environment.Arch)
	config("pkg", benchPackage)
	config("cpu", r.Environment.CPU)
	for _, verdict := range []Verdict{Valid, Saturated, Invalid} {
		if lines := r.benchLines(verdict); len(lines) > 0 {
			config("verdict", string(verdict))
			fmt.Fprintln(out, strings.Join(lines, "\n"))
		}
	}
	return out.Flush()
}

// benchLines are the lines of all runs with the verdict.
func (r *Record) benchLines(verdict Verdict) []string {
	var lines []string
	for _, p := range r.baselineFirst() {
		for _, run := range p.Runs {
			if run.Verdict != verdict || run.Completed == 0 {
				continue
			}
			lines = append(lines, benchLine("Acquire", SpanAcquire, r.Plan, p, run))
			if r.Plan.Effect == EffectCharge {
				lines = append(lines, benchLine("Charge", SpanTotal, r.Plan, p, run))
			}
		}
	}
	return lines
}

// baselineFirst orders the paths: the baseline, the others, the floors.
func (r *Record) baselineFirst() []Path {
	var first, middle, floors []Path
	for _, p := range r.Paths {
		switch {
		case p.IsBaseline():
			first = append(first, p)
		case p.Floor:
			floors = append(floors, p)
		default:
			middle = append(middle, p)
		}
	}
	return append(append(first, middle...), floors...)
}

func benchLine(name string, span SpanName, plan Plan, p Path, run Run) string {
	line := fmt.Sprintf("Benchmark%s/path=%s/rate=%s\t%d", name, benchLabel(p), plain(plan.RatePerS), run.Completed)
	for _, metric := range []struct {
		span SpanName
		p    Percentile
		unit string
	}{
		{span, P50, "p50-ns"}, {span, P99, "p99-ns"}, {span, P999, "p99.9-ns"},
		{SpanLag, P99, "lag-p99-ns"},
	} {
		if ns, ok := run.Spans[metric.span].At(metric.p); ok {
			line += fmt.Sprintf("\t%d %s", ns, metric.unit)
		}
	}
	return line + fmt.Sprintf("\t%s granted/op", plain(float64(run.Granted)/float64(run.Completed)))
}

// plain writes a number without an exponent.
func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// benchLabel is the path's label in a form that can stand within a name: no
// blank, and no slash, which would start the next part.
func benchLabel(p Path) string {
	return strings.NewReplacer(" ", "_", "\t", "_", "\n", "_", "/", "_").Replace(p.Label())
}
