//go:build !linux

package placement

import (
	"errors"
	"fmt"
	"runtime"
)

var errNoAffinity = fmt.Errorf("%s has no CPU affinity: %w", runtime.GOOS, errors.ErrUnsupported)

// Allowed returns the CPUs that the calling thread may run on, which this
// system does not tell.
func Allowed() ([]int, error) { return nil, errNoAffinity }

// Of returns the CPUs that a thread may run on, which this system does not
// tell.
func Of(pid int) ([]int, error) { return nil, errNoAffinity }

// ThreadAs confines the calling thread to cpus, which this system cannot do:
// the error is errors.ErrUnsupported.
func ThreadAs(cpus []int, policy Policy) error { return errNoAffinity }

func enter(cpus []int, mark string) error { return errNoAffinity }

func preferred() bool { return false }
