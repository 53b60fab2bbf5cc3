package external

import (
	"context"
	"fmt"

	"lockcost/env"

	"github.com/redis/go-redis/v9"
)

// identity is what the other servers must agree on with the primary.
type identity struct {
	addr   string
	runID  string // of the process
	replID string // of its history, which its replicas share
	online int    // how many replicas it has
}

// checkPrimary checks that r.Primary is one, outside a cluster, with at
// least online replicas that are online.
func checkPrimary(ctx context.Context, r env.Redis, online int) (identity, error) {
	what := "Redis at " + r.Primary
	info, err := describe(ctx, r, what, r.Primary)
	if err != nil {
		return identity{}, err
	}
	if info["role"] != "master" {
		return identity{}, fmt.Errorf("%s is a replica of %s:%s; give the primary's address",
			what, info["master_host"], info["master_port"])
	}
	n := env.OnlineReplicas(info)
	if n < online {
		return identity{}, fmt.Errorf("%s has %s online and needs %d: attach one with REPLICAOF, "+
			"or wait until those it has are synchronized", what, replicas(n), online)
	}
	return identity{addr: r.Primary, online: n, runID: info["run_id"], replID: info["master_replid"]}, nil
}

func replicas(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

// checkReplica checks that addr is a replica of primary and has its data.
// The two are compared by the history they share: the address by which a
// replica reaches its primary need not be the one we have.
func checkReplica(ctx context.Context, r env.Redis, addr string, primary identity) error {
	what := "replica at " + addr
	info, err := describe(ctx, r, what, addr)
	if err != nil {
		return err
	}
	of := info["master_host"] + ":" + info["master_port"]
	switch {
	case info["role"] != "slave":
		return fmt.Errorf("%s is no replica but a primary: give the address of a replica of %s", what, primary.addr)
	case info["master_link_status"] != "up":
		return fmt.Errorf("%s has lost its primary %s (its link is %s): see that the two reach each other",
			what, of, info["master_link_status"])
	case info["master_replid"] != primary.replID:
		return fmt.Errorf("%s is a replica of %s, which is another primary than %s", what, of, primary.addr)
	}
	return nil
}

// describe returns INFO of a Redis that is neither a Sentinel nor part of a
// cluster. what names it in errors.
func describe(ctx context.Context, r env.Redis, what, addr string) (map[string]string, error) {
	o := r.Options(addr)
	if err := reach(ctx, what, o); err != nil {
		return nil, err
	}
	c := redis.NewClient(o)
	defer c.Close()
	text, err := c.Info(ctx).Result()
	if err != nil {
		return nil, explain(what, lastWords(ctx, o, err), r.TLS)
	}
	info := env.ParseInfo(text)
	switch {
	case info["redis_mode"] == "sentinel":
		return nil, fmt.Errorf("%s is a Sentinel: give it as one, and here the primary that it watches", what)
	case info["cluster_enabled"] == "1":
		return nil, fmt.Errorf("%s is part of a Redis Cluster, which has no one primary to measure: "+
			"give a Redis with cluster-enabled no", what)
	}
	return info, nil
}
