package failover

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockcost/bench"
	"lockcost/bench/failover/history"
	"lockcost/env"
	"lockcost/env/envtest"
	"lockcost/env/process"
	"lockcost/env/process/processtest"
	"lockcost/env/reexec"
	"lockcost/results"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

func TestMain(m *testing.M) {
	reexec.Main(slices.Concat(bench.Parts(), Parts())...)
	if dir := os.Getenv(victimIn); dir != "" {
		victim(dir)
	}
	os.Exit(m.Run())
}

// trialsMost bounds how often a trial is repeated that proves void: on a busy
// machine a failover may come too late.
const trialsMost = 4

// wanted is a trial that a test needs.
type wanted struct{ scenario, path string }

// trialsAbreast is how many trials a test has under way at once: they wait
// most of the time.
const trialsAbreast = 6

// try runs scenarios once each on real servers, and again where the trial is
// void.
func try(t *testing.T, all ...wanted) map[wanted]*outcome {
	t.Helper()
	g := groundFor(t)
	var mu sync.Mutex
	outcomes := map[wanted]*outcome{}
	var running errgroup.Group
	room := semaphore.NewWeighted(trialsAbreast)
	for _, w := range all {
		c := w.cell(t)
		weight := int64(min(c.weight(), trialsAbreast))
		if err := room.Acquire(t.Context(), weight); err != nil {
			t.Fatal(err)
		}
		running.Go(func() error {
			defer room.Release(weight)
			o, err := tryCell(t, c, g)
			mu.Lock()
			defer mu.Unlock()
			outcomes[w] = o
			return err
		})
	}
	if err := running.Wait(); err != nil {
		t.Fatal(err)
	}
	return outcomes
}

func (w wanted) cell(t *testing.T) *cell {
	t.Helper()
	found, err := Find(w.scenario)
	if err != nil {
		t.Fatal(err)
	}
	p := planOf(t, nil)
	p.DownAfter = []time.Duration{time.Second}
	// Servers that share a machine with other tests are slow to fail over.
	p.Hold = p.DownAfter[0] + 2*failoverMargin
	c := p.cell(found[0], find(t, w.path), p.DownAfter[0], 0)
	c.rate = min(c.rate, max(untimedRate, c.scenario.Needs.Rate))
	return c
}

func tryCell(t *testing.T, c *cell, g *ground) (*outcome, error) {
	for range trialsMost {
		o, err := c.run(t.Context(), g, false)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.label(), err)
		}
		if o.trial.Void == "" {
			return o, nil
		}
		t.Logf("%s is void: %s", c.label(), o.trial.Void)
	}
	return nil, fmt.Errorf("%s: %d trials were void", c.label(), trialsMost)
}

// groundFor is a ledger of the test's own.
func groundFor(t *testing.T) *ground {
	t.Helper()
	g, err := lay(t.Context(), process.Provider{}, env.Spec{Ledger: true})
	processtest.Need(t, err)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// TestWhatEachPathLetsThrough is the reason for all of this: each path, where
// it is known what must come of it.
func TestWhatEachPathLetsThrough(t *testing.T) {
	const some, none = true, false
	cases := []struct {
		scenario, path string
		events         map[results.Event]bool
	}{
		{"crash-unreplicated", "setnx", map[results.Event]bool{
			results.LostGrant: some, results.DoubleGrant: some, results.DoubleCharge: some, results.LostCharge: none}},
		{"crash-unreplicated", "fencing", map[results.Event]bool{
			results.DoubleGrant: some, results.DoubleCharge: none, results.RepeatedToken: some}},
		{"crash-unreplicated", "idempotent", map[results.Event]bool{
			results.DoubleGrant: some, results.DoubleCharge: none, results.LostCharge: none}},
		{"crash-unreplicated:two-replicas", "setnx-wait", map[results.Event]bool{
			results.DoubleGrant: none, results.DoubleCharge: none}},
		{"wait-residual", "setnx-wait", map[results.Event]bool{
			results.LostGrant: some, results.DoubleGrant: some, results.DoubleCharge: some}},
		{"crash-during-wait", "setnx-wait", map[results.Event]bool{
			results.DoubleGrant: none, results.OrphanedLock: some}},
		{"restart-empty", "setnx", map[results.Event]bool{
			results.LostGrant: some, results.DoubleGrant: some, results.DoubleCharge: some}},
		{"restart-empty", "fencing", map[results.Event]bool{
			results.DoubleGrant: some, results.DoubleCharge: none, results.RepeatedToken: some, results.RightfulRefused: some}},
		{"partition", "setnx", map[results.Event]bool{results.DoubleGrant: some, results.DoubleCharge: some}},
		{"partition", "setnx-wait", map[results.Event]bool{results.DoubleGrant: none}},
		{"paused-holder:between-read-and-write", "setnx-wait", map[results.Event]bool{
			results.DoubleGrant: none, results.OutlivedLease: some, results.DoubleCharge: some}},
		{"paused-holder:between-read-and-write", "fencing", map[results.Event]bool{
			results.OutlivedLease: some, results.DoubleCharge: none, results.RepeatedToken: none}},
		{"paused-holder:before-read", "setnx", map[results.Event]bool{results.DoubleCharge: none}},
	}
	var all []wanted
	for _, c := range cases {
		all = append(all, wanted{c.scenario, c.path})
	}
	outcomes := try(t, all...)
	for _, c := range cases {
		t.Run(c.scenario+" "+c.path, func(t *testing.T) {
			o := outcomes[wanted{c.scenario, c.path}]
			for event, expected := range c.events {
				n, counted := o.trial.Events[event]
				if !counted || (n > 0) != expected {
					t.Errorf("%s: %d, counted %v; want some: %v (granted %d, errors %v, %v)",
						event, n, counted, expected, o.trial.Granted, o.trial.Errors, o.trial.Times)
				}
			}
			if o.trial.Granted == 0 || len(o.ops.Ops) == 0 {
				t.Errorf("%d grants in %d operations", o.trial.Granted, len(o.ops.Ops))
			}
		})
	}
}

func TestWaitGrantsNothingUntilAReplicaIsBack(t *testing.T) {
	w := wanted{"crash-unreplicated", "setnx-wait"}
	o := try(t, w)[w]
	if n := o.trial.Events[results.DoubleGrant] + o.trial.Events[results.DoubleCharge]; n > 0 {
		t.Errorf("%d double grants and charges", n)
	}
	told, first := o.trial.Times[results.Announced], o.trial.Times[results.FirstGrant]
	back, ok := o.trial.Facts["old_primary_is_replica_ns"]
	if !ok || first <= told || o.trial.Times[results.WithoutGrant] < back {
		t.Errorf("clients were told of the new primary %v after the crash, it got a replica %v after the old one's restart, and granted first %v after the crash",
			time.Duration(told), time.Duration(back), time.Duration(first))
	}
}

func TestNobodyIsPromotedWhereNobodyIsLeft(t *testing.T) {
	for w, o := range try(t, wanted{"no-candidate:replicas-down", "setnx"}, wanted{"no-candidate:priority-0", "setnx"}) {
		if !strings.Contains(o.trial.Reason, noGoodReplica) {
			t.Errorf("%s: the reason is %q, without Sentinel's own", w.scenario, o.trial.Reason)
		}
		if _, ok := o.trial.Times[results.Announced]; ok {
			t.Errorf("%s: somebody was promoted", w.scenario)
		}
	}
}

func TestReplicaLossStopsWritesWhereReplicasAreRequired(t *testing.T) {
	guarded, plain := wanted{"replica-loss:stopped+min-replicas", "setnx"}, wanted{"replica-loss:stopped", "setnx"}
	outcomes := try(t, guarded, plain)
	o := outcomes[guarded]
	if o.trial.Errors["redis-noreplicas"] == 0 || o.trial.Facts["grants_before_refusal"] == 0 {
		t.Errorf("errors %v, facts %v: writes were to be refused after some were accepted", o.trial.Errors, o.trial.Facts)
	}
	if n := o.trial.Facts["grants_after_promotion"]; n != 0 {
		t.Errorf("the promoted node granted %d locks without a replica that it requires", n)
	}
	o = outcomes[plain]
	if o.trial.Errors["redis-noreplicas"] != 0 || o.trial.Facts["grants_after_promotion"] == 0 {
		t.Errorf("errors %v, facts %v: nothing was to be refused for want of replicas", o.trial.Errors, o.trial.Facts)
	}
}

// A trial's times must stand in the order in which things happen.
func TestStepsOfAFailoverComeInOrder(t *testing.T) {
	w := wanted{steadyName, "setnx"}
	o := try(t, w)[w]
	times := o.trial.Times
	last := int64(0)
	for _, m := range []results.Moment{results.Noticed, results.Elected, results.FirstWrite, results.Promoted, results.FirstGrant} {
		at, ok := times[m]
		if !ok || at < last {
			t.Errorf("%s at %v, ok %v, after %v", m, time.Duration(at), ok, time.Duration(last))
		}
		last = at
	}
	if times[results.WithoutGrant] < times[results.FirstWrite]/2 {
		t.Errorf("%v without a grant, and the first write %v after the crash", times[results.WithoutGrant], times[results.FirstWrite])
	}
	if n, ok := o.trial.Facts["held_at_promotion"]; !ok || n == 0 {
		t.Error("no lock was held at the crash")
	}
	for _, client := range env.Clients {
		if !slices.ContainsFunc(o.ops.Ops, func(op history.Op) bool { return op.Client == client && op.Acquire.Result == history.Held }) {
			t.Errorf("the %s client never found a lock held", client)
		}
	}
}

func TestAPlanThatCannotRunEndsSoon(t *testing.T) {
	folder, err := results.CreateFailover(t.TempDir() + "/run")
	if err != nil {
		t.Fatal(err)
	}
	record, err := Run(t.Context(), planOf(t, nil), failing{}, folder, func(Progress) {})
	if err == nil || record != nil {
		t.Errorf("a provider that starts nothing: %v", err)
	}
}

type failing struct{}

func (failing) Start(context.Context, env.Spec) (*env.Stack, error) {
	return nil, os.ErrPermission
}

// victimIn makes this binary a driver of a trial that is killed in its middle,
// with a server stopped and links held.
const victimIn = "FAILOVER_TEST_VICTIM_IN"

func victim(dir string) {
	ctx := context.Background()
	fail := func(err error) {
		if err != nil {
			_ = json.NewEncoder(os.Stdout).Encode(err.Error())
			os.Exit(1)
		}
	}
	stack, err := process.Provider{Dir: dir}.Start(ctx, env.Spec{Replicas: 1, Sentinels: 1, Network: true})
	fail(err)
	fail(stack.Network.Set(ctx, env.Way{From: replicaOne, To: primaryNode}, blackHole))
	fail(stack.Faults.Pause(primaryNode))
	holder, err := reexec.Start(ctx, reexec.Options{Part: holderName, Config: holding{Path: "null", Redis: stack.Redis}}, nil)
	fail(err)
	pids := []int{holder.PID}
	for _, n := range stack.Nodes {
		pids = append(pids, n.PID)
	}
	fail(json.NewEncoder(os.Stdout).Encode(pids))
	select {}
}

func TestAKilledDriverLeavesNothingStopped(t *testing.T) {
	processtest.Start(t, env.Spec{}) // says so where servers are missing
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), victimIn+"="+t.TempDir())
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	var pids []int
	if err := json.NewDecoder(out).Decode(&pids); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		envtest.Eventually(t, "what the driver started ends", func() error { return envtest.Gone(pid) })
	}
}
