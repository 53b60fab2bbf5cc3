package failover

import (
	"context"
	"sync"
	"time"

	"lockcost/bench/failover/history"
	"lockcost/env"
	"lockcost/workloads"
)

// everyService is all lock services.
var everyService = []workloads.Service{workloads.Redis, workloads.Independents, workloads.Etcd, workloads.ZooKeeper}

// isolations are the scenarios in which a holder and its lock service no
// longer reach each other, although both run.
func isolations() []Scenario {
	return []Scenario{{
		Name:    "holder-cut-off",
		Summary: "the holder is black-holed from the lock service for longer than its lock lasts, and goes on writing to the ledger",
		For:     everyService,
		Needs:   Needs{Replicas: 1, Network: true, Apart: true, NoLoad: true, TTL: holderTTL},
		Inject:  cutOffHolder, Healthy: healthyAgain,
	}}
}

const (
	// askAgainEvery is how often the second client asks for a lock that is
	// still held, while its holder is cut off.
	askAgainEvery = 100 * time.Millisecond
	// goesOnFor is how much longer a holder that is cut off is at work, once
	// another has done its job: enough for lockers that look once a second at
	// whether they still hold what they hold.
	goesOnFor = 1500 * time.Millisecond
)

// cutOffHolder has the first client take the locks, cuts it off from where it
// took them, has the second client do the job as soon as it gets the locks,
// and lets the first go on and charge the orders, still cut off.
func cutOffHolder(ctx context.Context, t *trial) error {
	jobs := t.takeAll(ctx)
	if len(jobs) == 0 {
		return void("the holder was granted no lock")
	}
	t.fault()
	for _, node := range t.lockNodes() {
		if err := t.stack.Network.Set(ctx, env.Way{From: env.Clients[0], To: node}, blackHole); err != nil {
			return err
		}
	}
	most := t.ttl() + holderMost
	var orders []int64
	for _, j := range jobs {
		orders = append(orders, j.op.Order)
	}
	var asking sync.WaitGroup
	for _, order := range orders {
		asking.Go(func() { t.askUntilGranted(ctx, order, most) })
	}
	err := t.allGone(ctx, orders, most)
	asking.Wait()
	if err != nil {
		return err
	}
	t.duringEnd.Store(t.now())
	if err := t.sleep(ctx, goesOnFor); err != nil {
		return err
	}
	for _, j := range jobs {
		if j.op.Read.Result == history.Unpaid {
			j.charge()
		}
	}
	if err := t.stack.Network.Mend(ctx); err != nil {
		return err
	}
	t.releaseAll(ctx, jobs)
	return nil
}

// takeAll has the first client take the trial's locks and read their orders, at
// once, so that none runs out before the fault.
func (t *trial) takeAll(ctx context.Context) (jobs []*job) {
	c := t.clients[0]
	var mu sync.Mutex
	var taking sync.WaitGroup
	for order := range t.orders {
		taking.Go(func() {
			op := &history.Op{Client: c.name, Order: t.first + order, TTLNS: int64(t.promised())}
			lease := t.acquire(ctx, c, op)
			op.DueNS = op.Acquire.InvokedNS
			if lease == nil {
				t.recorder.Add(*op)
				return
			}
			j := begin(ctx, t.now, c.session.Guard, lease, op)
			j.read()
			mu.Lock()
			defer mu.Unlock()
			jobs = append(jobs, j)
		})
	}
	taking.Wait()
	return jobs
}

// releaseAll releases the locks at once, as jobs end that do not know of each
// other.
func (t *trial) releaseAll(ctx context.Context, jobs []*job) {
	ctx, cancel := context.WithTimeout(ctx, t.plan.OpTimeout)
	defer cancel()
	var releasing sync.WaitGroup
	for _, j := range jobs {
		releasing.Go(func() {
			j.release(ctx)
			t.recorder.Add(*j.op)
		})
	}
	releasing.Wait()
}

// askUntilGranted has the second client ask for an order until it has done its
// job, or for so long.
func (t *trial) askUntilGranted(ctx context.Context, order int64, within time.Duration) {
	for over := time.Now().Add(within); time.Now().Before(over); {
		op := t.attempt(ctx, t.clients[1], order, func() {})
		op.DueNS = op.Acquire.InvokedNS
		t.recorder.Add(op)
		if op.Acquire.Result == history.Granted || t.sleep(ctx, askAgainEvery) != nil {
			return
		}
	}
}
