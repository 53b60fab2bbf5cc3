package assembly

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"lockcost/env"

	"golang.org/x/sync/errgroup"
)

// startRedis starts the primary, its replicas and the Sentinels, each group
// once the one before it answers: a replica or a Sentinel that is refused
// its first connection tries again only a second later.
func (b *builder) startRedis(ctx context.Context) error {
	if b.primary == nil {
		return nil
	}
	if err := b.launch(ctx, b.primary, b.redisFile(b.primary)); err != nil {
		return err
	}
	if err := b.startReplicas(ctx); err != nil {
		return err
	}
	return b.startSentinels(ctx)
}

// startIndependents starts the Redis servers that know of nobody.
func (b *builder) startIndependents(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	for _, v := range b.independents {
		g.Go(func() error { return b.launch(gctx, v, b.redisFile(v)) })
	}
	return g.Wait()
}

func (b *builder) startReplicas(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	for _, v := range b.replicas {
		g.Go(func() error {
			if err := b.launch(gctx, v, b.redisFile(v)); err != nil {
				return err
			}
			return v.await(gctx, v.linkUp)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return b.primary.await(ctx, func(ctx context.Context) error {
		return b.primary.replicasOnline(ctx, b.spec.Replicas)
	})
}

// redisFile is the configuration of a Redis server: a file of its own, which
// the Sentinels have it rewrite when its role changes, so that it comes back
// from a crash in its last role, as in production.
func (b *builder) redisFile(v *server) string {
	// Without a delay the first synchronization starts at once, not after
	// the default 5 s, during which WAIT would not count the replica.
	text := v.Directives() + "repl-diskless-sync-delay 0\n" + redisDurability(b.spec.Durability)
	switch {
	case slices.Contains(b.independents, v):
		return text
	case v != b.primary:
		return text + "replicaof " + spaced(b.primaryOf(v.name())) + "\n"
	}
	if b.network != nil && len(b.sentinels) > 0 {
		// Where the Sentinels know it already: as a replica, after a failover,
		// it would else be two for them, and one may be told to follow the
		// other.
		host, port, _ := net.SplitHostPort(b.primaryOf(env.Sentinels))
		text += "replica-announce-ip " + host + "\nreplica-announce-port " + port + "\n"
	}
	return text
}

// startSentinels starts the Sentinels, each told everything in its file
// beforehand, so that they need not discover each other, which takes 10 s.
func (b *builder) startSentinels(ctx context.Context) error {
	ids := make([]string, len(b.sentinels))
	for i := range ids {
		ids[i] = randomHex(20)
	}
	g, gctx := errgroup.WithContext(ctx)
	for i, v := range b.sentinels {
		g.Go(func() error {
			if err := b.launch(gctx, v, b.sentinelFile(i, ids)); err != nil {
				return err
			}
			return v.await(gctx, func(ctx context.Context) error {
				return v.sentinelAgrees(ctx, b.primaryOf(env.Sentinels), len(b.replicas), len(b.sentinels)-1)
			})
		})
	}
	return g.Wait()
}

// sentinelFile is the configuration of Sentinel i. Its quorum is a majority.
func (b *builder) sentinelFile(i int, ids []string) string {
	downAfter, failover := b.spec.DownAfter, b.spec.FailoverTimeout
	if downAfter == 0 {
		downAfter = defaultDownAfter
	}
	switch {
	case failover > 0:
	case b.spec.Links:
		failover = linkedFailoverTimeout
	case b.spec.Network:
		failover = networkFailoverTimeout
	default:
		failover = defaultFailoverTimeout
	}
	var f strings.Builder
	f.WriteString(b.sentinels[i].Directives())
	set := func(directive, rest string, args ...any) {
		fmt.Fprintf(&f, "sentinel %s %s\n", directive, fmt.Sprintf(rest, args...))
	}
	set("myid", "%s", ids[i])
	set("monitor", "%s %s %d", masterName, spaced(b.primaryOf(env.Sentinels)), len(b.sentinels)/2+1)
	set("down-after-milliseconds", "%s %d", masterName, milliseconds(downAfter))
	set("failover-timeout", "%s %d", masterName, milliseconds(failover))
	for _, v := range b.replicas {
		set("known-replica", "%s %s", masterName, spaced(v.Peer()))
	}
	for j, v := range b.sentinels {
		if j != i {
			set("known-sentinel", "%s %s %s", masterName, spaced(v.Peer()), ids[j])
		}
	}
	return f.String()
}

// milliseconds rounds up: Sentinel refuses 0.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// spaced is an address as configuration files have it: host, a space, port.
func spaced(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	return host + " " + port
}
