package failover

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/bench/failover/history"
	"lockcost/bench/load"
	"lockcost/env"
	"lockcost/env/placement"
	"lockcost/results"
	"lockcost/workloads"
)

// Bounds of a trial.
const (
	patience     = 5 * time.Second  // until servers are as they should be
	longestTrial = 45 * time.Second // from the load's begin
	workersMost  = 8192
	noFault      = -1
)

// trial is one run of a cell, on a stack of its own.
type trial struct {
	*cell
	ground   *ground
	alone    bool // no other trial runs meanwhile
	settings workloads.Settings

	stack    *env.Stack
	begun    time.Time
	first    int64 // of its orders, which are no other trial's
	orders   int64 // how many those are
	clients  [2]*client
	service  service  // nil until its servers are ready
	watch    *watcher // of the Sentinels of a replicated Redis
	recorder history.Recorder

	background sync.WaitGroup
	end        context.CancelFunc // of what runs in the background

	faultNS    atomic.Int64 // noFault before it
	crashNS    atomic.Int64 // when a primary was last killed; 0 where none was
	promotedNS atomic.Int64 // from when it counts what a promoted node grants; 0 for not
	loadNS     int64        // when the load began
	endNS      int64        // when clients ceased to ask
	markNS     int64        // when the marker was written
	awayNS     int64        // from when no majority was left, and until when; 0 where one always was
	backNS     int64
	duringEnd  atomic.Int64   // when the fault's effect ended, where the scenario knows; 0 elsewhere
	firstWrite atomic.Int64   // on a node that did not accept any before; 0 for none
	written    chan struct{}  // closed with it
	lost       map[int64]bool // orders whose grants the promoted server lacks
	knowsLost  bool

	mu      sync.Mutex
	admins  map[string]*redis.Client
	present string          // address of the present primary of a replicated Redis
	goneNS  map[int64]int64 // when the lock of an order that was held was lost, by order
	result  results.Trial
	ctx     context.Context // of what runs in the background
}

// now is the time since the trial began.
func (t *trial) now() int64 { return int64(time.Since(t.begun)) }

// fault marks the moment of the fault, once.
func (t *trial) fault() { t.faultNS.CompareAndSwap(noFault, t.now()) }

// sinceFault is how long ago the fault was.
func (t *trial) sinceFault() time.Duration { return time.Duration(t.now() - t.faultNS.Load()) }

// fact keeps a number that only this scenario has.
func (t *trial) fact(name string, value int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Facts[name] = value
}

// moment keeps a time.
func (t *trial) moment(m results.Moment, ns int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Times[m] = ns
}

// reason keeps what the servers said; more than one is joined.
func (t *trial) reason(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.result.Reason != "" {
		text = t.result.Reason + "; " + text
	}
	t.result.Reason = text
}

// primary is the address of the present primary, as far as is known.
func (t *trial) primary() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.present
}

func (t *trial) setPrimary(addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.present = addr
}

// run runs the cell once. The result is valid also with an error, which is
// about what could not be done, and makes the trial void.
func (c *cell) run(ctx context.Context, g *ground, alone bool) (outcome *outcome, err error) {
	t := &trial{
		cell: c, ground: g, alone: alone, settings: c.settings(), admins: map[string]*redis.Client{},
		written: make(chan struct{}), lost: map[int64]bool{}, goneNS: map[int64]int64{},
	}
	t.faultNS.Store(noFault)
	t.result = results.Trial{
		Events: map[results.Event]int64{}, Errors: map[string]int64{},
		Times: map[results.Moment]int64{}, Facts: map[string]int64{},
	}
	t.name()
	t.ctx, t.end = context.WithCancel(ctx)
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	err = t.play(ctx)
	if voided := (*voidError)(nil); errors.As(err, &voided) {
		t.result.Void, err = voided.reason, nil
	}
	outcome, failed := t.tally(ctx) // also of one that failed: what it saw is kept
	return outcome, errors.Join(err, failed)
}

// name gives the trial's keys a prefix of their own.
func (t *trial) name() {
	var id [4]byte
	rand.Read(id[:]) // never fails, see its documentation
	t.settings.Prefix = "lockcost:" + hex.EncodeToString(id[:]) + ":"
	t.settings.Tables = tablesPrefix
	// It sizes the pools, which operations fill that wait for a server that is
	// gone.
	t.settings.Workers = int(min(max(24, t.rate/2), 128))
}

// open starts the servers and connects the clients.
func (t *trial) open(ctx context.Context) (err error) {
	spec := t.spec()
	if t.alone {
		spec.Pin = placement.Current().Pin()
	}
	if t.stack, err = t.ground.provider.Start(ctx, spec); err != nil {
		return err
	}
	t.begun = time.Now()
	t.result.StartedAt = t.begun.UTC()
	t.orders = int64(t.rate/2*longestTrial.Seconds()) + 2
	if t.scenario.Needs.NoLoad {
		t.orders = holderOrders
	}
	if t.first, err = t.ground.seed(ctx, t.orders); err != nil {
		return err
	}
	if t.service, err = t.servers().begin(ctx, t); err != nil {
		return err
	}
	for i, name := range env.Clients {
		if t.clients[i], err = t.openClient(ctx, name, t.stackOf(i)); err != nil {
			return err
		}
	}
	return nil
}

// stackOf is the servers as a client reaches them.
func (t *trial) stackOf(client int) *env.Stack {
	own := *t.stack
	own.Ledger = t.ground.stack.Ledger
	if t.scenario.Needs.Apart {
		own.Redis = t.stack.Network.Redis(env.Clients[client])
		own.Independents = t.linked(client, workloads.Independents)
		own.Etcd.Endpoints = t.linked(client, workloads.Etcd)
		own.ZooKeeper.Servers = t.linked(client, workloads.ZooKeeper)
	}
	if client == 0 && t.scenario.Needs.Stays {
		own.Redis.Sentinels, own.Redis.MasterName = nil, ""
	}
	return &own
}

// linked is where a client reaches the servers of a lock service by links of
// its own.
func (t *trial) linked(client int, s workloads.Service) (addrs []string) {
	for _, node := range t.nodesOf(s) {
		addrs = append(addrs, t.stack.Network.Address(env.Clients[client], node))
	}
	return addrs
}

// play takes the scenario's steps under load.
func (t *trial) play(ctx context.Context) error {
	if t.scenario.Needs.NoLoad {
		err := t.steps(ctx)
		t.endNS = t.now()
		if err == nil {
			err = t.service.undisturbed(ctx)
		}
		return err
	}
	lctx, stop := context.WithCancel(ctx)
	defer stop()
	type loaded struct {
		recording *load.Recording
		err       error
	}
	done := make(chan loaded, 1)
	go func() {
		r, err := load.Run(lctx, t.load(), t.job)
		done <- loaded{r, err}
	}()
	err := t.steady(ctx)
	if err == nil {
		err = t.steps(ctx)
	}
	t.endNS = t.now()
	stop()
	l := <-done
	if err == nil {
		err = l.err
	}
	if l.recording != nil && !l.recording.Interrupted && err == nil {
		err = void("the load had ended, after %v, before the trial did", t.load().Duration)
	}
	if l.recording != nil {
		t.result.Expired = l.recording.Expired
		t.loadNS = int64(l.recording.Began.Sub(t.begun))
	}
	return err
}

// load is the plan of the load, which goes on until it is stopped.
func (t *trial) load() load.Plan {
	return load.Plan{
		Rate: t.rate, Duration: longestTrial - time.Second, Workers: workersMost,
		Timeout: t.plan.OpTimeout, Hold: t.hold, Sleep: !t.alone, Unwatched: !t.alone,
	}
}

// steady waits until as many locks are held as will be.
func (t *trial) steady(ctx context.Context) error {
	return t.sleep(ctx, t.hold+100*time.Millisecond)
}

// steps takes the scenario's steps.
func (t *trial) steps(ctx context.Context) error {
	undisturbed := func(ctx context.Context, t *trial) error { return t.service.undisturbed(ctx) }
	for _, step := range []func(context.Context, *trial) error{
		t.scenario.Prepare, t.scenario.Precondition, undisturbed, t.scenario.Inject, t.scenario.Observe,
	} {
		if step == nil {
			continue
		}
		if err := step(ctx, t); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
	if t.scenario.Healthy == nil {
		return nil
	}
	if err := t.scenario.Healthy(ctx, t); err != nil {
		t.reason("not healthy afterwards: " + err.Error())
	}
	return nil
}

// sleep waits, unless ctx ends first.
func (t *trial) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// until asks every 10 ms until there is no error, and returns the last one
// when the time is over.
func (t *trial) until(ctx context.Context, within time.Duration, ask func() error) error {
	for over := time.Now().Add(within); ; {
		err := ask()
		if err == nil {
			return nil
		}
		if time.Now().After(over) {
			return fmt.Errorf("after %v: %w", within, err)
		}
		if err := t.sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// close ends everything of the trial.
func (t *trial) close() error {
	var errs []error
	t.end()
	t.background.Wait()
	if t.service != nil {
		t.service.close()
	}
	for _, c := range t.clients {
		if c != nil {
			errs = append(errs, c.session.Close())
		}
	}
	t.closeAdmins()
	if t.stack != nil {
		errs = append(errs, t.stack.Close())
	}
	return errors.Join(errs...)
}
