package workloads

import (
	"lockcost/workloads/ledger"
	"lockcost/workloads/lock"
)

// The options that several paths have.
var (
	poolOption  = option{name: "pool", help: "connections of the lock client, 256 or one a worker by default"}
	tokenOption = option{
		name: "token", values: []string{"redis", "ledger", "etcd", "zookeeper"},
		help: "minted by the lock's script, by the ledger's sequence, or as a revision of etcd or ZooKeeper",
	}
	guardOption = option{
		name: "guard", values: []string{"none", "token"},
		help: "of the ledger: none, or the lock's own token as in fencing",
	}
)

// Catalogue lists the paths: the floors, and then by kind.
func Catalogue() []Path {
	return []Path{
		{
			Name: "null", Kind: KindFloor, Floor: true,
			Summary: "no lock: the driver's own floor",
			locker:  func(parts) (lock.Locker, error) { return lock.Null{}, nil },
		},
		{
			Name: "ping", Kind: KindFloor, Floor: true,
			Summary: "one PING instead of a lock: the floor of a round trip",
			service: Redis,
			locker:  func(p parts) (lock.Locker, error) { return lock.NewPing(p.redis), nil },
		},
		{
			Name: "setnx", Kind: KindOneServer,
			Summary: "SET NX PX, released by compare-and-delete; nothing guards the ledger",
			options: []option{
				{name: "form", values: []string{string(lock.FormCommand), string(lock.FormScript)}, help: "one command, or SETNX and PEXPIRE in a script"},
				poolOption,
			},
			service: Redis,
			locker:  func(p parts) (lock.Locker, error) { return lock.NewSetNX(p.redis, lock.Form(p.value("form"))) },
		},
		{
			Name: "watchdog", Kind: KindOneServer,
			Summary: "the lock of setnx with the TTL as a lease that is renewed each third of it, as Redisson does",
			options: []option{
				{name: "notify", values: []string{"no", "yes"}, help: "stop in silence when the lock is lost, or end the holder's context"},
				poolOption,
			},
			service: Redis,
			locker:  newWatchdog,
		},
		{
			Name: "setnx-wait", Kind: KindServers,
			Summary: "setnx, granted once WAIT has counted enough replicas, else undone",
			options: []option{
				{name: "round-trips", values: []string{"1", "2"}, help: "SET and WAIT pipelined, or one after the other"},
				{name: "connection", values: []string{"pooled", "shared"}, help: "a connection each, or one for all callers"},
				poolOption,
			},
			service: Redis, replica: true,
			locker: newSetNXWait,
		},
		{
			Name: "waitaof", Kind: KindServers,
			Summary: "setnx, granted once WAITAOF has counted the disks of the primary and of enough replicas (Redis 7.2)",
			options: []option{poolOption},
			service: Redis, replica: true, synced: true,
			locker: newWaitAOF,
		},
		{
			Name: "redlock", Kind: KindServers,
			Summary: "a lock on a majority of independent Redis servers, by redsync",
			options: []option{
				{name: "fail-fast", values: []string{"no", "yes"}, help: "wait for every server's answer, or for a majority's"},
				poolOption,
			},
			service: Independents,
			locker:  newRedlock,
		},
		{
			Name: "etcd", Kind: KindServers,
			Summary: "a key with a lease in etcd, which a session keeps alive",
			options: []option{guardOption},
			service: Etcd,
			locker:  func(p parts) (lock.Locker, error) { return lock.NewEtcd(p.etcd), nil },
		},
		{
			Name: "zookeeper", Kind: KindServers,
			Summary: "an ephemeral sequential node in ZooKeeper, as Curator's InterProcessMutex has it",
			options: []option{guardOption},
			service: ZooKeeper,
			locker:  func(p parts) (lock.Locker, error) { return lock.NewZooKeeper(p.zookeeper), nil },
		},
		{
			Name: "fencing", Kind: KindDownstream,
			Summary: "lock and token in one script; the ledger refuses a holder with an old token",
			options: []option{tokenOption, poolOption},
			service: Redis, tokens: true,
			locker: newFencing,
			guard:  (*ledger.DB).Token,
		},
		{
			Name: "idempotent", Kind: KindDownstream,
			Summary: "the lock of setnx; the ledger ignores a repeat by a unique key",
			options: []option{poolOption},
			service: Redis,
			locker:  func(p parts) (lock.Locker, error) { return lock.NewSetNX(p.redis, lock.FormCommand) },
			guard:   (*ledger.DB).UniqueKey,
		},
		{
			Name: "optimistic", Kind: KindDownstream,
			Summary: "no lock at all: the ledger refuses a charge whose order has changed since it was read",
			locker:  func(parts) (lock.Locker, error) { return lock.Null{}, nil },
			guard:   (*ledger.DB).Version,
		},
		{
			Name: "combined", Kind: KindDownstream,
			Summary: "lock, token and WAIT; the ledger refuses an old token and ignores a repeat",
			options: []option{tokenOption, poolOption},
			service: Redis, replica: true, tokens: true,
			locker: newCombined,
			guard:  (*ledger.DB).Combined,
		},
	}
}

// Floors are the paths that are measured beside all others.
func Floors() []Path {
	return some(func(p Path) bool { return p.Floor })
}

// All are the paths but the floors.
func All() []Path {
	return some(func(p Path) bool { return !p.Floor })
}

func some(which func(Path) bool) []Path {
	var found []Path
	for _, p := range Catalogue() {
		if which(p) {
			found = append(found, p)
		}
	}
	return found
}
