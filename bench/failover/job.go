package failover

import (
	"context"
	"errors"
	"sync/atomic"

	"lockcost/bench/failover/history"
	"lockcost/workloads/ledger"
	"lockcost/workloads/lock"
)

// job is the steps under a lock. It takes no more of them once its holder has
// learned that the lock is lost.
type job struct {
	now   func() int64 // nanoseconds
	guard ledger.Guard
	lease lock.Lease
	op    *history.Op
	order ledger.Order

	held    context.Context // ends with the lock, as far as its holder learns of it
	done    func()
	noticed atomic.Int64 // when it did so; 0 for not
}

// begin begins the job under a lease.
func begin(ctx context.Context, now func() int64, guard ledger.Guard, lease lock.Lease, op *history.Op) *job {
	j := &job{now: now, guard: guard, lease: lease, op: op}
	held, done := lock.Hold(ctx, lease)
	j.held, j.done = held, done
	if alive := lease.Alive(); alive != nil {
		stop := context.AfterFunc(alive, func() { j.noticed.CompareAndSwap(0, now()) })
		j.done = func() { stop(); done() }
	}
	return j
}

// lost tells whether the holder knows that its lock is lost.
func (j *job) lost() bool {
	if !errors.Is(context.Cause(j.held), lock.ErrLost) {
		return false
	}
	j.noticed.CompareAndSwap(0, j.now()) // where this comes before what waits for it
	return true
}

// failed is the result of a step that failed. What was broken off since the
// lock was lost was not done: a transaction whose end is not known is looked
// up, also then.
func (j *job) failed(err error) string {
	if j.lost() && errors.Is(err, context.Canceled) && !errors.Is(err, ledger.ErrUnresolved) {
		return history.Lost
	}
	return ledger.Kind(err)
}

// read reads the order, and tells whether the job goes on.
func (j *job) read() bool {
	step := history.Step{InvokedNS: j.now()}
	j.op.Read = &step
	if j.lost() {
		step.ReturnedNS, step.Result = step.InvokedNS, history.Lost
		return false
	}
	order, err := j.guard.Read(j.held, j.op.Order, j.op.Token)
	j.order, step.ReturnedNS = order, j.now()
	switch {
	case errors.Is(err, ledger.ErrStale):
		step.Result = history.Stale
	case err != nil:
		step.Result = j.failed(err)
	case order.Paid:
		step.Result = history.Paid
	default:
		step.Result = history.Unpaid
	}
	return err == nil
}

// charge charges the order, if it was read as unpaid.
func (j *job) charge() {
	if j.order.Paid {
		return
	}
	step := history.Step{InvokedNS: j.now()}
	j.op.Charge = &step
	if j.lost() {
		step.ReturnedNS, step.Result = step.InvokedNS, history.Lost
		return
	}
	outcome, err := j.guard.Charge(j.held, j.order, j.op.Token)
	step.ReturnedNS = j.now()
	step.Result = outcome.String()
	if err != nil {
		step.Result = j.failed(err)
	}
}

// release releases the lock, and ends the job.
func (j *job) release(ctx context.Context) {
	j.done()
	step := history.Step{InvokedNS: j.now()}
	err := j.lease.Unlock(ctx)
	step.ReturnedNS = j.now()
	switch {
	case err == nil:
		step.Result = history.Released
	case errors.Is(err, lock.ErrLost):
		step.Result = history.Lost
	default:
		step.Result = lock.Kind(err)
	}
	j.op.Release, j.op.NoticedNS = &step, j.noticed.Load()
}
