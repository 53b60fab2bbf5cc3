package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"lockcost/bench/load"
	"lockcost/env"
	"lockcost/results"
	"lockcost/workloads"
	"lockcost/workloads/ledger"
)

// site is where runs take place: a stack, and on it our own tables and keys,
// which go again when it is left.
type site struct {
	plan     Plan
	stack    *env.Stack
	settings workloads.Settings
	tables   *ledger.Tables // nil without a ledger
	orders   int64          // next order that is not yet seeded
	runs     int            // begun so far, to keep the keys apart
}

// cleanupTimeout bounds the removal of keys and tables, also after Ctrl-C.
const cleanupTimeout = 30 * time.Second

func newSite(ctx context.Context, plan Plan, stack *env.Stack) (*site, error) {
	var id [4]byte
	rand.Read(id[:]) // never fails, see its documentation
	name := hex.EncodeToString(id[:])
	s := &site{plan: plan, stack: stack, settings: plan.settings()}
	s.settings.Prefix = "lockcost:" + name + ":"
	s.settings.Tables = "lockcost_" + name + "_"
	if !plan.Ledger {
		return s, nil
	}
	var err error
	s.tables, err = ledger.CreateTables(ctx, stack.Ledger, s.settings.Tables)
	return s, err
}

// leave removes our keys and tables, and nothing else.
func (s *site) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	var errs []error
	if err := workloads.RemoveKeys(ctx, s.stack, s.settings.Prefix); err != nil {
		errs = append(errs, fmt.Errorf("removing the keys %s*: %w", s.settings.Prefix, err))
	}
	if s.tables != nil {
		if err := s.tables.Drop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("removing the tables %s*: %w", s.settings.Tables, err))
		}
	}
	return errors.Join(errs...)
}

// task prepares n operations on an open session: fresh keys, fresh orders.
func (s *site) task(ctx context.Context, session *workloads.Session, n int64) (*task, error) {
	t := &task{
		session: session, ttl: s.plan.TTL, hold: s.plan.Hold, distinct: int64(s.plan.Keys),
		keys: fmt.Sprintf("%s%d:", s.settings.Prefix, s.runs), firstOrder: s.orders,
	}
	s.runs++
	if session.Guard == nil {
		return t, nil
	}
	if err := s.tables.Seed(ctx, s.orders, int(n)); err != nil {
		return nil, err
	}
	s.orders += n
	return t, nil
}

// check opens a path once, asks the servers for what it needs, and does one
// operation, so that a run that cannot succeed is refused before any load.
func (s *site) check(ctx context.Context, path workloads.Path) error {
	session, err := path.Open(ctx, s.stack, s.settings)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := path.Check(ctx, session, s.settings); err != nil {
		return err
	}
	t, err := s.task(ctx, session, 1)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.plan.OpTimeout+s.settings.WaitTimeout+5*time.Second)
	defer cancel()
	if err := t.try(ctx, 0); err != nil {
		return fmt.Errorf("path %s: %w", path.Label(), err)
	}
	return nil
}

// measured is what one run of a path came to, besides its recording.
type measured struct {
	run     results.Run
	medians []int64 // of the acquire response, second by second
}

// measure drives path once. count, when above 0, is the number of arrivals
// to drive instead of the plan's duration. observe is handed each second.
func (s *site) measure(ctx context.Context, path workloads.Path, plan load.Plan, observe func(load.Interval) error) (*measured, error) {
	session, err := path.Open(ctx, s.stack, s.settings)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	t, err := s.task(ctx, session, load.Slots(plan))
	if err != nil {
		return nil, err
	}
	m := &measured{}
	plan.Observe = func(in load.Interval) error {
		m.medians = append(m.medians, median(in.Samples[results.SpanAcquire]))
		return observe(in)
	}
	before := s.serverCPU()
	recording, err := load.Run(ctx, plan, t.job)
	if recording == nil {
		return nil, fmt.Errorf("path %s: %w", path.Label(), err)
	}
	after := s.serverCPU()
	m.run = toRun(recording)
	m.run.ServerCPU = perOperation(before, after, load.Slots(plan))
	m.run.Instrument.PoolSize = session.PoolSize
	m.run.Instrument.LedgerPoolSize = session.LedgerPoolSize
	if audited := s.audit(ctx, t, load.Slots(plan), recording); audited != "" {
		m.run.Warnings = append(m.run.Warnings, audited)
	}
	return m, err
}

// audit holds what the clients were told against what the ledger has.
func (s *site) audit(ctx context.Context, t *task, orders int64, r *load.Recording) string {
	if t.session.Guard == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	found, err := s.tables.Audit(ctx, t.firstOrder, int(orders))
	switch {
	case err != nil:
		return fmt.Sprintf("the ledger was not audited: %v", err)
	case found.Doubled > 0:
		return fmt.Sprintf("%d orders were charged more than once", found.Doubled)
	case found.Orders < r.Done:
		return fmt.Sprintf("%d operations were reported done, but only %d orders are charged", r.Done, found.Orders)
	}
	return ""
}
