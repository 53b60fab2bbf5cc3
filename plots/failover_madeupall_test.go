package plots

import (
	"slices"
	"time"

	"lockcost/results"
)

// faultPath is a path with its options and its kind.
type faultPath struct {
	path, option, value string
	kind                results.Kind
	redis               bool // of one replicated Redis, whose faults it can have
}

// kindPaths are all paths that fault experiments may have, some with options.
var kindPaths = []faultPath{
	{"fencing", "", "", results.KindDownstream, true},
	{"setnx", "", "", results.KindOneServer, true},
	{"watchdog", "", "", results.KindOneServer, true},
	{"watchdog", "notify", "yes", results.KindOneServer, true},
	{"setnx-wait", "", "", results.KindServers, true},
	{"setnx-wait", "connection", "shared", results.KindServers, true},
	{"waitaof", "", "", results.KindServers, true},
	{"redlock", "", "", results.KindServers, false},
	{"etcd", "", "", results.KindServers, false},
	{"zookeeper", "", "", results.KindServers, false},
	{"fencing", "token", "etcd", results.KindDownstream, false},
	{"idempotent", "", "", results.KindDownstream, true},
	{"optimistic", "", "", results.KindDownstream, false},
	{"combined", "", "", results.KindDownstream, true},
}

// otherCases are faults of services other than a replicated Redis.
var otherCases = []faultCase{
	{"leader-killed", "", "the leader of the service is killed under load", time.Second, true, 0.05, 0},
	{"leader-paused", "", "the leader stands still for longer than an election takes", time.Second, true, 0.1, 0},
	{"no-majority", "", "all servers but one are killed, and come back", time.Second, true, 0, 1},
	{"node-restarted-empty", "while the lock is held", "one of five nodes loses what it had", time.Second, false, 0.9, 0},
	{"session-expires", "its holder sleeps", "the session ends while its holder sleeps", 0, false, 0.8, 0},
}

// everyFault makes up a record of all paths, each with the faults that its
// service can have.
func everyFault(trials int) *results.Failover {
	record := madeUpFaults(nil, nil, trials)
	for _, c := range slices.Concat(faultCases, otherCases) {
		other := slices.ContainsFunc(otherCases, func(o faultCase) bool { return o.scenario == c.scenario })
		for _, p := range kindPaths {
			anyone := c.scenario == "ambiguous-commit" || c.scenario == "pause-holder"
			if other == p.redis && !anyone {
				continue
			}
			s := c.scenarioOf(p.path, trials)
			s.Kind = p.kind
			if p.option != "" {
				s.Options = map[string]string{p.option: p.value}
			}
			record.Scenarios = append(record.Scenarios, s)
		}
	}
	record.Summarize()
	return record
}
