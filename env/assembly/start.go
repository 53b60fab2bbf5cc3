package assembly

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockcost/env"
	"lockcost/env/link"

	"golang.org/x/sync/errgroup"
)

// Most servers of a kind that a stack may have: it is to fit on one machine.
const (
	MaxReplicas  = 16
	MaxSentinels = 15
)

const (
	// masterName is what the Sentinels call the primary.
	masterName = "mymaster"
	// startAttempts bounds how often a start is tried when somebody else
	// takes a port between our probing it and the server's binding it.
	startAttempts = 5

	defaultDownAfter       = 5 * time.Second
	defaultFailoverTimeout = time.Minute
	// linkedFailoverTimeout is longer than any use of a stack: after it
	// Sentinel would send a replica around its link.
	linkedFailoverTimeout = 24 * time.Hour
	// networkFailoverTimeout leaves a trial of a failover the time that it
	// needs, before Sentinel would send a replica around its link.
	networkFailoverTimeout = 10 * time.Minute
)

// Options say how a stack's servers are run.
type Options struct {
	Provider string        // the stack's
	Ready    time.Duration // bounds a start, retries included
	// Open makes a Runner for one stack.
	Open func(ctx context.Context) (Runner, error)
}

// Check tells what no stack can have.
func Check(spec env.Spec) error {
	if spec.Replicas < 0 || spec.Replicas > MaxReplicas || spec.Sentinels < 0 || spec.Sentinels > MaxSentinels {
		return fmt.Errorf("a stack of %d replicas and %d Sentinels: at most %d and %d", spec.Replicas, spec.Sentinels, MaxReplicas, MaxSentinels)
	}
	if spec.Links && spec.Network {
		return errors.New("a stack with links that hold back and links that can be broken: a stack has only one of them")
	}
	if spec.Network {
		if err := link.Supported(); err != nil {
			return fmt.Errorf("a stack whose network can be broken: %w", err)
		}
	}
	return nil
}

// Start starts what spec asks for and returns when all of it is ready, or
// when o.Ready or ctx is over. An error tells which server was not ready, and
// ends with the last lines of that server's log; nothing is left of the
// stack then. Where a port was taken it is tried again.
func Start(ctx context.Context, spec env.Spec, o Options) (*env.Stack, error) {
	if err := Check(spec); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Ready, fmt.Errorf("not ready after %v", o.Ready))
	defer cancel()
	for attempt := 1; ; attempt++ {
		s, err := start(ctx, spec, o)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, ErrPortTaken) || attempt == startAttempts {
			return nil, fmt.Errorf("starting a stack: %w", err)
		}
	}
}

func start(ctx context.Context, spec env.Spec, o Options) (_ *env.Stack, err error) {
	runner, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	b := builder{stack: &stack{runner: runner}, spec: spec}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.stack.Close())
		}
	}()
	if err := b.placeAll(ctx); err != nil {
		return nil, err
	}
	if err := b.startNetwork(ctx); err != nil {
		return nil, err
	}
	ctx, b.fail = context.WithCancelCause(ctx)
	b.over = make(chan struct{})
	defer b.fail(nil)
	defer close(b.over)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.startRedis(gctx) })
	g.Go(func() error { return b.startLedger(gctx) })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return b.describe(o.Provider), nil
}

// launch starts a server with text in its file, and waits until it answers.
// If it ends before all the others are ready, the start ends with it.
func (b *builder) launch(ctx context.Context, v *server, text string) error {
	if err := v.Start(ctx, text); err != nil {
		return fmt.Errorf("%s: %w", v.name(), err)
	}
	go func() {
		select {
		case <-v.Ended():
			b.fail(&endedError{v.Failure()})
		case <-b.over:
		}
	}()
	return v.await(ctx, v.answers)
}

// endedError is of a server that ended while others were waited for.
type endedError struct{ error }

func (e *endedError) Unwrap() error { return e.error }

// builder starts the servers of one stack.
type builder struct {
	*stack
	spec env.Spec
	fail context.CancelCauseFunc // ends the start
	over chan struct{}           // closed when the start is over

	primary   *server
	replicas  []*server
	sentinels []*server
	ledger    *server // nil without one
	ledgerDSN string
	network   *network // nil without one
}

// placeAll gives every server its place.
func (b *builder) placeAll(ctx context.Context) (err error) {
	if b.primary, err = b.placeRedis(ctx, primaryName); err != nil {
		return err
	}
	for i := range b.spec.Replicas {
		v, err := b.placeRedis(ctx, fmt.Sprintf("replica-%d", i+1))
		if err != nil {
			return err
		}
		b.replicas = append(b.replicas, v)
	}
	for i := range b.spec.Sentinels {
		v, err := b.place(ctx, fmt.Sprintf("sentinel-%d", i+1), env.KindSentinel)
		if err != nil {
			return err
		}
		v.answers = v.sentinelAnswers
		b.sentinels = append(b.sentinels, v)
	}
	if b.spec.Ledger {
		b.ledger, err = b.place(ctx, "ledger", env.KindLedger)
	}
	return err
}

func (b *builder) placeRedis(ctx context.Context, name string) (*server, error) {
	v, err := b.place(ctx, name, env.KindRedis)
	if err == nil {
		v.answers = v.redisAnswers
	}
	return v, err
}

// describe returns the stack as its users see it.
func (b *builder) describe(provider string) *env.Stack {
	d := &env.Stack{
		Provider: provider, Ours: true,
		Ledger: b.ledgerDSN,
		Faults: b.stack,
		Pinned: b.runner.Pinned(),
		Close:  b.stack.Close,
		Redis:  b.redis(),
	}
	for _, v := range b.servers {
		d.Nodes = append(d.Nodes, v.Node())
	}
	if b.spec.Links {
		d.Distance = b.distance()
	}
	if b.network != nil {
		b.network.redis = d.Redis
		d.Network = b.network
	}
	return d
}

// redis returns the addresses of the Redis servers and Sentinels.
func (b *builder) redis() env.Redis {
	r := env.Redis{Primary: b.primary.addr()}
	for _, v := range b.replicas {
		r.Replicas = append(r.Replicas, v.addr())
	}
	for _, v := range b.sentinels {
		r.Sentinels = append(r.Sentinels, v.addr())
		r.MasterName = masterName
	}
	via := map[string]string{}
	for _, v := range b.servers {
		if v.Peer() != v.addr() && v != b.ledger {
			via[v.Peer()] = v.addr()
		}
	}
	if b.network != nil && len(b.sentinels) > 0 {
		via[b.primaryOf(env.Sentinels)] = b.primary.addr() // as they announce it
	}
	if len(via) > 0 {
		r.Via = via
	}
	return r
}
