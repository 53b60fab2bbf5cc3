package bench

import (
	"context"
	"encoding/json"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/placement/placementtest"
	"lockcost/env/process/processtest"
	"lockcost/env/reexec"
	"lockcost/results"
	"lockcost/workloads"
)

// starvedPart is a driver that gets a tenth of a CPU and needs more: it runs
// at a lower priority than a loop on the same CPU.
func starvedPart() reexec.Part {
	return reexec.Part{Name: "starved driver", Run: func(ctx context.Context, c *reexec.Child) error {
		var redis env.Redis
		if err := c.Config(&redis); err != nil {
			return err
		}
		loop := exec.Command("sh", "-c", "while :; do :; done")
		loop.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := loop.Start(); err != nil {
			return err
		}
		defer func() { _ = loop.Process.Kill(); _ = loop.Wait() }()
		// Every thread of ours: we are a process group of our own.
		if err := syscall.Setpriority(syscall.PRIO_PGRP, 0, 10); err != nil {
			return err
		}
		run, err := measureStarved(ctx, &env.Stack{Provider: "external", Redis: redis})
		if err != nil {
			return err
		}
		return c.Ready(run)
	}}
}

func measureStarved(ctx context.Context, stack *env.Stack) (results.Run, error) {
	path, err := workloads.Find("setnx")
	if err != nil {
		return results.Run{}, err
	}
	plan := DefaultPlan()
	plan.Ledger, plan.Paths = false, []workloads.Path{path}
	plan.Warmup, plan.Duration = 200*time.Millisecond, 3*time.Second
	site, err := newSite(ctx, plan, stack)
	if err != nil {
		return results.Run{}, err
	}
	ready, err := site.prepare(ctx, Variant{Path: path}, plan.load(1))
	if err != nil {
		return results.Run{}, err
	}
	defer ready.close()
	m, err := site.drive(ctx, ready, nil)
	if err != nil {
		return results.Run{}, err
	}
	m.run.Verdict, m.run.Reasons = results.Judge(m.run, toPath(path), plan.record(), coarse)
	return m.run, site.leave(ctx)
}

func TestStarvedDriverIsInvalid(t *testing.T) {
	cpus := placementtest.TwoCPUs(t)
	stack := processtest.Start(t, env.Spec{Pin: cpus[1:]})
	var run results.Run
	p, err := reexec.Start(t.Context(), reexec.Options{Part: "starved driver", Config: stack.Redis, CPUs: cpus[:1]}, &run)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if run.Verdict != results.Invalid {
		text, _ := json.Marshal(run)
		t.Errorf("a driver with a tenth of a CPU made a run that is %s: %v\n%s", run.Verdict, run.Reasons, text)
	}
	t.Log(run.Reasons)
}
