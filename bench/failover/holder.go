package failover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"lockcost/bench/failover/history"
	"lockcost/env"
	"lockcost/env/reexec"
	"lockcost/workloads"
	"lockcost/workloads/lock"
)

const holderName = "holder"

// holderOrders is how many orders a holder has in hand when it is stopped.
const holderOrders = 20

// holderTTL is the TTL of its locks, and holderOversleeps how much longer it
// is stopped at the least. holderMost is how much longer it is at the most: a
// session's end takes its servers up to two seconds to see.
const (
	holderTTL        = time.Second
	holderOversleeps = 300 * time.Millisecond
	holderMost       = 4 * time.Second
)

// Parts are the processes of their own that fault experiments need.
func Parts() []reexec.Part {
	return []reexec.Part{{Name: holderName, Run: runHolder}}
}

// The points at which a holder is stopped.
const (
	beforeRead  = "before-read"
	beforeWrite = "between-read-and-write"
	afterWrite  = "after-write"
)

// pausedHolders are the scenarios in which nothing happens to a server: a
// holder stops for longer than its lock lasts.
func pausedHolders() []Scenario {
	var all []Scenario
	for _, point := range []string{beforeRead, beforeWrite, afterWrite} {
		all = append(all, Scenario{
			Name: "paused-holder", Variant: point,
			Summary: "the holder's process is stopped beyond its lock's TTL, and goes on after another has done the job",
			For:     append([]workloads.Service{""}, everyService...),
			Needs:   Needs{Replicas: 1, NoLoad: true, TTL: holderTTL},
			Inject:  func(ctx context.Context, t *trial) error { return pauseHolder(ctx, t, point) },
			Healthy: healthyAgain,
		})
	}
	return all
}

// holding is what a holder's process is told.
type holding struct {
	Redis        env.Redis
	Independents []string
	Etcd         env.Etcd
	ZooKeeper    env.ZooKeeper
	Ledger       string
	Path         string
	Settings     workloads.Settings
	TTL          time.Duration
	Promised     time.Duration
	Timeout      time.Duration
	Point        string
	First        int64 // of its orders
	Orders       int64
	Begun        time.Time // of the trial: its times count from then
}

// startHolder starts the first client as a process of its own.
func (t *trial) startHolder(ctx context.Context, point string) (*reexec.Process, error) {
	own := t.stackOf(0)
	// Its times count from the wall clock's, which both processes share.
	return reexec.Start(ctx, reexec.Options{Part: holderName, Config: holding{
		Redis: own.Redis, Independents: own.Independents, Etcd: own.Etcd, ZooKeeper: own.ZooKeeper, Ledger: own.Ledger,
		Path: t.path.Label(), Settings: t.settings, TTL: t.ttl(), Promised: t.promised(),
		Timeout: t.plan.OpTimeout, Point: point, First: t.first, Orders: holderOrders, Begun: t.begun.Round(0),
	}}, nil)
}

// pauseHolder has a holder take the locks, stops it, has the second client do
// the job meanwhile, and lets the holder go on.
func pauseHolder(ctx context.Context, t *trial, point string) error {
	p, err := t.startHolder(ctx, point)
	if err != nil {
		return err
	}
	defer func() {
		_ = syscall.Kill(p.PID, syscall.SIGCONT) // so that it can end
		_ = p.Close()
	}()
	var granted []int64
	if err := p.Call(ctx, "begin", &granted); err != nil {
		return err
	}
	t.fault()
	if err := syscall.Kill(p.PID, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stopping the holder: %w", err)
	}
	if err := t.allGone(ctx, granted, t.ttl()+holderMost); err != nil {
		return err
	}
	if err := t.sleep(ctx, t.ttl()+holderOversleeps-t.sinceFault()); err != nil {
		return err
	}
	t.duringEnd.Store(t.now())
	for order := range int64(holderOrders) {
		op := t.attempt(ctx, t.clients[1], t.first+order, func() {})
		op.DueNS = op.Acquire.InvokedNS
		t.recorder.Add(op)
	}
	if err := syscall.Kill(p.PID, syscall.SIGCONT); err != nil {
		return fmt.Errorf("letting the holder go on: %w", err)
	}
	var ops []history.Op
	if err := p.Call(ctx, "finish", &ops); err != nil {
		return err
	}
	for _, op := range ops {
		t.recorder.Add(op)
	}
	if len(granted) == 0 {
		return void("the holder was granted no lock")
	}
	return nil
}

// holder is the inside of a holder's process.
type holder struct {
	holding
	session *workloads.Session

	mu   sync.Mutex
	ops  []*history.Op
	jobs []*job
}

func runHolder(ctx context.Context, c *reexec.Child) error {
	var h holder
	if err := c.Config(&h.holding); err != nil {
		return err
	}
	path, err := workloads.Find(h.Path)
	if err != nil {
		return err
	}
	stack := &env.Stack{Redis: h.Redis, Independents: h.Independents, Etcd: h.Etcd, ZooKeeper: h.ZooKeeper, Ledger: h.Ledger}
	if h.session, err = path.Open(ctx, stack, h.Settings); err != nil {
		return err
	}
	defer h.session.Close()
	if err := c.Ready(nil); err != nil {
		return err
	}
	return c.Serve(func(request json.RawMessage) (any, error) {
		switch string(request) {
		case `"begin"`:
			return h.begin(ctx), nil
		case `"finish"`:
			return h.finish(ctx), nil
		}
		return nil, errors.New("no such order")
	})
}

func (h *holder) now() int64 { return time.Now().Round(0).Sub(h.Begun).Nanoseconds() }

// begin takes the locks, at once, so that none runs out meanwhile, goes on as
// far as the point, and returns the orders whose locks were granted.
func (h *holder) begin(ctx context.Context) []int64 {
	granted := []int64{}
	var taking sync.WaitGroup
	for order := range h.Orders {
		taking.Go(func() {
			op, lease := h.take(ctx, h.First+order)
			h.mu.Lock()
			defer h.mu.Unlock()
			h.ops = append(h.ops, op)
			if lease != nil {
				granted = append(granted, op.Order)
				h.jobs = append(h.jobs, begin(ctx, h.now, h.session.Guard, lease, op))
			}
		})
	}
	taking.Wait()
	for _, j := range h.jobs {
		taking.Go(func() {
			if h.Point != beforeRead && j.read() && h.Point == afterWrite {
				j.charge()
			}
		})
	}
	taking.Wait()
	return granted
}

// take asks for an order's lock; nil where it was not granted.
func (h *holder) take(ctx context.Context, order int64) (*history.Op, lock.Lease) {
	op := &history.Op{Client: env.Clients[0], Order: order, TTLNS: int64(h.Promised)}
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	op.Acquire.InvokedNS = h.now()
	op.DueNS = op.Acquire.InvokedNS
	lease, err := h.session.Locker.TryLock(ctx, fmt.Sprintf("%sorder:%d", h.Settings.Prefix, order), h.TTL)
	op.Acquire.ReturnedNS = h.now()
	op.Acquire.Result = acquired(err)
	if err != nil {
		return op, nil
	}
	op.Token = lease.Token()
	return op, lease
}

// finish does what is left to do.
func (h *holder) finish(ctx context.Context) []*history.Op {
	for _, j := range h.jobs {
		unread := h.Point == beforeRead
		if unread && j.read() || h.Point == beforeWrite && j.op.Read.Result == history.Unpaid {
			j.charge()
		}
		j.release(ctx)
	}
	return h.ops
}
