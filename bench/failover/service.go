package failover

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lockcost/bench/failover/history"
	"lockcost/env"
	"lockcost/workloads"
)

// service is the lock service of a trial, as whoever experiments with it sees
// it: around all links, and with no part in the locks.
type service interface {
	// undisturbed checks that the servers are led as they were at the start.
	// Its error voids the trial.
	undisturbed(ctx context.Context) error
	// falseFailovers is how often a failover, or an election, was seen to
	// begin before the fault.
	falseFailovers() int64
	// healthy waits until all servers are there and in agreement, and returns
	// what is wrong when the time is over.
	healthy(ctx context.Context, within time.Duration) error
	// lacking returns those of orders whose locks the service does not have,
	// so that they would be granted to whoever asks.
	lacking(ctx context.Context, orders []int64) ([]int64, error)
	// leftover is the locks that the service has, and how long each still
	// stays if nobody keeps it.
	leftover(ctx context.Context) (map[int64]time.Duration, error)
	// steps keeps the moments of what the servers did after a crash.
	steps(ops []history.Op, crash int64)
	close()
}

// servers are how a trial gets a lock service.
type servers struct {
	// spec is what is started.
	spec func(c *cell) env.Spec
	// begin puts what was started into the state that the scenario needs,
	// waits until it is healthy, and looks at it from then on.
	begin func(ctx context.Context, t *trial) (service, error)
}

// servers are those of the path's lock service.
func (c *cell) servers() servers {
	switch c.path.Service() {
	case workloads.Redis:
		return servers{replicatedSpec, beginReplicated}
	case workloads.Independents:
		return servers{independentSpec, beginIndependent}
	case workloads.Etcd:
		return servers{etcdSpec, beginEtcd}
	case workloads.ZooKeeper:
		return servers{zooKeeperSpec, beginZooKeeper}
	}
	return servers{func(*cell) env.Spec { return env.Spec{NoRedis: true} }, beginNothing}
}

// leastSession is what etcd and ZooKeeper are to admit: what they come with,
// unless the trial's sessions are shorter.
func (c *cell) leastSession() time.Duration {
	if c.scenario.Needs.TTL > 0 {
		return c.ttl()
	}
	return 0
}

// serverKinds are the kinds of node that make up each lock service.
var serverKinds = map[workloads.Service]string{
	workloads.Independents: "independent-", workloads.Etcd: "etcd-", workloads.ZooKeeper: "zookeeper-",
}

// lockNodes names the servers that the path takes its locks and tokens from,
// the Sentinels left out.
func (t *trial) lockNodes() (names []string) {
	for _, s := range t.path.Services() {
		names = append(names, t.nodesOf(s)...)
	}
	return names
}

// nodesOf names the servers of one lock service.
func (t *trial) nodesOf(s workloads.Service) (names []string) {
	if s == workloads.Redis {
		return append([]string{primaryNode}, t.replicas()...)
	}
	for i := 1; ; i++ {
		name := fmt.Sprint(serverKinds[s], i)
		if !slices.ContainsFunc(t.stack.Nodes, func(n env.Node) bool { return n.Name == name }) {
			return names
		}
		names = append(names, name)
	}
}

// members names the servers of the path's lock service.
func (t *trial) members() []string { return t.nodesOf(t.path.Service()) }

// nothing is the lock service of a path that takes no lock.
type nothing struct{}

func beginNothing(context.Context, *trial) (service, error) { return nothing{}, nil }

func (nothing) undisturbed(context.Context) error                         { return nil }
func (nothing) falseFailovers() int64                                     { return 0 }
func (nothing) healthy(context.Context, time.Duration) error              { return nil }
func (nothing) lacking(_ context.Context, all []int64) ([]int64, error)   { return all, nil }
func (nothing) leftover(context.Context) (map[int64]time.Duration, error) { return nil, nil }
func (nothing) steps([]history.Op, int64)                                 {}
func (nothing) close()                                                    {}

// healthyAgain is how scenarios must end after which all servers run.
func healthyAgain(ctx context.Context, t *trial) error { return t.service.healthy(ctx, rejoinMost) }

// rejoinMost is how long servers may take until they are as they were. A
// restarted ZooKeeper needs seconds.
const rejoinMost = 20 * time.Second
