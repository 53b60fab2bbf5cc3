package placement

import (
	"fmt"
	"os"
	"runtime"
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

// Thread confines the calling thread to cpus. What it starts, threads and
// processes, inherits that. The goroutine must have locked its thread.
func Thread(cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("sched_setaffinity to CPU %s: %w", format(cpus), err)
	}
	return nil
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
	// Not os.Args[0], which may be relative to a folder we are not in, nor
	// os.Executable, which go run or a rebuild may have removed.
	err = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), mark))
	if undo := Thread(before); undo != nil {
		return fmt.Errorf("executing again: %w; and then %w", err, undo)
	}
	return fmt.Errorf("executing again: %w", err)
}
