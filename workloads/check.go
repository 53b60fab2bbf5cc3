package workloads

import (
	"context"
	"errors"
	"iter"

	"lockcost/env"
	"lockcost/workloads/lock"
)

// Check asks the servers for what the path needs beyond an answer, and says
// what is missing and what to try.
func (p Path) Check(ctx context.Context, session *Session, s Settings) error {
	needs := lock.Needs{
		Path: p.Label(), Prefix: s.Prefix,
		Tokens: p.tokens && p.value("token") == "redis", WaitAOF: p.synced,
	}
	if p.replica {
		needs.Replicas = s.WaitReplicas
	}
	if session.redis != nil {
		if err := lock.Check(ctx, session.redis, needs); err != nil {
			return err
		}
	}
	for _, client := range session.independents {
		if err := lock.Check(ctx, client, lock.Needs{Path: p.Label(), Prefix: s.Prefix}); err != nil {
			return err
		}
	}
	if session.etcd != nil {
		if err := session.etcd.Check(ctx); err != nil {
			return err
		}
	}
	if session.zookeeper != nil {
		return session.zookeeper.Check(ctx)
	}
	return nil
}

// Remove deletes what operations with these settings may have left in the
// services that are named: in Redis those of keys that are there, in etcd and
// ZooKeeper what is under the prefix. It deletes nothing else.
func Remove(ctx context.Context, stack *env.Stack, s Settings, services []Service, keys iter.Seq[string]) error {
	s.Workers = 1
	session := &Session{}
	var errs []error
	for _, service := range services {
		errs = append(errs, Path{service: service}.connect(ctx, stack, s, session))
	}
	for _, c := range append([]*lock.Client{session.redis}, session.independents...) {
		if c != nil {
			_, err := c.Remove(ctx, keys)
			errs = append(errs, err)
		}
	}
	if session.etcd != nil {
		errs = append(errs, session.etcd.RemoveAll(ctx))
	}
	if session.zookeeper != nil {
		errs = append(errs, session.zookeeper.RemoveAll(ctx))
	}
	return errors.Join(append(errs, session.Close())...)
}
