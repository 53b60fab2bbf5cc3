package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockcost/env"
	"lockcost/results"
	"lockcost/workloads"
)

// Uses tells whether a path of the plan talks to a service. The floor ping,
// which always talks to Redis, does not count.
func (p Plan) Uses(service workloads.Service) bool {
	return slices.ContainsFunc(p.Paths, func(path workloads.Path) bool { return slices.Contains(path.Services(), service) })
}

// services are all that the plan and its floors talk to.
func (p Plan) services() []workloads.Service {
	all := []workloads.Service{workloads.Redis}
	for _, path := range p.Paths {
		for _, service := range path.Services() {
			if !slices.Contains(all, service) {
				all = append(all, service)
			}
		}
	}
	return all
}

// shortestSession and longestSession bound a session's TTL: etcd and ZooKeeper
// as they come do not grant others.
const (
	shortestSession = 4 * time.Second
	longestSession  = 40 * time.Second
)

// checkServices tells what is wrong with the services beside the replicated
// Redis.
func (p Plan) checkServices() error {
	switch p.Durability {
	case "", env.Relaxed, env.Strict:
	default:
		return fmt.Errorf("--durability %q: must be %s or %s, or be left out for servers as they come", p.Durability, env.Relaxed, env.Strict)
	}
	for _, n := range []struct {
		flag  string
		nodes int
		most  int
		least int
	}{
		{"--redlock-nodes", p.RedlockNodes, 9, 3},
		{"--etcd-nodes", p.EtcdNodes, 7, 1},
		{"--zookeeper-nodes", p.ZooKeeperNodes, 7, 1},
	} {
		if n.nodes < n.least || n.nodes > n.most || n.nodes%2 == 0 {
			return fmt.Errorf("%s %d: must be an odd number from %d to %d, as a majority decides", n.flag, n.nodes, n.least, n.most)
		}
	}
	for _, path := range p.Paths {
		if service := path.Service(); (service == workloads.Etcd || service == workloads.ZooKeeper) && (p.TTL < shortestSession || p.TTL > longestSession) {
			return fmt.Errorf("--ttl %v: %s holds its locks by a session of that length, which its servers grant from %v to %v", p.TTL, path.Name, shortestSession, longestSession)
		}
		if path.Synced() && p.Durability == env.Relaxed {
			return fmt.Errorf("--durability %s: %s waits for disks; leave the path out", p.Durability, path.Name)
		}
	}
	return nil
}

// openings is how many sessions are opened to find out what one takes.
const openings = 11

// measureOpenings opens what the variant needs, one after the other.
func (s *site) measureOpenings(ctx context.Context, v Variant) (*results.Opening, error) {
	if v.Path.Service() == "" {
		return nil, nil
	}
	if err := s.arrange(ctx, v); err != nil {
		return nil, err
	}
	took := make([]int64, openings)
	for i := range took {
		one, err := v.Path.Opening(ctx, s.stack, s.settings)
		if err != nil {
			return nil, fmt.Errorf("path %s: opening a session: %w", v.Label(), err)
		}
		took[i] = int64(one)
	}
	slices.Sort(took)
	return &results.Opening{Count: openings, MinNS: took[0], P50NS: took[openings/2], MaxNS: took[openings-1]}, nil
}

// durability is what a path's lock has survived, by the settings of the
// servers as they were found; nil where there is no lock.
func (s *site) durability(path workloads.Path, e results.Environment) *results.Durability {
	servers := make([]env.Server, len(e.Servers))
	ledger := ""
	for i, v := range e.Servers {
		servers[i] = env.Server{Name: v.Name, Settings: v.Settings}
		if v.Name == "ledger" && s.plan.Ledger {
			ledger = commits(v.Settings)
		}
	}
	d, ok := path.Durability(servers, s.settings)
	if !ok {
		return nil
	}
	return &results.Durability{Memory: d.Memory, Disk: d.Disk, Nodes: d.Nodes, Ledger: ledger}
}

// commits is how a ledger commits.
func commits(settings map[string]string) string {
	binlog := settings["log_bin"] == "ON" || settings["log_bin"] == "1"
	switch {
	case settings["innodb_flush_log_at_trx_commit"] != "1":
		return "not synced"
	case binlog && settings["sync_binlog"] != "1":
		return "synced without its binary log"
	}
	return "synced"
}

// toRenewals is what a watchdog did during a run; nil where there is none.
func toRenewals(session *workloads.Session) *results.Renewals {
	r, ok := session.Renewals()
	if !ok {
		return nil
	}
	out := &results.Renewals{Count: r.Count, Lost: r.Lost, Failed: r.Failed}
	if r.Count > 0 {
		out.MeanNS = int64(r.Time) / r.Count
	}
	return out
}

// A JVM interprets what it has run seldom, and compiles the rest meanwhile: a
// ZooKeeper that has just been started takes several times the CPU that one
// takes in production.
const (
	heatFor     = 20 * time.Second
	heatWorkers = 16
)

// heat has a ZooKeeper that was started for this compiled before anything is
// measured.
func (s *site) heat(ctx context.Context) error {
	path, err := workloads.Find(string(workloads.ZooKeeper))
	if err != nil {
		return err
	}
	settings := s.settings
	settings.Ledger, settings.AcquireTimeout = false, 0
	session, err := path.Open(ctx, s.stack, settings)
	if err != nil {
		return err
	}
	defer session.Close()
	ctx, cancel := context.WithTimeout(ctx, heatFor)
	defer cancel()
	var workers sync.WaitGroup
	for worker := range heatWorkers {
		workers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				key := fmt.Sprintf("%sheat:%d:%d", settings.Prefix, worker, i)
				if lease, err := session.Locker.TryLock(ctx, key, s.plan.TTL); err == nil {
					_ = lease.Unlock(ctx) // what is wrong with it, the measured runs will tell
				}
			}
		})
	}
	workers.Wait()
	return nil
}
