package assembly

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const pollInterval = 10 * time.Millisecond

// probe returns nil when a server is as it should be, and else what is not.
type probe func(context.Context) error

// name is the server's in the stack.
func (v *server) name() string { return v.Node().Name }

// addr is the driver's way to it.
func (v *server) addr() string { return v.Node().Addr }

// await polls until ready returns nil. It fails when the server ends first,
// and with the last thing that was not ready when ctx ends.
func (v *server) await(ctx context.Context, ready probe) error {
	// A probe that waits for a stranger on our port ends with the server.
	alive, end := context.WithCancel(ctx)
	defer end()
	ended := v.Ended()
	go func() {
		select {
		case <-ended:
			end()
		case <-alive.Done():
		}
	}()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var last error
	for {
		now := ready(alive)
		if now == nil {
			return nil
		}
		// One that was broken off has found nothing out.
		if last == nil || ctx.Err() == nil {
			last = now
		}
		select {
		case <-ended:
			return v.Failure()
		case <-ctx.Done():
			return v.notReady(ctx, last)
		case <-tick.C:
		}
	}
}

// notReady is the error of a server that ctx did not wait for any longer.
func (v *server) notReady(ctx context.Context, last error) error {
	cause := context.Cause(ctx)
	if ended := (*endedError)(nil); errors.As(cause, &ended) {
		return ended
	}
	if errors.Is(cause, context.Canceled) {
		return fmt.Errorf("waiting for %s: %w", v.name(), cause)
	}
	return fmt.Errorf("%s on %s: %w: %w%s", v.name(), v.addr(), cause, last, v.LogTail())
}
