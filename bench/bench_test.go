package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"lockcost/bench/doctor"
	"lockcost/bench/load"
	"lockcost/env"
	"lockcost/env/external"
	"lockcost/env/placement"
	"lockcost/env/process"
	"lockcost/env/reexec"
	"lockcost/results"
	"lockcost/workloads"
)

func TestMain(m *testing.M) {
	reexec.Main(append(Parts(), starvedPart())...)
	flag.Parse()
	if bench := flag.Lookup("test.bench"); bench != nil && bench.Value.String() != "" {
		if err := placement.Enter(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		load.HoldGarbage()
	}
	status := m.Run()
	if err := shared.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// benchRate is the rate of the benchmarks, in arrivals per second.
const benchRate = 1000

// shared is the stack of all benchmarks: one that is started for them, or
// the servers that LOCKCOST_REDIS, LOCKCOST_REPLICAS, LOCKCOST_SENTINEL,
// LOCKCOST_MASTER_NAME and LOCKCOST_LEDGER name, reached as LOCKCOST_VIA,
// LOCKCOST_TLS_CA, LOCKCOST_TLS_CERT and LOCKCOST_TLS_KEY say.
var shared rig

type rig struct {
	once   sync.Once
	stack  *env.Stack
	doctor results.Doctor
	err    error
}

func (r *rig) start(b *testing.B) (*env.Stack, results.Doctor) {
	b.Helper()
	r.once.Do(func() {
		// What is started here outlives the first benchmark's context.
		r.err = r.prepare(context.WithoutCancel(b.Context()))
	})
	if r.err != nil {
		b.Fatal(r.err)
	}
	return r.stack, r.doctor
}

func (r *rig) prepare(ctx context.Context) (err error) {
	if r.stack, err = startBenchStack(ctx); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "measuring the instrument first: some 17 seconds")
	r.doctor, err = doctor.Examine(ctx, doctor.Options{
		Redis: r.stack.Redis, Prefix: "lockcost:bench:", CPUs: placement.Current().Pin(), Shared: r.stack.Unplaced(),
	})
	return err
}

func (r *rig) close() error {
	if r.stack == nil {
		return nil
	}
	return r.stack.Close()
}

func startBenchStack(ctx context.Context) (*env.Stack, error) {
	own := external.Provider{
		Redis: os.Getenv("LOCKCOST_REDIS"), ReplicasAt: list("LOCKCOST_REPLICAS"), Sentinels: list("LOCKCOST_SENTINEL"),
		MasterName: os.Getenv("LOCKCOST_MASTER_NAME"), Ledger: os.Getenv("LOCKCOST_LEDGER"),
		Via: list("LOCKCOST_VIA"),
		TLS: external.TLSFiles{
			CA: os.Getenv("LOCKCOST_TLS_CA"), Cert: os.Getenv("LOCKCOST_TLS_CERT"), Key: os.Getenv("LOCKCOST_TLS_KEY"),
		},
	}
	if own.Redis != "" || len(own.Sentinels) > 0 {
		stack, err := own.Start(ctx, env.Spec{Ledger: own.Ledger != ""})
		if err == nil {
			stack.Pinned, err = placement.Parse(os.Getenv("LOCKCOST_SERVER_CPUS")) // of lockcost env up
		}
		return stack, err
	}
	return process.Provider{}.Start(ctx, env.Spec{
		Replicas: 1, Sentinels: 3, Ledger: true, Pin: placement.Current().Pin(),
	})
}

func list(variable string) []string {
	if v := os.Getenv(variable); v != "" {
		return strings.Split(v, ",")
	}
	return nil
}

// BenchmarkAcquire takes and releases a lock at each arrival.
func BenchmarkAcquire(b *testing.B) { benchmark(b, false, results.SpanAcquire) }

// BenchmarkCharge does the whole protected job at each arrival.
func BenchmarkCharge(b *testing.B) { benchmark(b, true, results.SpanTotal) }

func benchmark(b *testing.B, ledger bool, span results.SpanName) {
	for _, path := range workloads.Catalogue() {
		b.Run(fmt.Sprintf("path=%s/rate=%d", path.Label(), benchRate), func(b *testing.B) {
			stack, doctor := shared.start(b)
			if ledger && stack.Ledger == "" {
				b.Skip("LOCKCOST_LEDGER is not set: there is nothing to charge")
			}
			plan := DefaultPlan()
			plan.Rate, plan.Ledger, plan.Paths = benchRate, ledger, []workloads.Path{path}
			run := driveOnce(b, stack, plan, path, doctor)
			report(b, run, span)
		})
	}
}

// driveOnce is one run of b.N arrivals, judged.
func driveOnce(b *testing.B, stack *env.Stack, plan Plan, path workloads.Path, d results.Doctor) results.Run {
	b.Helper()
	site, err := newSite(b.Context(), plan, stack)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := site.leave(b.Context()); err != nil {
			b.Error(err)
		}
	}()
	if err := site.check(b.Context(), variant{path: path}); err != nil {
		b.Fatal(err)
	}
	arrivals := plan.load(1)
	arrivals.Count = int64(b.N)
	plan.Duration = time.Duration(float64(b.N) / plan.Rate * float64(time.Second))
	if b.N >= 100 { // fewer are only how the testing package feels its way
		arrivals.Warmup = 250 * time.Millisecond
	}
	ready, err := site.prepare(b.Context(), variant{path: path}, arrivals)
	if err != nil {
		b.Fatal(err)
	}
	defer ready.close()
	b.ResetTimer()
	m, err := site.drive(b.Context(), ready, nil)
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	verdict, reasons := results.Judge(m.run, toPath(path), plan.record(), d)
	if verdict != results.Valid && int64(b.N) >= results.SamplesFor(results.P99) {
		b.ReportMetric(1, strings.ToUpper(string(verdict)))
		b.Logf("%s: %s", verdict, strings.Join(reasons, "; "))
	}
	return m.run
}

func report(b *testing.B, run results.Run, span results.SpanName) {
	b.ReportMetric(0, "ns/op") // it would only restate the rate
	for p, unit := range map[results.Percentile]string{results.P50: "p50-ns", results.P99: "p99-ns", results.P999: "p99.9-ns"} {
		if ns, enough := run.Spans[span].At(p); enough {
			b.ReportMetric(float64(ns), unit)
		}
	}
	if lag, enough := run.Spans[results.SpanLag].At(results.P99); enough {
		b.ReportMetric(float64(lag), "lag-p99-ns")
	}
	b.ReportMetric(float64(run.Granted)/float64(max(run.Completed, 1)), "granted/op")
}
