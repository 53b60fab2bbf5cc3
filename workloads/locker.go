package workloads

import (
	"errors"
	"strconv"

	"lockcost/workloads/ledger"
	"lockcost/workloads/lock"
)

// parts is what a locker is made of: the session's clients, as far as the
// path has any.
type parts struct {
	Path
	Settings
	clients
}

// clients are a session's connections.
type clients struct {
	redis        *lock.Client
	independents []*lock.Client
	etcd         *lock.EtcdClient
	zookeeper    *lock.ZooKeeperClient
	db           *ledger.DB
}

func newWatchdog(p parts) (lock.Locker, error) {
	return lock.NewWatchdog(p.redis, lock.WatchdogOptions{Notify: p.value("notify") == "yes"}), nil
}

func (p parts) waitOptions() lock.WaitOptions {
	return lock.WaitOptions{Replicas: p.WaitReplicas, Timeout: p.WaitTimeout}
}

func newSetNXWait(p parts) (lock.Locker, error) {
	trips, err := strconv.Atoi(p.value("round-trips"))
	if err != nil {
		return nil, err
	}
	options := p.waitOptions()
	options.RoundTrips, options.Shared = trips, p.value("connection") == "shared"
	return lock.NewSetNXWait(p.redis, options)
}

func newWaitAOF(p parts) (lock.Locker, error) {
	return lock.NewWaitAOF(p.redis, lock.WaitAOFOptions{Local: 1, Replicas: p.WaitReplicas, Timeout: p.WaitTimeout})
}

func newRedlock(p parts) (lock.Locker, error) {
	return lock.NewRedlock(p.independents, lock.RedlockOptions{FailFast: p.value("fail-fast") == "yes"})
}

func newFencing(p parts) (lock.Locker, error) {
	if p.value("token") == "redis" {
		return lock.NewFencing(p.redis, p.Prefix), nil
	}
	plain, err := lock.NewSetNX(p.redis, lock.FormCommand)
	if err != nil {
		return nil, err
	}
	return p.minted(plain)
}

func newCombined(p parts) (lock.Locker, error) {
	if p.value("token") == "redis" {
		return lock.NewFencingWait(p.redis, p.Prefix, p.waitOptions())
	}
	waited, err := lock.NewSetNXWait(p.redis, p.waitOptions())
	if err != nil {
		return nil, err
	}
	return p.minted(waited)
}

// minted is a locker whose tokens come from elsewhere.
func (p parts) minted(locker lock.Locker) (lock.Locker, error) {
	switch p.minter() {
	case Etcd:
		return lock.WithMinter(locker, p.etcd.Minter()), nil
	case ZooKeeper:
		return lock.WithMinter(locker, p.zookeeper.Minter()), nil
	}
	if p.db == nil {
		return nil, errors.New("token=ledger needs a ledger")
	}
	return lock.WithMinter(locker, p.db), nil
}
