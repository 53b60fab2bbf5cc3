//go:build !linux

package link

import (
	"errors"
	"fmt"
	"time"
)

// supported tells whether there can be a relay on this system.
func supported() error {
	return fmt.Errorf("distances between servers need Linux: %w", errors.ErrUnsupported)
}

// relay is not to be had.
type relay struct{}

func newRelay([]string) (*relay, error)              { return nil, supported() }
func (*relay) Addrs() []string                       { return nil }
func (*relay) SetDelay(oneWay, jitter time.Duration) {}
func (*relay) Delays() (out, back Quantiles)         { return Quantiles{}, Quantiles{} }
func (*relay) ForgetDelays()                         {}
func (*relay) Ended() <-chan struct{}                { return nil }
func (*relay) Close() error                          { return supported() }
