package workloads

import "lockcost/env"

// Service is what locks, or tokens, are taken from.
type Service string

// The services.
const (
	Redis        Service = "redis"        // the replicated one
	Independents Service = "independents" // Redis servers on their own, a majority of which is asked
	Etcd         Service = "etcd"
	ZooKeeper    Service = "zookeeper"
)

// Sizes of what is started, where nothing else is asked for.
const (
	DefaultRedlockNodes   = 5
	DefaultEtcdNodes      = 3
	DefaultZooKeeperNodes = 3
)

// Service is what the path takes its locks from; "" where it takes none.
func (p Path) Service() Service { return p.service }

// Services are all that the path talks to beside the ledger, the one of its
// locks first.
func (p Path) Services() []Service {
	var all []Service
	if p.service != "" {
		all = append(all, p.service)
	}
	if minter := p.minter(); minter != "" && minter != p.service {
		all = append(all, minter)
	}
	return all
}

// minter is the service that tokens come from, where they are no by-product
// of the lock and not the ledger's.
func (p Path) minter() Service {
	switch from := Service(p.value("token")); from {
	case Etcd, ZooKeeper:
		return from
	}
	return ""
}

// Needs is the stack that the path must have.
func (p Path) Needs(s Settings) env.Spec {
	spec := env.Spec{NoRedis: true, Ledger: s.Ledger || p.Guarded()}
	for _, service := range p.Services() {
		switch service {
		case Redis:
			spec.NoRedis = false
		case Independents:
			spec.Independents = orDefault(s.RedlockNodes, DefaultRedlockNodes)
		case Etcd:
			spec.Etcd = orDefault(s.EtcdNodes, DefaultEtcdNodes)
		case ZooKeeper:
			spec.ZooKeeper = orDefault(s.ZooKeeperNodes, DefaultZooKeeperNodes)
		}
	}
	if p.replica {
		spec.Replicas = s.WaitReplicas
	}
	return spec
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
