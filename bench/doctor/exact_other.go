//go:build !linux

package doctor

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// exact needs a thread that may poll without pause, which is not offered
// here.
const exactOffered = false

type exact struct{}

func listenExact([]time.Duration) (*exact, error) {
	return nil, fmt.Errorf("no %s on %s: %w", exactName, runtime.GOOS, errors.ErrUnsupported)
}

func (*exact) addrs() []string   { return nil }
func (*exact) late() []exactLate { return nil }
func (*exact) serve()            {}
