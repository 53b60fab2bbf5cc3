package bench

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/process/processtest"
	"lockcost/results"
	"lockcost/workloads"
)

func mustFind(t *testing.T, spec string) workloads.Path {
	t.Helper()
	p, err := workloads.Find(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// before and during say when a fault is injected: just before the run, or
// after the first second of its window.
const (
	before = iota
	during
)

// drive measures the plan's first path once, with a fault.
func drive(t *testing.T, stack *env.Stack, plan Plan, when int, inject func()) results.Run {
	t.Helper()
	return driveAt(t, stack, plan, Variant{Path: plan.Paths[0]}, when, inject)
}

func driveAt(t *testing.T, stack *env.Stack, plan Plan, v Variant, when int, inject func()) results.Run {
	t.Helper()
	site, err := newSite(t.Context(), plan, stack)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := site.leave(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	if err := site.check(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	var injected sync.WaitGroup
	if when == before {
		once.Do(inject)
	}
	ready, err := site.prepare(t.Context(), v, plan.load(1))
	if err != nil {
		t.Fatal(err)
	}
	defer ready.close()
	m, err := site.drive(t.Context(), ready, func(Second) error {
		once.Do(func() { injected.Go(inject) })
		return nil
	})
	injected.Wait()
	if err != nil {
		t.Fatal(err)
	}
	m.run.Verdict, m.run.Reasons = results.Judge(m.run, v.entry(), plan.record(), coarse)
	return m.run
}

// coarse is a machine whose timer is so bad that lag below 10 ms is no
// instrument's fault: the tests run on machines that do other things too.
var coarse = results.Doctor{
	TimerLagP50NS: 5e6, TimerLagP90NS: 5e6, TimerLagP99NS: 5e6, TimerLagP999NS: 5e6, TimerSamples: 1,
}

func named(reasons []string, start string) bool {
	return slices.ContainsFunc(reasons, func(r string) bool { return strings.HasPrefix(r, start) })
}

func faultPlan(path workloads.Path) Plan {
	plan := DefaultPlan()
	plan.Ledger, plan.Paths = false, []workloads.Path{path}
	plan.Warmup, plan.Duration = 200*time.Millisecond, 3*time.Second
	return plan
}

// Redis stands still for 200 ms of 3 s. The 200 arrivals of that time are
// answered when it is back, after 200, 199, …, 1 ms. Of 3000 samples the
// 31st largest is P99, which is 170 ms; the 301st, P90, is next to nothing.
func TestFrozenRedisIsTheServersFault(t *testing.T) {
	stack := processtest.Start(t, env.Spec{})
	var frozen time.Duration // 200 ms, and what a busy machine adds
	run := drive(t, stack, faultPlan(mustFind(t, "setnx")), during, func() {
		if err := stack.Faults.Pause("primary"); err != nil {
			t.Error(err)
		}
		began := time.Now()
		time.Sleep(200 * time.Millisecond)
		if err := stack.Faults.Resume("primary"); err != nil {
			t.Error(err)
		}
		frozen = time.Since(began)
	})
	if run.Verdict == results.Invalid {
		t.Errorf("verdict %s: %v", run.Verdict, run.Reasons)
	}
	acquire := run.Spans[results.SpanAcquire]
	// Of 3000 operations 30 are slower than P99: those of the first 30 ms.
	byHand := frozen - 30*time.Millisecond
	if p99 := time.Duration(*acquire.P99NS); p99 < byHand-25*time.Millisecond || p99 > byHand+50*time.Millisecond {
		t.Errorf("P99 is %v, want %v as computed by hand", p99, byHand)
	}
	if p90 := time.Duration(*acquire.P90NS); p90 > 50*time.Millisecond {
		t.Errorf("P90 is %v: the freeze is charged to operations that it did not meet", p90)
	}
	if run.Offered != 3000 || run.Granted != 3000 {
		t.Errorf("offered %d, granted %d, want all 3000", run.Offered, run.Granted)
	}
}

// The child of this test is stopped for 200 ms while it measures.
func TestFrozenDriverIsInvalid(t *testing.T) {
	if os.Getenv("LOCKCOST_TEST_FROZEN") != "" {
		stack := processtest.Start(t, env.Spec{})
		run := drive(t, stack, faultPlan(mustFind(t, "setnx")), during, func() {
			// The shell stops us and lets us go on; we could not do both.
			_ = exec.Command("sh", "-c", "kill -STOP $PPID; sleep 0.2; kill -CONT $PPID").Run()
		})
		if run.Verdict != results.Invalid || !named(run.Reasons, "the driver stood still") {
			t.Errorf("verdict %s: %v", run.Verdict, run.Reasons)
		}
		if pause := time.Duration(run.Instrument.PauseMaxNS); pause < 150*time.Millisecond {
			t.Errorf("the longest pause found is %v, of 200 ms", pause)
		}
		if p90 := time.Duration(*run.Spans[results.SpanAcquire].P90NS); p90 > 100*time.Millisecond {
			t.Errorf("acquire P90 is %v: the driver's freeze is charged to Redis", p90)
		}
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestFrozenDriverIsInvalid$", "-test.v")
	child.Env = append(os.Environ(), "LOCKCOST_TEST_FROZEN=1")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := child.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skip(string(out))
	}
}

// With the replica stopped each WAIT takes its whole timeout, 100 ms; four
// workers can then do 40 operations a second of the 200 that are due.
func TestTooFewWorkersSaturate(t *testing.T) {
	stack := processtest.Start(t, env.Spec{Replicas: 1})
	plan := faultPlan(mustFind(t, "setnx-wait"))
	plan.Rate, plan.Workers = 200, 4
	run := drive(t, stack, plan, before, func() {
		if err := stack.Faults.Pause("replica-1"); err != nil {
			t.Error(err)
		}
	})
	// Where the machine stops the driver for a tenth of the time, that is
	// found too, and outranks it.
	if run.Verdict == results.Valid {
		t.Errorf("verdict %s: %v", run.Verdict, run.Reasons)
	}
	if !named(run.Reasons, "workers") {
		t.Errorf("the reasons do not name the workers: %v", run.Reasons)
	}
	if run.Instrument.Queued == 0 || run.Offered != run.Completed+run.Expired {
		t.Errorf("queued %d, offered %d, completed %d, expired %d", run.Instrument.Queued, run.Offered, run.Completed, run.Expired)
	}
}

// A Redis that is gone for good answers nothing: every operation is given up
// on at its timeout, which no number of workers hides.
func TestDeadRedisSaturates(t *testing.T) {
	stack := processtest.Start(t, env.Spec{})
	plan := faultPlan(mustFind(t, "setnx"))
	plan.Rate, plan.OpTimeout = 200, 300*time.Millisecond
	run := drive(t, stack, plan, during, func() {
		if err := stack.Faults.Pause("primary"); err != nil {
			t.Error(err)
		}
		time.Sleep(plan.Duration + plan.OpTimeout)
		if err := stack.Faults.Resume("primary"); err != nil { // for the keys to be removed
			t.Error(err)
		}
	})
	if run.Verdict == results.Valid || !slices.ContainsFunc(run.Reasons, func(r string) bool { return strings.Contains(r, "given up on at their timeout") }) {
		t.Errorf("verdict %s: %v", run.Verdict, run.Reasons)
	}
	if run.Censored() < run.Offered/3 {
		t.Errorf("%d of %d operations are counted as given up on: %v", run.Censored(), run.Offered, run.Errors)
	}
}

func TestReplicaRestartIsCountedAndTheRunGoesOn(t *testing.T) {
	stack := processtest.Start(t, env.Spec{Replicas: 1})
	plan := faultPlan(mustFind(t, "setnx-wait"))
	plan.Duration, plan.WaitTimeout = 4*time.Second, 50*time.Millisecond
	run := drive(t, stack, plan, during, func() {
		if err := stack.Faults.Kill("replica-1"); err != nil {
			t.Error(err)
		}
		time.Sleep(300 * time.Millisecond) // it would be back within a WAIT's timeout
		if _, err := stack.Faults.Restart(t.Context(), "replica-1"); err != nil {
			t.Error(err)
		}
	})
	if run.Unreplicated == 0 || run.Granted < run.Offered/4 || len(run.Errors) > 0 {
		t.Errorf("granted %d, unreplicated %d, errors %v of %d", run.Granted, run.Unreplicated, run.Errors, run.Offered)
	}
	if run.Completed != run.Granted+run.Held+run.Unreplicated {
		t.Errorf("completed %d is not granted %d + held %d + unreplicated %d", run.Completed, run.Granted, run.Held, run.Unreplicated)
	}
}

func TestPoolThatIsTooSmallIsNamed(t *testing.T) {
	stack := processtest.Start(t, env.Spec{Replicas: 1})
	plan := faultPlan(mustFind(t, "setnx-wait:pool=1"))
	plan.Rate, plan.OpTimeout = 200, 300*time.Millisecond
	run := drive(t, stack, plan, before, func() {
		if err := stack.Faults.Pause("replica-1"); err != nil {
			t.Error(err)
		}
	})
	if run.Spans[results.SpanPoolWait].MaxNS < int64(50*time.Millisecond) {
		t.Errorf("pool wait is at most %v, with one connection and WAITs of 100 ms", time.Duration(run.Spans[results.SpanPoolWait].MaxNS))
	}
	if !named(run.Reasons, "pool") {
		t.Errorf("verdict %s does not name the pool: %v", run.Verdict, run.Reasons)
	}
}

func TestHeldLocksAreCountedApart(t *testing.T) {
	stack := processtest.Start(t, env.Spec{})
	plan := faultPlan(mustFind(t, "setnx"))
	plan.Keys, plan.Hold, plan.Rate = 1, 50*time.Millisecond, 200
	run := drive(t, stack, plan, before, func() {})
	if run.Held == 0 || run.Granted == 0 || run.Held+run.Granted != run.Offered {
		t.Errorf("granted %d, held %d of %d", run.Granted, run.Held, run.Offered)
	}
	if run.Spans[results.SpanAcquire].Count != run.Granted || run.Spans[results.SpanRefused].Count != run.Held {
		t.Errorf("acquire has %d samples and refused %d", run.Spans[results.SpanAcquire].Count, run.Spans[results.SpanRefused].Count)
	}

	plan.AcquireTimeout = 500 * time.Millisecond
	plan.Rate, plan.Hold = 20, 10*time.Millisecond
	if patient := drive(t, stack, plan, before, func() {}); patient.Held > 0 {
		t.Errorf("%d of %d refused although each tried for 500 ms", patient.Held, patient.Offered)
	}
}
