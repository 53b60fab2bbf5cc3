// Package awake keeps the driver's CPUs from going to sleep.
//
// An idle CPU halts, and what wakes it comes 20 to 100 µs late, most of all
// on a virtual machine, where a halted CPU is given back to the host. A
// reply that arrives while the CPU is still awake is thus read sooner than
// one that arrives a little later, and a server that takes 100 µs longer
// seems to take 150 µs longer. With something to do that gives way to
// everything else at once, a CPU answers each time alike.
package awake

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"lockcost/env/placement"
	"lockcost/env/reexec"
)

// Switch is the environment variable that leaves the CPUs alone when it is
// set to "off".
const Switch = "LOCKCOST_AWAKE"

const partName = "idle loop"

// Part is the process that loops: one thread on each of its CPUs, which runs
// only while nothing else wants the CPU (SCHED_IDLE, sched(7)).
func Part() reexec.Part { return reexec.Part{Name: partName, Run: loop} }

// Keep keeps the driver's CPUs awake until the returned function is called.
// It does so only where the driver has CPUs of its own: what else ran there
// would be slowed down by nothing, but what it measured might. note says why
// where it does not; "" where it does.
func Keep(ctx context.Context) (stop func(), note string, err error) {
	placed := placement.Current()
	switch {
	case os.Getenv(Switch) == "off":
		return func() {}, "the driver's CPUs may sleep: " + Switch + "=off", nil
	case !placed.Pinned:
		return func() {}, "the driver's CPUs may sleep, as it has none of its own", nil
	}
	p, err := reexec.Start(ctx, reexec.Options{
		Part: partName, CPUs: placed.Driver, Policy: placement.Idle,
		// The runtime would interrupt a long loop a hundred times a second.
		Env: []string{"GODEBUG=asyncpreemptoff=1"},
	}, nil)
	if err != nil {
		return nil, "", fmt.Errorf("keeping the driver's CPUs awake: %w", err)
	}
	return func() { _ = p.Close() }, "", nil
}

func loop(ctx context.Context, c *reexec.Child) error {
	if err := c.Config(new(any)); err != nil {
		return err
	}
	debug.SetGCPercent(-1)
	cpus, err := placement.Allowed()
	if err != nil {
		return err
	}
	// One more than the loops, for what waits for the end.
	runtime.GOMAXPROCS(len(cpus) + 1)
	for _, cpu := range cpus {
		go func() {
			runtime.LockOSThread()
			_ = placement.ThreadAs([]int{cpu}, placement.Idle)
			for ctx.Err() == nil {
				rest(1 << 12)
			}
		}()
	}
	if err := c.Ready(nil); err != nil {
		return err
	}
	return c.Serve(nil)
}
