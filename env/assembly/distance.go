package assembly

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockcost/env"

	"golang.org/x/sync/errgroup"
)

// distance puts the servers of a stack at a distance. Replicas have links to
// the primary of the stack's start, and clients one to each server that they
// reach.
// After a failover there is no distance to be set: the links would lead to
// what is no primary any more.
type distance struct {
	primary   *server
	replicas  []*server
	sentinels []*server
	// toPrimary is the replicas' links, toServers the clients': to the
	// primary, each replica, and the servers of the other kinds.
	toPrimary, toServers *links
}

// distanceTimeout bounds Set.
const distanceTimeout = 30 * time.Second

var _ env.Distance = (*distance)(nil)

func (b *builder) distance() *distance {
	d := &distance{
		primary: b.primary, replicas: b.replicas, sentinels: b.sentinels,
		toPrimary: &links{stack: b.stack, name: "replicas", cpus: b.spec.Pin},
		toServers: &links{stack: b.stack, name: "clients", cpus: b.spec.Pin},
	}
	for range b.replicas {
		d.toPrimary.add(b.primary)
	}
	for _, v := range b.served() {
		d.toServers.add(v)
	}
	return d
}

// Set is part of env.Distance.
func (d *distance) Set(ctx context.Context, replica, client, jitter time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, distanceTimeout, fmt.Errorf("not ready after %v", distanceTimeout))
	defer cancel()
	if err := d.set(ctx, replica, client, jitter); err != nil {
		return fmt.Errorf("setting a distance of %v for replicas and %v for clients: %w", replica, client, err)
	}
	return nil
}

func (d *distance) set(ctx context.Context, replica, client, jitter time.Duration) error {
	switch {
	case min(replica, client, jitter) < 0:
		return errors.New("a time below 0")
	case replica > 0 && len(d.replicas) == 0:
		return errors.New("the stack has no replicas")
	case client > 0 && len(d.toServers.targets) == 0:
		return errors.New("the stack has no server that clients reach by a link")
	}
	if err := d.stillPrimary(ctx); err != nil {
		return err
	}
	if err := d.toPrimary.set(ctx, replica, jitter); err != nil {
		return err
	}
	if err := d.toServers.set(ctx, client, jitter); err != nil {
		return err
	}
	if err := d.route(ctx); err != nil {
		return err
	}
	return d.agreed(ctx)
}

// stillPrimary checks that there was no failover.
func (d *distance) stillPrimary(ctx context.Context) error {
	if d.primary == nil {
		return nil
	}
	info, err := d.primary.info(ctx, "replication")
	if err != nil {
		return fmt.Errorf("%s on %s: %w", d.primary.name(), d.primary.addr(), err)
	}
	if at := masterOf(info); at != "" {
		return fmt.Errorf("%s on %s is a replica of %s since a failover: start another stack", d.primary.name(), d.primary.addr(), at)
	}
	return nil
}

// route sends each replica by its way, and waits until the primary counts all
// of them as online.
func (d *distance) route(ctx context.Context) error {
	if d.primary == nil {
		return nil
	}
	g, gctx := errgroup.WithContext(ctx)
	for i, v := range d.replicas {
		g.Go(func() error {
			way := d.way(i)
			if err := v.follow(gctx, way); err != nil {
				return err
			}
			return v.await(gctx, func(ctx context.Context) error { return v.follows(ctx, way) })
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return d.primary.await(ctx, func(ctx context.Context) error {
		return d.primary.replicasOnline(ctx, len(d.replicas))
	})
}

// agreed waits until every Sentinel holds every server to be up.
func (d *distance) agreed(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	for _, v := range d.sentinels {
		g.Go(func() error {
			return v.await(gctx, func(ctx context.Context) error {
				return v.sentinelAgrees(ctx, d.primary.Peer(), len(d.replicas), len(d.sentinels)-1)
			})
		})
	}
	return g.Wait()
}

// way is the address by which replica i is to reach its primary.
func (d *distance) way(i int) string {
	if d.toPrimary.asked == 0 {
		return d.primary.Peer()
	}
	return d.toPrimary.process.Addr(i)
}

// Via is part of env.Distance.
func (d *distance) Via() map[string]string {
	if d.toServers.asked == 0 {
		return nil
	}
	via := make(map[string]string)
	for i, target := range d.toServers.targets {
		via[target] = d.toServers.process.Addr(i)
	}
	return via
}

// Check is part of env.Distance.
func (d *distance) Check(ctx context.Context) error {
	if err := errors.Join(d.toPrimary.alive(), d.toServers.alive()); err != nil {
		return err
	}
	errs := make([]error, len(d.replicas))
	var running sync.WaitGroup
	for i, v := range d.replicas {
		running.Go(func() {
			if err := v.follows(ctx, d.way(i)); err != nil {
				errs[i] = fmt.Errorf("%s: %w", v.name(), err)
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if d.primary == nil {
		return nil
	}
	// Last, since a replica that goes astray is what it may suffer from.
	if err := d.primary.replicasOnline(ctx, len(d.replicas)); err != nil {
		return fmt.Errorf("%s: %w", d.primary.name(), err)
	}
	return nil
}

// Watch is part of env.Distance.
func (d *distance) Watch(ctx context.Context) (func(context.Context) (replica, client env.Trip, err error), error) {
	stopReplica, err := d.toPrimary.watch(ctx)
	if err != nil {
		return nil, err
	}
	stopClient, err := d.toServers.watch(ctx)
	if err != nil {
		_, other := stopReplica(ctx)
		return nil, errors.Join(err, other)
	}
	return func(ctx context.Context) (env.Trip, env.Trip, error) {
		replica, err := stopReplica(ctx)
		client, other := stopClient(ctx)
		return replica, client, errors.Join(err, other)
	}, nil
}
