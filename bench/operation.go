package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"lockcost/bench/load"
	"lockcost/workloads"
	"lockcost/workloads/ledger"
	"lockcost/workloads/lock"
	"lockcost/workloads/pool"
)

// The stages of an operation, in the order of the load plan's Stages.
const (
	stageAcquire = iota
	stageEffect
	stageRelease
	stageWait // inside acquire
)

// Kinds of refusals.
const (
	kindHeld         = "held"
	kindUnreplicated = "unreplicated"
)

// task is what every operation of one run does: take the lock, do the
// protected job under it, release it.
type task struct {
	session    *workloads.Session
	keys       string // prefix of the run's keys
	slots      int64  // number of operations
	distinct   int64  // number of keys; 0 for one for each slot
	hot        bool   // there are as many orders as keys, which operations take by turns
	firstOrder int64  // the order of slot 0
	ttl, hold  time.Duration

	popular []float64 // of the keys, see popularity; nil where they are taken by turns
	seed    uint64
}

// job makes a worker's context, which carries its traces, and its operation.
func (t *task) job(ctx context.Context) (context.Context, load.Operation) {
	queue, inside := new(pool.Trace), new(lock.Trace)
	ctx = lock.WithTrace(pool.WithTrace(ctx, queue), inside)
	return ctx, func(ctx context.Context, o *load.Op) error {
		queue.Wait, inside.Wait = 0, 0
		err := t.do(ctx, o)
		o.PoolWait = queue.Wait
		if inside.Wait > 0 {
			o.Part(stageWait, inside.Wait)
		}
		return err
	}
}

func (t *task) do(ctx context.Context, o *load.Op) error {
	lease, err := t.session.Locker.TryLock(ctx, t.key(o.Slot), t.ttl)
	if err != nil {
		return err
	}
	o.End(stageAcquire)
	if t.session.Guard != nil {
		err = t.underLock(ctx, t.order(o.Slot), lease)
		o.End(stageEffect)
	}
	if t.hold > 0 {
		o.Sleep(t.hold)
		o.Skip()
	}
	unlocked := lease.Unlock(ctx)
	o.End(stageRelease)
	return errors.Join(err, unlocked)
}

// underLock has the effect end where the locker learns that the lock is lost.
func (t *task) underLock(ctx context.Context, order int64, lease lock.Lease) error {
	held, done := lock.Hold(ctx, lease)
	defer done()
	err := t.effect(held, order, lease.Token())
	if cause := context.Cause(held); err != nil && errors.Is(cause, lock.ErrLost) {
		return cause
	}
	return err
}

// order is the order of a slot.
func (t *task) order(slot int64) int64 {
	if t.hot {
		slot %= t.distinct
	}
	return t.firstOrder + slot
}

// effect is the protected job: read the order; if it is unpaid, charge it.
func (t *task) effect(ctx context.Context, order int64, token uint64) error {
	read, err := t.session.Guard.Read(ctx, order, token)
	if err != nil {
		return &effectError{err}
	}
	if read.Paid {
		return nil
	}
	outcome, err := t.session.Guard.Charge(ctx, read, token)
	switch {
	case err != nil:
		return &effectError{err}
	case outcome == ledger.Stale:
		return &effectError{ledger.ErrStale}
	}
	return nil // charged now, or by a holder before us
}

// which is the key of a slot, among those that there are.
func (t *task) which(slot int64) int64 {
	if t.popular != nil {
		return draw(t.popular, t.seed, slot)
	}
	return slot % t.distinct
}

// key is the lock's key of a slot.
func (t *task) key(slot int64) string {
	if t.distinct > 0 {
		slot = t.which(slot)
	}
	return t.numbered(slot)
}

// numbered is the key with a number.
func (t *task) numbered(n int64) string {
	buffer := make([]byte, 0, 64)
	buffer = append(buffer, t.keys...)
	return string(strconv.AppendInt(buffer, n, 10))
}

// effectError tells the ledger's failures from the lock's.
type effectError struct{ error }

func (e *effectError) Unwrap() error { return e.error }

// classify says what an operation's error means to the record.
func classify(err error) (load.Outcome, string) {
	var effect *effectError
	switch {
	case errors.Is(err, lock.ErrHeld):
		return load.Refused, kindHeld
	case errors.Is(err, lock.ErrUnreplicated):
		return load.Refused, kindUnreplicated
	case errors.As(err, &effect):
		return load.Failed, ledger.Kind(effect.error)
	}
	return load.Failed, lock.Kind(err)
}

// try does one operation outside of any measurement, to find out what the
// path lacks before it is driven.
func (t *task) try(ctx context.Context, slot int64) error {
	lease, err := t.session.Locker.TryLock(ctx, t.key(slot), t.ttl)
	if err != nil {
		return fmt.Errorf("taking a lock: %w", err)
	}
	if t.session.Guard != nil {
		err = t.underLock(ctx, t.order(slot), lease)
	}
	if unlocked := lease.Unlock(ctx); unlocked != nil {
		err = errors.Join(err, fmt.Errorf("releasing it: %w", unlocked))
	}
	return err
}
