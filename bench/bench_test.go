package bench

import (
	"context"
	"errors"
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
	"lockcost/workloads/lock"
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
// LOCKCOST_MASTER_NAME, LOCKCOST_LEDGER, LOCKCOST_REDLOCK, LOCKCOST_ETCD and
// LOCKCOST_ZOOKEEPER name, reached as LOCKCOST_VIA,
// LOCKCOST_TLS_CA, LOCKCOST_TLS_CERT and LOCKCOST_TLS_KEY say.
var shared rig

type rig struct {
	once   sync.Once
	stack  *env.Stack
	more   []service
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
	errs := []error{r.stack.Close()}
	for _, s := range r.more {
		errs = append(errs, s.stack.Close())
	}
	return errors.Join(errs...)
}

func startBenchStack(ctx context.Context) (*env.Stack, error) {
	own := external.Provider{
		Redis: os.Getenv("LOCKCOST_REDIS"), ReplicasAt: list("LOCKCOST_REPLICAS"), Sentinels: list("LOCKCOST_SENTINEL"),
		MasterName: os.Getenv("LOCKCOST_MASTER_NAME"), Ledger: os.Getenv("LOCKCOST_LEDGER"),
		Via:          list("LOCKCOST_VIA"),
		Independents: list("LOCKCOST_REDLOCK"), Etcd: list("LOCKCOST_ETCD"), ZooKeeper: list("LOCKCOST_ZOOKEEPER"),
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

// with returns the stack with what a path needs besides. It is started with
// the first path that does.
func (r *rig) with(b *testing.B, path workloads.Path) *env.Stack {
	b.Helper()
	whole := *r.stack
	need := path.Needs(DefaultPlan().settings())
	for _, missing := range []env.Spec{
		{Independents: need.Independents * lacking(len(whole.Independents))},
		{Etcd: need.Etcd * lacking(len(whole.Etcd.Endpoints))},
		{ZooKeeper: need.ZooKeeper * lacking(len(whole.ZooKeeper.Servers))},
	} {
		if missing.Independents+missing.Etcd+missing.ZooKeeper == 0 {
			continue
		}
		more, err := r.service(context.WithoutCancel(b.Context()), missing)
		if err != nil {
			b.Fatal(err)
		}
		whole.Nodes = append(whole.Nodes[:len(whole.Nodes):len(whole.Nodes)], more.Nodes...)
		whole.Independents = append(whole.Independents, more.Independents...)
		whole.Etcd.Endpoints = append(whole.Etcd.Endpoints, more.Etcd.Endpoints...)
		whole.ZooKeeper.Servers = append(whole.ZooKeeper.Servers, more.ZooKeeper.Servers...)
	}
	return &whole
}

// lacking is 1 where there are no servers of a kind.
func lacking(there int) int {
	if there > 0 {
		return 0
	}
	return 1
}

// service starts servers of one kind, unless they run already.
func (r *rig) service(ctx context.Context, spec env.Spec) (*env.Stack, error) {
	for _, s := range r.more {
		if s.spec.Independents == spec.Independents && s.spec.Etcd == spec.Etcd && s.spec.ZooKeeper == spec.ZooKeeper {
			return s.stack, nil
		}
	}
	started := spec
	started.NoRedis, started.Pin = true, placement.Current().Pin()
	stack, err := process.Provider{}.Start(ctx, started)
	if err == nil {
		r.more = append(r.more, service{spec, stack})
	}
	return stack, err
}

// service is servers that were started for those paths that need them.
type service struct {
	spec  env.Spec
	stack *env.Stack
}

func list(variable string) []string {
	if v := os.Getenv(variable); v != "" {
		return strings.Split(v, ",")
	}
	return nil
}

// BenchmarkAcquire takes and releases a lock at each arrival.
func BenchmarkAcquire(b *testing.B) { benchmark(b, Plan{}, results.SpanAcquire) }

// BenchmarkCharge does the whole protected job at each arrival.
func BenchmarkCharge(b *testing.B) { benchmark(b, Plan{Ledger: true}, results.SpanTotal) }

// BenchmarkHotOrder does it for one order, again and again: whoever comes
// while it is locked is refused, and whoever is not finds it paid.
func BenchmarkHotOrder(b *testing.B) { benchmark(b, Plan{Ledger: true, Orders: 1}, results.SpanTotal) }

// benchmark has the ledger and the orders of a plan, and else the defaults.
// Without a ledger a path that has a guard takes its lock and releases it.
func benchmark(b *testing.B, like Plan, span results.SpanName) {
	for _, path := range workloads.Catalogue() {
		if path.Service() == "" && !path.Floor && !like.Ledger {
			continue // it takes no lock
		}
		b.Run(fmt.Sprintf("path=%s/rate=%d", path.Label(), benchRate), func(b *testing.B) {
			stack, doctor := shared.start(b)
			if like.Ledger && stack.Ledger == "" {
				b.Skip("LOCKCOST_LEDGER is not set: there is nothing to charge")
			}
			stack = shared.with(b, path)
			plan := DefaultPlan()
			plan.Rate, plan.Ledger, plan.Orders, plan.Paths = benchRate, like.Ledger, like.Orders, []workloads.Path{path}
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
	if err := site.check(b.Context(), Variant{Path: path}); errors.Is(err, lock.ErrUnsupported) && os.Getenv("CI") == "" {
		b.Skip(err)
	} else if err != nil {
		b.Fatal(err)
	}
	arrivals := plan.load(1)
	arrivals.Count = int64(b.N)
	plan.Duration = time.Duration(float64(b.N) / plan.Rate * float64(time.Second))
	if b.N >= 100 { // fewer are only how the testing package feels its way
		arrivals.Warmup = 250 * time.Millisecond
	}
	ready, err := site.prepare(b.Context(), Variant{Path: path}, arrivals)
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
