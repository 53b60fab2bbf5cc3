// Package process starts a stack of real servers as child processes on
// loopback addresses: a Redis primary, its replicas, their Sentinels, and a
// MariaDB for the ledger. Each stack has free ports and a private folder.
//
// Replicas and clients can be put at a distance (env.Distance), by links that
// are processes beside the servers, on the same CPUs.
//
// Nothing outlives the driver: Close ends the servers and removes the
// folder; where the driver is killed, its servers are killed with it, and
// the next start removes the folder.
//
// The servers keep their own defaults, durability above all. What is set is
// what makes them private and ready soon, and each setting says why.
package process

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"lockcost/env"

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
	// readyTimeout bounds a start, retries included.
	readyTimeout = 30 * time.Second
	// startAttempts bounds how often a start is tried when somebody else
	// takes a port between our probing it and the server's binding it.
	startAttempts = 5

	defaultDownAfter       = 5 * time.Second
	defaultFailoverTimeout = time.Minute
	// linkedFailoverTimeout is longer than any use of a stack: after it
	// Sentinel would send a replica around its link.
	linkedFailoverTimeout = 24 * time.Hour
)

// Provider starts stacks as child processes. The zero value is ready.
type Provider struct {
	// Dir is where the stacks' folders are made. "" means the system's
	// temporary folder, unless that is in memory, where a durable commit
	// costs nothing; then /var/tmp.
	Dir string

	port func() (int, error) // a port to try; nil means freePort
}

var _ env.Provider = Provider{}

// Start starts what spec asks for and returns when all of it is ready. It
// takes at most 30 s, and less when ctx ends. An error tells which server
// was not ready, and ends with the last lines of that server's log.
func (p Provider) Start(ctx context.Context, spec env.Spec) (*env.Stack, error) {
	if spec.Replicas < 0 || spec.Replicas > MaxReplicas || spec.Sentinels < 0 || spec.Sentinels > MaxSentinels {
		return nil, fmt.Errorf("a stack of %d replicas and %d Sentinels: at most %d and %d", spec.Replicas, spec.Sentinels, MaxReplicas, MaxSentinels)
	}
	programs, err := find(spec)
	if err != nil {
		return nil, err
	}
	dir, err := p.root()
	if err != nil {
		return nil, err
	}
	sweep(dir)
	if p.port == nil {
		p.port = freePort
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout,
		fmt.Errorf("not ready after %v", readyTimeout))
	defer cancel()
	for attempt := 1; ; attempt++ {
		s, err := p.start(ctx, spec, programs, dir)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, errPortTaken) || attempt == startAttempts {
			return nil, fmt.Errorf("starting a stack: %w", err)
		}
	}
}

func (p Provider) start(ctx context.Context, spec env.Spec, programs programs, dir string) (_ *env.Stack, err error) {
	s, err := open(dir, spec.Pin)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	b := builder{stack: s, spec: spec, programs: programs, port: p.port}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.startRedis(gctx) })
	g.Go(func() error { return b.startLedger(gctx) })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return b.describe(), nil
}

// builder starts the servers of one stack.
type builder struct {
	*stack
	spec     env.Spec
	programs programs
	port     func() (int, error)

	primary   *server
	replicas  []*server
	sentinels []*server
	ledger    *server
	ledgerDSN string
}

// newServer gives a server a port and a folder, which as owns.
func (b *builder) newServer(name string, kind env.Kind, as *syscall.Credential) (*server, error) {
	port, err := b.port()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	dir, err := b.folder.sub(name, as)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &server{name: name, kind: kind, port: port, dir: dir, as: as}, nil
}

// describe returns the stack as its users see it.
func (b *builder) describe() *env.Stack {
	d := &env.Stack{
		Provider: "process",
		Ledger:   b.ledgerDSN,
		Faults:   b.stack,
		Close:    b.stack.Close,
		Redis:    b.redis(),
	}
	all := append(append([]*server{b.primary}, b.replicas...), b.sentinels...)
	if b.ledger != nil {
		all = append(all, b.ledger)
	}
	for _, v := range all {
		d.Nodes = append(d.Nodes, v.Node())
	}
	if b.spec.Links {
		d.Distance = b.distance()
	}
	if b.pinned {
		d.Pinned = b.spec.Pin
	}
	return d
}

// redis returns the addresses of the Redis servers started so far.
func (b *builder) redis() env.Redis {
	r := env.Redis{Primary: b.primary.addr()}
	for _, v := range b.replicas {
		r.Replicas = append(r.Replicas, v.addr())
	}
	for _, v := range b.sentinels {
		r.Sentinels = append(r.Sentinels, v.addr())
		r.MasterName = masterName
	}
	return r
}
