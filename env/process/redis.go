package process

import (
	"context"
	"fmt"
	"strings"
	"time"

	"lockcost/env"

	"golang.org/x/sync/errgroup"
)

// startRedis starts the primary, its replicas and the Sentinels, each group
// once the one before it answers: a replica or a Sentinel that is refused
// its first connection tries again only a second later.
func (b *builder) startRedis(ctx context.Context) error {
	var err error
	if b.primary, err = b.newRedis("primary", ""); err != nil {
		return err
	}
	if err := b.launch(ctx, b.primary); err != nil {
		return err
	}
	if err := b.startReplicas(ctx); err != nil {
		return err
	}
	return b.startSentinels(ctx)
}

func (b *builder) startReplicas(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	for i := range b.spec.Replicas {
		v, err := b.newRedis(fmt.Sprintf("replica-%d", i+1), fmt.Sprintf("replicaof 127.0.0.1 %d\n", b.primary.port))
		if err != nil {
			return err
		}
		b.replicas = append(b.replicas, v)
		g.Go(func() error {
			if err := b.launch(gctx, v); err != nil {
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

// newRedis describes a Redis server that is configured by a file of its own,
// which the Sentinels have it rewrite when its role changes, so that it
// comes back from a crash in its last role, as in production.
func (b *builder) newRedis(name, role string) (*server, error) {
	v, err := b.newServer(name, env.KindRedis, nil)
	if err != nil {
		return nil, err
	}
	// Without a delay the first synchronization starts at once, not after
	// the default 5 s, during which WAIT would not count the replica.
	file, err := v.write("redis.conf", private(v)+"repl-diskless-sync-delay 0\n"+role)
	if err != nil {
		return nil, err
	}
	v.program, v.args, v.answers = b.programs.redis, []string{file}, v.redisAnswers
	return v, nil
}

// private is the settings that keep a Redis or a Sentinel to itself: its
// address, its folder, and no daemon of its own making.
func private(v *server) string {
	return fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %q\ndaemonize no\n", v.port, v.dir)
}

// startSentinels starts the Sentinels, each told everything in its file
// beforehand, so that they need not discover each other, which takes 10 s.
func (b *builder) startSentinels(ctx context.Context) error {
	var ids []string
	for i := range b.spec.Sentinels {
		v, err := b.newServer(fmt.Sprintf("sentinel-%d", i+1), env.KindSentinel, nil)
		if err != nil {
			return err
		}
		b.sentinels, ids = append(b.sentinels, v), append(ids, randomHex(20))
	}
	g, gctx := errgroup.WithContext(ctx)
	for i, v := range b.sentinels {
		file, err := v.write("sentinel.conf", b.sentinelFile(i, ids))
		if err != nil {
			return err
		}
		v.program, v.args, v.answers = b.programs.redis, []string{file, "--sentinel"}, v.sentinelAnswers
		g.Go(func() error {
			if err := b.launch(gctx, v); err != nil {
				return err
			}
			return v.await(gctx, func(ctx context.Context) error {
				return v.sentinelAgrees(ctx, b.primary.addr(), len(b.replicas), len(b.sentinels)-1)
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
	if failover == 0 && b.spec.Links {
		failover = linkedFailoverTimeout
	}
	if failover == 0 {
		failover = defaultFailoverTimeout
	}
	var f strings.Builder
	f.WriteString(private(b.sentinels[i]))
	set := func(directive, rest string, args ...any) {
		fmt.Fprintf(&f, "sentinel %s %s\n", directive, fmt.Sprintf(rest, args...))
	}
	set("myid", "%s", ids[i])
	set("monitor", "%s 127.0.0.1 %d %d", masterName, b.primary.port, len(b.sentinels)/2+1)
	set("down-after-milliseconds", "%s %d", masterName, milliseconds(downAfter))
	set("failover-timeout", "%s %d", masterName, milliseconds(failover))
	for _, v := range b.replicas {
		set("known-replica", "%s 127.0.0.1 %d", masterName, v.port)
	}
	for j, v := range b.sentinels {
		if j != i {
			set("known-sentinel", "%s 127.0.0.1 %d %s", masterName, v.port, ids[j])
		}
	}
	return f.String()
}

// milliseconds rounds up: Sentinel refuses 0.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
