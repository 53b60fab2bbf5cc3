package placement

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Allowed returns the CPUs that the calling thread may run on, ascending.
func Allowed() ([]int, error) { return Of(0) }

// Of returns the CPUs that a thread may run on, ascending. A process's id
// names its first thread; 0 names the caller.
func Of(pid int) ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var cpus []int
	for c := range len(set) * 64 {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// ThreadAs confines the calling thread to cpus, with that priority. Without
// cpus it gets all that this process had before it was placed. What it
// starts, threads and processes, inherits both. The goroutine must have
// locked its thread. A priority that we may not have is left ordinary.
func ThreadAs(cpus []int, policy Policy) error {
	if p := Current(); len(cpus) == 0 && p.Pinned {
		cpus = append(slices.Clone(p.Driver), p.Servers...)
	}
	if len(cpus) > 0 {
		var set unix.CPUSet
		for _, c := range cpus {
			set.Set(c)
		}
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return fmt.Errorf("sched_setaffinity to CPU %s: %w", Format(cpus), err)
		}
	}
	switch {
	case policy == Realtime && schedule(unix.SCHED_RR, 1) == nil:
		return nil
	case policy == Preferred && prefer() == nil:
		return nil
	case !preferred() && !realtime():
		return nil
	}
	if err := schedule(unix.SCHED_NORMAL, 0); err != nil {
		return fmt.Errorf("sched_setattr to ordinary priority: %w", err)
	}
	return nil
}

// schedule sets the calling thread's policy (sched(7)).
func schedule(policy, priority uint32) error {
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}, 0)
}

// prefer gives the calling thread the highest of the ordinary priorities.
func prefer() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, mostPreferred) }

const mostPreferred = -20

// preferred tells whether the calling thread has it.
func preferred() bool {
	attr, err := unix.SchedGetAttr(0, 0)
	return err == nil && attr.Policy == unix.SCHED_NORMAL && attr.Nice == mostPreferred
}

// realtime tells whether the calling thread goes before every ordinary one.
func realtime() bool {
	attr, err := unix.SchedGetAttr(0, 0)
	return err == nil && attr.Policy == unix.SCHED_RR
}

// enter replaces this process by itself on cpus, with mark added to its
// environment. It returns only if that failed.
func enter(cpus []int, mark string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := Allowed()
	if err != nil {
		return err
	}
	if err := Thread(cpus); err != nil {
		return err
	}
	// The kernel's own threads, those of the file system above all, run on
	// every CPU and were seen to keep the driver from starting an operation
	// for 3 to 7 ms. Where we may not go before them, Current says so. It is
	// not real-time priority, which a driver that polls would use up: the
	// kernel then takes the CPU away for 50 ms of each second
	// (sched_rt_runtime_us).
	_ = prefer()
	// Not os.Args[0], which may be relative to a folder we are not in, nor
	// os.Executable, which go run or a rebuild may have removed.
	err = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), mark))
	if undo := Thread(before); undo != nil {
		return fmt.Errorf("executing again: %w; and then %w", err, undo)
	}
	return fmt.Errorf("executing again: %w", err)
}
