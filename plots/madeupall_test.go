package plots

import (
	"time"

	"lockcost/results"
)

// everything are all paths, some with options and at several distances: 18
// rows and the floors, in the order in which a user may name them.
func everything() madeUp {
	us, ms := time.Microsecond, time.Millisecond
	primary, both := &results.Durability{Memory: 1, Nodes: 2}, &results.Durability{Memory: 2, Nodes: 2}
	quorum := &results.Durability{Memory: 2, Disk: 2, Nodes: 3}
	shared := map[string]string{"connection": "shared"}
	m := madeUp{
		profiles: []profile{
			{path: "null", acquire: 400 * time.Nanosecond, spread: 0.3, effect: ms, floor: true, kind: results.KindFloor},
			{path: "ping", acquire: 95 * us, spread: 0.35, effect: ms, floor: true, kind: results.KindFloor},
			{path: "watchdog", acquire: 152 * us, spread: 0.42, effect: ms, kind: results.KindOneServer, lock: primary, stallEvery: 2000},
			{path: "watchdog", options: map[string]string{"notify": "yes"}, acquire: 153 * us, spread: 0.42, effect: ms, kind: results.KindOneServer, lock: primary, stallEvery: 2000},
			{path: "setnx", acquire: 150 * us, spread: 0.42, effect: ms, kind: results.KindOneServer, lock: primary, stallEvery: 2000},
			{path: "setnx-wait", acquire: 158 * us, spread: 0.43, effect: ms, kind: results.KindServers, lock: both, stallEvery: 2000},
			{path: "setnx-wait", rtt: ms, acquire: 1270 * us, spread: 0.15, effect: ms, kind: results.KindServers, lock: both},
			{path: "setnx-wait", rtt: 10 * ms, acquire: 10270 * us, spread: 0.02, effect: ms, kind: results.KindServers, lock: both},
			{path: "setnx-wait", options: shared, acquire: 190 * us, spread: 0.4, effect: ms, kind: results.KindServers, lock: both},
			{path: "setnx-wait", options: shared, rtt: ms, acquire: 1900 * us, spread: 0.3, effect: ms, kind: results.KindServers, lock: both},
			{path: "waitaof", acquire: 2300 * us, spread: 0.4, effect: ms, kind: results.KindServers, lock: &results.Durability{Memory: 2, Disk: 1, Nodes: 2}},
			{path: "redlock", acquire: 420 * us, spread: 0.5, effect: ms, kind: results.KindServers, lock: &results.Durability{Memory: 3, Nodes: 5}},
			{path: "etcd", acquire: 2100 * us, spread: 0.3, effect: ms, kind: results.KindServers, lock: quorum, stallEvery: 500},
			{path: "zookeeper", acquire: 2600 * us, spread: 0.4, effect: ms, kind: results.KindServers, lock: quorum, stallEvery: 500},
			{path: "fencing", acquire: 171 * us, spread: 0.42, effect: 1150 * us, kind: results.KindDownstream, lock: primary, stallEvery: 2000},
			{path: "fencing", options: map[string]string{"token": "etcd"}, acquire: 2300 * us, spread: 0.3, effect: 1150 * us, kind: results.KindDownstream, lock: quorum},
			{path: "idempotent", acquire: 151 * us, spread: 0.42, effect: 1080 * us, kind: results.KindDownstream, lock: primary, stallEvery: 2000},
			{path: "optimistic", acquire: 400 * time.Nanosecond, spread: 0.3, effect: 1010 * us, kind: results.KindDownstream},
			{path: "combined", acquire: 190 * us, spread: 0.45, effect: 1200 * us, kind: results.KindDownstream, lock: both},
			{path: "combined", rtt: ms, acquire: 1300 * us, spread: 0.2, effect: 1200 * us, kind: results.KindDownstream, lock: both},
		},
		runs: 6, seconds: 8, rate: 500, effect: results.EffectCharge, env: "process",
	}
	return m
}

// doubtful are the same, some of which failed, did not keep up, or are not to
// be believed.
func doubtful() madeUp {
	m := everything()
	m.seconds, m.runs = 3, 2
	for i := range m.profiles {
		p := &m.profiles[i]
		switch {
		case p.path == "redlock":
			p.verdict, p.reasons = results.Invalid, []string{"lag P99 of 410 µs is over a tenth of the response"}
		case p.path == "etcd":
			p.verdict, p.reasons, p.expired = results.Saturated, []string{"313/s of 500/s achieved with all workers busy"}, 700
		case p.path == "waitaof":
			p.failing = true
		case p.path == "setnx-wait" && len(p.options) > 0:
			p.verdict, p.reasons, p.expired = results.Saturated, []string{"one connection for everything"}, 40
		}
	}
	return m
}
