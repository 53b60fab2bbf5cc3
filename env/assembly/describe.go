package assembly

import (
	"slices"

	"lockcost/env"
)

// describe returns the stack as its users see it.
func (b *builder) describe(provider string) *env.Stack {
	d := &env.Stack{
		Provider: provider, Ours: true,
		Ledger: b.ledgerDSN,
		Faults: b.stack,
		Pinned: b.runner.Pinned(),
		Close:  b.stack.Close,
		Redis:  b.redis(),

		Independents: addrs(b.independents),
		Etcd:         b.etcdCluster(),
		ZooKeeper:    env.ZooKeeper{Servers: addrs(b.zookeeper)},
		Durability:   b.spec.Durability,
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
	var r env.Redis
	if b.primary == nil {
		return r
	}
	r.Primary = b.primary.addr()
	r.Replicas, r.Sentinels = addrs(b.replicas), addrs(b.sentinels)
	if len(b.sentinels) > 0 {
		r.MasterName = masterName
	}
	via := map[string]string{}
	for _, v := range slices.Concat([]*server{b.primary}, b.replicas, b.sentinels) {
		if v.Peer() != v.addr() {
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

// etcdCluster is how the members of etcd are reached.
func (b *builder) etcdCluster() env.Etcd {
	e := env.Etcd{Endpoints: addrs(b.etcd)}
	if len(b.etcd) > 0 {
		e.Heartbeat, e.ElectionTimeout = etcdTimes(b.spec)
	}
	return e
}

// addrs is the driver's ways to servers; nil for none.
func addrs(servers []*server) []string {
	var at []string
	for _, v := range servers {
		at = append(at, v.addr())
	}
	return at
}
