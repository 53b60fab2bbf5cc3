package workloads

import (
	"strings"

	"lockcost/env"
)

// Durability is where a lock is when it is granted.
type Durability struct {
	Memory int // servers that have it at least in memory
	Disk   int // of these, those that have synced it to a disk
	Nodes  int // servers of the service
}

// Durability tells from the servers' own settings what a lock of the path has
// survived when the acquire returns; ok is false where there is no lock. What
// WAIT counts has been applied by the replicas, and an append-only file that is
// synced always is so before they say it.
func (p Path) Durability(servers []env.Server, s Settings) (d Durability, ok bool) {
	if p.Floor {
		return d, false
	}
	switch p.service {
	case Redis:
		nodes := named(servers, "primary", "replica")
		d = Durability{Memory: 1, Nodes: len(nodes)}
		if p.replica {
			d.Memory += s.WaitReplicas
		}
		if p.synced || all(nodes, syncs) {
			d.Disk = d.Memory
		}
	case Independents:
		d = majority(named(servers, "independent"))
	case Etcd:
		d = majority(named(servers, "etcd"))
	case ZooKeeper:
		d = majority(named(servers, "zookeeper"))
	default:
		return d, false
	}
	return d, true
}

// majority is the durability of what a majority of servers has to have.
func majority(nodes []env.Server) Durability {
	d := Durability{Nodes: len(nodes), Memory: len(nodes)/2 + 1}
	if all(nodes, syncs) {
		d.Disk = d.Memory
	}
	return d
}

// syncs tells whether a server syncs a write to its disk before it answers.
func syncs(v env.Server) bool {
	if fsync, ok := v.Settings["fsync"]; ok { // etcd's and ZooKeeper's
		return fsync == "yes"
	}
	return v.Settings["appendonly"] == "yes" && v.Settings["appendfsync"] == "always"
}

// named are the servers whose names begin so, numbers aside.
func named(servers []env.Server, roles ...string) []env.Server {
	var found []env.Server
	for _, v := range servers {
		role, _, _ := strings.Cut(v.Name, "-")
		for _, r := range roles {
			if role == r {
				found = append(found, v)
			}
		}
	}
	return found
}

func all(servers []env.Server, is func(env.Server) bool) bool {
	for _, v := range servers {
		if !is(v) {
			return false
		}
	}
	return len(servers) > 0
}
