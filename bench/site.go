package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"lockcost/bench/load"
	"lockcost/env"
	"lockcost/env/usage"
	"lockcost/results"
	"lockcost/workloads"
	"lockcost/workloads/ledger"
	"lockcost/workloads/lock"
)

// site is where runs take place: a stack, and on it our own tables and keys,
// which go again when it is left.
type site struct {
	plan     Plan
	stack    *env.Stack
	settings workloads.Settings
	tables   *ledger.Tables // nil without a ledger
	orders   int64          // next order that is not yet seeded
	tasks    []*task        // so far, each with keys of its own
	meter    *usage.Meter   // of what the servers use
	popular  popular        // of the task before
}

// cleanupTimeout bounds the removal of keys and tables, also after Ctrl-C.
const cleanupTimeout = 30 * time.Second

func newSite(ctx context.Context, plan Plan, stack *env.Stack) (*site, error) {
	var id [4]byte
	rand.Read(id[:]) // never fails, see its documentation
	name := hex.EncodeToString(id[:])
	s := &site{plan: plan, stack: stack, settings: plan.settings(), meter: usage.NewMeter(stack)}
	s.settings.Prefix = "lockcost:" + name + ":"
	s.settings.Tables = "lockcost_" + name + "_"
	if !plan.Ledger {
		return s, nil
	}
	var err error
	s.tables, err = ledger.CreateTables(ctx, stack.Ledger, s.settings.Tables)
	return s, err
}

// leave removes our keys and tables, and nothing else. On a stack of our own
// they go with the servers.
func (s *site) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	errs := []error{s.meter.Close()}
	if s.stack.Ours {
		return errors.Join(append(errs, s.tables.Close())...)
	}
	if s.tables != nil {
		if err := s.tables.Drop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("removing the tables %s*: %w", s.settings.Tables, err))
		}
	}
	if len(s.tasks) == 0 {
		return errors.Join(errs...) // no operation was done
	}
	if err := workloads.Remove(ctx, s.stack, s.settings, s.plan.services(), s.keys()); err != nil {
		errs = append(errs, fmt.Errorf("removing the keys %s*, which expire in %v: %w", s.settings.Prefix, s.plan.TTL, err))
	}
	return errors.Join(errs...)
}

// keys are all that our operations may have left in Redis.
func (s *site) keys() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(lock.CounterKey(s.settings.Prefix)) {
			return
		}
		for _, t := range s.tasks {
			n := t.slots
			if t.distinct > 0 && (t.popular != nil || t.distinct < n) {
				n = t.distinct
			}
			for i := range n {
				if !yield(t.numbered(i)) {
					return
				}
			}
		}
	}
}

// task prepares n operations on an open session: fresh keys, fresh orders.
func (s *site) task(ctx context.Context, session *workloads.Session, n int64) (*task, error) {
	t := &task{
		session: session, ttl: s.plan.TTL, hold: s.plan.Hold, distinct: int64(s.plan.Keys),
		keys: fmt.Sprintf("%s%d:", s.settings.Prefix, len(s.tasks)), slots: n, firstOrder: s.orders,
		seed: s.plan.Seed,
	}
	if hot := int64(s.plan.Orders); hot > 0 {
		t.distinct, t.hot = hot, true
		n = min(n, hot)
	}
	if s.plan.Zipf > 0 {
		t.popular = s.popularity(t.distinct, s.plan.Zipf)
	}
	s.tasks = append(s.tasks, t)
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
func (s *site) check(ctx context.Context, v Variant) error {
	path := v.Path
	if err := s.arrange(ctx, v); err != nil {
		return err
	}
	settings := s.settings
	if path.Synced() {
		// A replica tells what it has synced when it is asked the next time, or
		// once a second: nobody else asks now.
		settings.WaitTimeout = max(settings.WaitTimeout, replicaPatience)
	}
	session, err := path.Open(ctx, s.stack, settings)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := path.Check(ctx, session, settings); err != nil {
		return err
	}
	t, err := s.task(ctx, session, 1)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.plan.OpTimeout+settings.WaitTimeout+2*replicaPatience)
	defer cancel()
	for until := time.Now().Add(replicaPatience); ; time.Sleep(50 * time.Millisecond) {
		err = t.try(ctx, 0)
		if !errors.Is(err, lock.ErrUnreplicated) || time.Now().After(until) {
			break
		}
	}
	switch {
	case errors.Is(err, lock.ErrLost):
		return fmt.Errorf("path %s: %w: it ran out before one job was done, raise --ttl %v", path.Label(), err, s.plan.TTL)
	case err != nil:
		return fmt.Errorf("path %s: %w", path.Label(), err)
	}
	return nil
}

// arrange puts the servers as the variant needs them: at its distance, and
// with a Redis that syncs what it writes where the path asks for that.
func (s *site) arrange(ctx context.Context, v Variant) error {
	if err := s.reach(ctx, v.Distance); err != nil {
		return fmt.Errorf("path %s: %w", v.Label(), err)
	}
	if err := s.sync(ctx, v.Path.Synced()); err != nil {
		return fmt.Errorf("path %s: %w", v.Label(), err)
	}
	return nil
}

// sync has Redis sync what it writes, or be as it was started. It is left
// alone where no path asks for that.
func (s *site) sync(ctx context.Context, always bool) error {
	if !s.stack.Ours || s.stack.Redis.Primary == "" || !slices.ContainsFunc(s.plan.Paths, workloads.Path.Synced) {
		return nil
	}
	return env.AppendFsync(ctx, s.stack, always)
}

// replicaPatience is how long a replica may take to acknowledge for the first
// time: one that has only just come online may still be busy.
const replicaPatience = 3 * time.Second

// ready is a path that is open on the site, with orders for one run.
type ready struct {
	path    workloads.Path
	plan    load.Plan
	session *workloads.Session
	task    *task
}

// prepare opens the path and seeds its orders, all that must not fall into
// a measurement.
func (s *site) prepare(ctx context.Context, v Variant, plan load.Plan) (*ready, error) {
	if err := s.arrange(ctx, v); err != nil {
		return nil, err
	}
	session, err := v.Path.Open(ctx, s.stack, s.settings)
	if err != nil {
		return nil, err
	}
	t, err := s.task(ctx, session, load.Slots(plan))
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return &ready{path: v.Path, plan: plan, session: session, task: t}, nil
}

// measured is what one run of a path came to, without a verdict.
type measured struct {
	run     results.Run
	medians []int64 // of the acquire response, second by second; 0 where there was none
}

// Second is what is looked at while a run goes on: of its acquire responses,
// 0 where nothing was granted.
type Second struct {
	load.Interval
	P50, P99 int64
}

// glanceSamples bounds what is sorted each second on the driver's CPU.
const glanceSamples = 2000

func glance(in load.Interval) Second {
	acquire := in.Samples[results.SpanAcquire]
	if len(acquire) == 0 {
		return Second{Interval: in}
	}
	sorted := slices.Sorted(slices.Values(acquire[:min(len(acquire), glanceSamples)]))
	return Second{in, sorted[len(sorted)/2], sorted[len(sorted)*99/100]}
}

// drive runs what was prepared, once. observe is handed each second; nil is
// allowed. What was measured before an error comes with it.
func (s *site) drive(ctx context.Context, r *ready, observe func(Second) error) (*measured, error) {
	m := &measured{}
	r.plan.Sleep = s.stack.Unplaced()
	r.plan.Observe = func(in load.Interval) error {
		now := glance(in)
		m.medians = append(m.medians, now.P50)
		if observe == nil {
			return nil
		}
		return observe(now)
	}
	observed, err := s.observe(ctx)
	if err != nil {
		return nil, err
	}
	pools := newConnections(r)
	r.plan.Sample = pools.sample
	before := s.meter.Read(ctx)
	recording, err := load.Run(ctx, r.plan, r.task.job)
	if recording == nil {
		_ = observed(new(results.Run)) // there is no run for it to be about
		return nil, fmt.Errorf("path %s: %w", r.path.Label(), err)
	}
	m.run = toRun(recording)
	m.run.Resources = toResources(s.used(ctx, before), recording)
	m.run.Connections = pools.results()
	err = errors.Join(err, observed(&m.run))
	m.run.Instrument.PoolSize = r.session.PoolSize
	m.run.Instrument.LedgerPoolSize = r.session.LedgerPoolSize
	lockWait, ledgerWait := r.session.PoolWaits()
	m.run.Instrument.PoolWaitNS, m.run.Instrument.LedgerPoolWaitNS = int64(lockWait), int64(ledgerWait)
	m.run.Renewals = toRenewals(r.session)
	return m, err
}

// used is what the servers have used since before.
func (s *site) used(ctx context.Context, before usage.Usage) usage.Usage {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	return s.meter.Read(ctx).Since(before)
}

// close ends the session's connections.
func (r *ready) close() { _ = r.session.Close() } // nothing is left to be lost with them

// audit holds what the clients were told against what the ledger has, and
// returns what does not agree, "" where all does.
func (s *site) audit(ctx context.Context, r *ready, run results.Run) string {
	if r.session.Guard == nil || ctx.Err() != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	warmup, all := load.WarmupSlots(r.plan), load.Slots(r.plan)
	found, err := s.tables.Audit(ctx, r.task.firstOrder+warmup, int(all-warmup))
	switch {
	case err != nil:
		return fmt.Sprintf("the ledger was not audited: %v", err)
	case found.Doubled > 0:
		return fmt.Sprintf("%d orders were charged more than once", found.Doubled)
	case found.Orders < run.Granted && !r.task.hot:
		return fmt.Sprintf("%d operations were reported done, but only %d orders are charged", run.Granted, found.Orders)
	}
	return ""
}
