package lock

import (
	"context"
	"time"
)

// Trace collects what one operation spent inside its lock. It travels in a
// context as a pool.Trace does, and is reset before each operation.
type Trace struct {
	// Wait is the time that WAIT took by itself: from its sending to its
	// reply. 0 where it was not sent by itself, as in a pipeline.
	Wait time.Duration
}

type traceKey struct{}

// WithTrace returns a context whose lockers fill in t.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// timed calls f, and keeps the time it takes as that of WAIT.
func timed(ctx context.Context, f func() error) error {
	t, ok := ctx.Value(traceKey{}).(*Trace)
	if !ok {
		return f()
	}
	began := time.Now()
	err := f()
	t.Wait = time.Since(began)
	return err
}
