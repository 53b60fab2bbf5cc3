package assembly

import (
	"context"
	"fmt"

	"lockcost/env"
)

// placeAll gives every server its place.
func (b *builder) placeAll(ctx context.Context) (err error) {
	if err := b.placeReplicated(ctx); err != nil {
		return err
	}
	if b.spec.Ledger {
		if b.ledger, err = b.place(ctx, "ledger", env.KindLedger); err != nil {
			return err
		}
	}
	if b.independents, err = b.placeMany(ctx, b.spec.Independents, "independent", env.KindRedis); err != nil {
		return err
	}
	for _, v := range b.independents {
		v.answers = v.redisAnswers
	}
	if b.etcd, err = b.placeMany(ctx, b.spec.Etcd, "etcd", env.KindEtcd); err != nil {
		return err
	}
	for _, v := range b.etcd {
		v.answers = func(ctx context.Context) error { return b.etcdAnswers(ctx, v) }
	}
	if b.zookeeper, err = b.placeMany(ctx, b.spec.ZooKeeper, "zookeeper", env.KindZooKeeper); err != nil {
		return err
	}
	for _, v := range b.zookeeper {
		v.answers = func(ctx context.Context) error { return b.zooAnswers(ctx, v) }
	}
	return nil
}

// placeReplicated places the replicated Redis and its Sentinels.
func (b *builder) placeReplicated(ctx context.Context) (err error) {
	if b.spec.NoRedis {
		return nil
	}
	if b.primary, err = b.place(ctx, primaryName, env.KindRedis); err != nil {
		return err
	}
	b.primary.answers = b.primary.redisAnswers
	if b.replicas, err = b.placeMany(ctx, b.spec.Replicas, "replica", env.KindRedis); err != nil {
		return err
	}
	for _, v := range b.replicas {
		v.answers = v.redisAnswers
	}
	if b.sentinels, err = b.placeMany(ctx, b.spec.Sentinels, "sentinel", env.KindSentinel); err != nil {
		return err
	}
	for _, v := range b.sentinels {
		v.answers = v.sentinelAnswers
	}
	return nil
}

// placeMany places n servers of a name, which are numbered from 1.
func (b *builder) placeMany(ctx context.Context, n int, name string, kind env.Kind) ([]*server, error) {
	var placed []*server
	for i := range n {
		v, err := b.place(ctx, fmt.Sprintf("%s-%d", name, i+1), kind)
		if err != nil {
			return nil, err
		}
		placed = append(placed, v)
	}
	return placed, nil
}
