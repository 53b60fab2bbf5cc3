//go:build !linux

package env

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// CPUTime is the processor time that a process has used so far, which is not
// read on this system: the error is errors.ErrUnsupported.
func CPUTime(pid int) (time.Duration, error) {
	return 0, fmt.Errorf("CPU time of process %d on %s: %w", pid, runtime.GOOS, errors.ErrUnsupported)
}
