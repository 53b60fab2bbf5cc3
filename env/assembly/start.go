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
	MaxReplicas     = 16
	MaxSentinels    = 15
	MaxIndependents = 9
	MaxQuorum       = 7 // of etcd, and of ZooKeeper
)

// leastSession is the shortest Spec.LeastSession: two ticks of ZooKeeper's,
// which a busy machine can still keep.
const leastSession = 400 * time.Millisecond

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
	if spec.Independents < 0 || spec.Independents > MaxIndependents {
		return fmt.Errorf("a stack of %d independent Redis servers: at most %d", spec.Independents, MaxIndependents)
	}
	if err := errors.Join(checkQuorum("members of etcd", spec.Etcd), checkQuorum("servers of ZooKeeper", spec.ZooKeeper)); err != nil {
		return err
	}
	switch d := spec.Durability; d {
	case "", env.Relaxed, env.Strict:
	default:
		return fmt.Errorf("a stack of durability %q: %s or %s", d, env.Relaxed, env.Strict)
	}
	if least := spec.LeastSession; least != 0 && least < leastSession {
		return fmt.Errorf("a stack with sessions of %v: at least %v", least, leastSession)
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

// checkQuorum tells what no stack can have of servers that need a majority.
func checkQuorum(what string, n int) error {
	switch {
	case n == 0 || n > 0 && n <= MaxQuorum && n%2 == 1:
		return nil
	case n > 0 && n <= MaxQuorum:
		return fmt.Errorf("a stack of %d %s: an even number survives no more crashes than the odd one below it; ask for %d or %d", n, what, n-1, n+1)
	}
	return fmt.Errorf("a stack of %d %s: at most %d, and an odd number", n, what, MaxQuorum)
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
	for _, kind := range []func(context.Context) error{
		b.startZooKeeper, b.startEtcd, b.startRedis, b.startIndependents, b.startLedger,
	} {
		g.Go(func() error { return kind(gctx) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return b.describe(o.Provider), nil
}

// launch starts a server with text in its file, and waits until it answers.
func (b *builder) launch(ctx context.Context, v *server, text string) error {
	if err := b.run(ctx, v, text); err != nil {
		return err
	}
	return v.await(ctx, v.answers)
}

// run starts a server with text in its file. If it ends before all the others
// are ready, the start ends with it.
func (b *builder) run(ctx context.Context, v *server, text string) error {
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
	return nil
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

	primary      *server // nil without one
	replicas     []*server
	sentinels    []*server
	ledger       *server // nil without one
	ledgerDSN    string
	independents []*server
	etcd         []*server
	zookeeper    []*server
	network      *network // nil without one
}
