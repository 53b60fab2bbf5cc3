//go:build !linux

package bench

import (
	"runtime"

	"golang.org/x/sys/unix"

	"lockcost/results"
)

func onlineCPUs() int { return runtime.NumCPU() }

func describeMachine(e *results.Environment) {
	e.CPU, _ = unix.Sysctl("machdep.cpu.brand_string")
	e.Kernel, _ = unix.Sysctl("kern.osrelease")
	e.ClockSource = "unknown"
}
