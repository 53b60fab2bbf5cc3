// Package container starts a stack of real servers in Docker containers,
// through testcontainers: a Redis primary, its replicas, their Sentinels, a
// MySQL or MariaDB for the ledger, etcd and ZooKeeper, each in a container of
// its own, with its data in a volume that goes with it.
//
// The official images of Redis, Valkey, MySQL, MariaDB, etcd and ZooKeeper will
// do, and any that has their servers and, but for etcd, a shell: the
// entrypoints are this package's.
//
// Nothing outlives the driver for long: Close removes the containers, their
// volumes and their network. Where the driver is killed, testcontainers'
// reaper does, if its image can be had, and else the next start or Clean.
package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"lockcost/env"
	"lockcost/env/assembly"
)

// The ways that containers can be reached.
const (
	// NetworkHost has the servers listen on this machine's loopback address,
	// as processes do: nothing is between them and their clients.
	NetworkHost = "host"
	// NetworkBridge gives each stack a network of its own and publishes its
	// ports on the loopback address. Each packet of a client's then passes a
	// proxy of the engine's, which takes several times the round trip.
	NetworkBridge = "bridge"
)

// readyTimeout bounds a start once the images are there. MySQL needs some ten
// seconds for its system tables.
const readyTimeout = time.Minute

// Provider starts stacks in containers. The zero value is ready.
type Provider struct {
	// RedisImage is what Redis and Sentinel run from. "" means
	// $LOCKCOST_REDIS_IMAGE, or else DefaultRedisImage.
	RedisImage string
	// LedgerImage is what the ledger runs from. "" means
	// $LOCKCOST_LEDGER_IMAGE, or else DefaultLedgerImage.
	LedgerImage string
	// EtcdImage is what etcd runs from. "" means $LOCKCOST_ETCD_IMAGE, or else
	// DefaultEtcdImage.
	EtcdImage string
	// ZooKeeperImage is what ZooKeeper runs from. "" means
	// $LOCKCOST_ZOOKEEPER_IMAGE, or else DefaultZooKeeperImage.
	ZooKeeperImage string
	// Network is NetworkHost or NetworkBridge. "" means NetworkHost.
	Network string
	// Progress is told what a start does that can take long; nil tells nobody.
	Progress func(step string) `json:"-"`

	port  func() (int, error) // a port to try; nil means assembly.FreePort
	ready time.Duration       // 0 means readyTimeout
}

var _ env.Provider = Provider{}

// Start starts what spec asks for and returns when all of it is ready. Images
// that are not here are pulled first; from then on it takes at most a minute,
// and less when ctx ends. It fails with an *UnavailableError where there is
// no Docker engine and with a *MissingImageError where an image is not to be
// had. Other errors tell which server was not ready, with the last lines of
// its log.
func (p Provider) Start(ctx context.Context, spec env.Spec) (*env.Stack, error) {
	if err := p.check(spec); err != nil {
		return nil, err
	}
	e, err := p.engine(ctx, spec)
	if err != nil {
		return nil, err
	}
	var distant atomic.Bool // a server is not a process of this machine's
	bound := cmp.Or(p.ready, readyTimeout)
	late := fmt.Errorf("not ready after %v", bound)
	ctx, cancel := context.WithTimeoutCause(ctx, bound, late)
	defer cancel()
	s, err := assembly.Start(ctx, spec, assembly.Options{
		Provider: "container",
		Ready:    bound,
		Open: func(ctx context.Context) (assembly.Runner, error) {
			return p.open(ctx, e, spec.Pin, &distant)
		},
	})
	if errors.Is(err, late) && distant.Load() && p.Network != NetworkBridge {
		return nil, fmt.Errorf("%w\nDocker seems to run its containers in a virtual machine, where this machine may not reach them: try --docker-network %s", err, NetworkBridge)
	}
	if err == nil {
		s.Notes = append(s.Notes, p.note(ctx, e.cli, spec))
	}
	return s, err
}

// Prepare has the images there that spec needs, and tells Progress, for a
// Start in another process. Its errors are Start's.
func (p Provider) Prepare(ctx context.Context, spec env.Spec) error {
	if err := p.check(spec); err != nil {
		return err
	}
	cli, err := find(ctx)
	if err != nil {
		return err
	}
	defer cli.Close()
	settle(ctx, cli)
	return p.ensureAll(ctx, cli, spec)
}

// check refuses what cannot be started.
func (p Provider) check(spec env.Spec) error {
	if err := assembly.Check(spec); err != nil {
		return err
	}
	switch p.Network {
	case "", NetworkHost:
	case NetworkBridge:
		if spec.Links {
			return fmt.Errorf("no distance with network %s: a link listens on this machine's loopback address, where containers do not reach it; use network %s", NetworkBridge, NetworkHost)
		}
		if spec.Network {
			return fmt.Errorf("no links that can be broken with network %s: they listen on this machine's loopback address, where containers do not reach them; use network %s", NetworkBridge, NetworkHost)
		}
	default:
		return fmt.Errorf("there is no network %q: it is %s or %s", p.Network, NetworkHost, NetworkBridge)
	}
	return nil
}

// engine finds the engine, has the images there and removes what an earlier
// crash left.
func (p Provider) engine(ctx context.Context, spec env.Spec) (*engine, error) {
	cli, err := find(ctx)
	if err != nil {
		return nil, err
	}
	settle(ctx, cli)
	if err := p.ensureAll(ctx, cli, spec); err != nil {
		return nil, err
	}
	if _, err := sweep(ctx, cli, p.progress); err != nil {
		p.progress(fmt.Sprintf("removing what an earlier crash left: %v", err))
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	tc, err := testcontainer(cli)
	if err != nil {
		return nil, err
	}
	return &engine{cli: cli, tc: tc}, nil
}

func (p Provider) progress(step string) {
	if p.Progress != nil {
		p.Progress(step)
	}
}
