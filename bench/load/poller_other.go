//go:build !linux

package load

import (
	"errors"

	"lockcost/env/timer"
)

// newPoller is not called: without affinity the driver has no CPU to itself.
func newPoller(*timer.Clock) (*poller, error) { return nil, errors.ErrUnsupported }
