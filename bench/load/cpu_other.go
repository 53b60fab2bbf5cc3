//go:build !linux

package load

import (
	"runtime"
	"syscall"
	"time"
)

// readCPU returns the driver's own CPU time and the CPUs it may use
// (getrusage(2)).
func readCPU() (time.Duration, int) {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return 0, 0
	}
	return time.Duration(own.Utime.Nano() + own.Stime.Nano()), runtime.GOMAXPROCS(0)
}
