//go:build !linux

package link

import (
	"errors"
	"fmt"
	"time"
)

// Supported tells whether there can be a Process on this system: its error is
// errors.ErrUnsupported.
func Supported() error {
	return fmt.Errorf("links between servers need Linux: %w", errors.ErrUnsupported)
}

// relay is not to be had.
type relay struct{}

func newRelay([]string) (*relay, error)              { return nil, Supported() }
func (*relay) Addrs() []string                       { return nil }
func (*relay) SetDelay(oneWay, jitter time.Duration) {}
func (*relay) SetState(int, State) error             { return Supported() }
func (*relay) Delays() (out, back Quantiles)         { return Quantiles{}, Quantiles{} }
func (*relay) ForgetDelays()                         {}
func (*relay) Ended() <-chan struct{}                { return nil }
func (*relay) Close() error                          { return Supported() }
