package failover

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"lockcost/bench/failover/history"
	"lockcost/bench/load"
	"lockcost/env"
	"lockcost/workloads"
	"lockcost/workloads/lock"
)

// client is one of the two that ask for the same orders. It has connections
// and an identity of its own.
type client struct {
	name    string
	session *workloads.Session

	mu   sync.Mutex
	live map[int64]int64 // orders whose lock it was granted and has not begun to release: when that was
}

func (t *trial) openClient(ctx context.Context, name string, stack *env.Stack) (*client, error) {
	session, err := t.path.Open(ctx, stack, t.settings)
	if err != nil {
		return nil, err
	}
	return &client{name: name, session: session, live: map[int64]int64{}}, nil
}

func (c *client) begin(order, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[order] = at
}

func (c *client) end(order int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, order)
}

// holding appends the orders whose lock was granted before a time and has
// not been released since.
func (c *client) holding(before int64, orders []int64) []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for order, at := range c.live {
		if at <= before {
			orders = append(orders, order)
		}
	}
	return orders
}

// ask is one slot's share of the schedule: which client asks for which order,
// and whether as the first of the two.
type ask struct {
	client int
	order  int64
	first  bool
}

// ask shares the slots out. They go to the two clients by turns. Of a
// client's own slots every other is a first ask, and those between are second
// asks for the orders that the other client asked for `second` earlier; while
// there are none yet, ok is false.
func (c *cell) ask(slot int64) (a ask, ok bool) {
	a.client = int(slot % 2)
	own := slot / 2
	if own%2 == 0 {
		a.order, a.first = own+int64(a.client), true
		return a, true
	}
	then := own - c.secondSlots()
	a.order = then + int64(1-a.client)
	return a, then >= 0
}

// secondSlots is c.second in a client's own slots; an odd number, as first and
// second asks take turns.
func (c *cell) secondSlots() int64 {
	n := int64(c.second.Seconds() * c.rate / 2)
	return n | 1
}

// due is when a slot is due after the load began.
func (c *cell) due(slot int64) time.Duration {
	return time.Duration(float64(slot) / c.rate * float64(time.Second))
}

// job is what a worker of the load does: see load.Job.
func (t *trial) job(ctx context.Context) (context.Context, load.Operation) {
	return ctx, func(ctx context.Context, o *load.Op) error {
		a, ok := t.ask(o.Slot)
		if !ok {
			return nil
		}
		hold := func() {}
		if a.first {
			hold = func() { o.Sleep(t.hold) }
		}
		op := t.attempt(ctx, t.clients[a.client], t.first+a.order, hold)
		op.DueNS = int64(t.due(o.Slot)) // since the load's begin, until it is known when that was
		t.recorder.Add(op)
		return nil
	}
}

// attempt asks for an order's lock and, if it is granted, does the job under
// it: read the order, hold on, charge it if it was unpaid, release.
func (t *trial) attempt(ctx context.Context, c *client, order int64, hold func()) history.Op {
	op := history.Op{Client: c.name, Order: order, TTLNS: int64(t.promised())}
	lease := t.acquire(ctx, c, &op)
	if lease == nil {
		return op
	}
	c.begin(order, op.Acquire.ReturnedNS)
	job := begin(ctx, t.now, c.session.Guard, lease, &op)
	if job.read() {
		hold()
		job.charge()
	}
	c.end(order)
	job.release(ctx)
	return op
}

func (t *trial) acquire(ctx context.Context, c *client, op *history.Op) lock.Lease {
	ctx, cancel := context.WithTimeout(ctx, t.plan.OpTimeout)
	defer cancel()
	op.Acquire.InvokedNS = t.now()
	lease, err := c.session.Locker.TryLock(ctx, t.key(op.Order), t.ttl())
	op.Acquire.ReturnedNS = t.now()
	op.Acquire.Result = acquired(err)
	if err != nil {
		return nil
	}
	op.Token = lease.Token()
	return lease
}

func acquired(err error) string {
	switch {
	case err == nil:
		return history.Granted
	case errors.Is(err, lock.ErrHeld):
		return history.Held
	case errors.Is(err, lock.ErrUnreplicated):
		return history.Unreplicated
	}
	return lock.Kind(err)
}

// key is the lock's key of an order.
func (t *trial) key(order int64) string {
	return t.settings.Prefix + "order:" + strconv.FormatInt(order, 10)
}
