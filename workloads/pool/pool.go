// Package pool bounds how many connections are in use at once, and tells how
// long each operation stood in line for one.
//
// Client libraries count such waits in total, not for the operation that
// suffered them. A Gate of the pool's own size in front of the library's
// pool makes the library never wait, and the wait that is left measurable.
package pool

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrTimeout: the context ended before a connection was free. Nothing was
// sent.
var ErrTimeout = errors.New("no connection became free in time")

// Trace collects the time one operation spent waiting for connections. Like
// a net/http/httptrace.ClientTrace it travels in a context; a worker makes
// that context once, and resets the trace before each operation. It is used
// by one goroutine at a time.
type Trace struct {
	Wait time.Duration
}

type traceKey struct{}

// WithTrace returns a context whose waits are added to t.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// Gate admits a bounded number of holders. A nil Gate admits everybody.
type Gate struct {
	slots  chan struct{}
	waited atomic.Int64 // nanoseconds, by all callers
}

// NewGate returns a gate for size holders, at least one.
func NewGate(size int) *Gate {
	return &Gate{slots: make(chan struct{}, max(size, 1))}
}

// Size is the number of holders it admits at once.
func (g *Gate) Size() int { return cap(g.slots) }

// InUse is the number of holders now.
func (g *Gate) InUse() int { return len(g.slots) }

// Waited is how long callers have stood in line so far, added up.
func (g *Gate) Waited() time.Duration { return time.Duration(g.waited.Load()) }

// Enter waits for a place, and adds the wait to the trace in ctx. It fails
// only when ctx ends first, with an ErrTimeout that wraps ctx's cause.
func (g *Gate) Enter(ctx context.Context) error {
	if g == nil {
		return nil
	}
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
	}
	began := time.Now()
	defer func() {
		wait := time.Since(began)
		g.waited.Add(int64(wait))
		if t, ok := ctx.Value(traceKey{}).(*Trace); ok {
			t.Wait += wait
		}
	}()
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w (all %d in use): %w", ErrTimeout, g.Size(), context.Cause(ctx))
	}
}

// Leave gives the place back.
func (g *Gate) Leave() {
	if g != nil {
		<-g.slots
	}
}
