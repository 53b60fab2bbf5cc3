package failover

import (
	"context"
	"slices"
	"time"

	"lockcost/bench/failover/history"
	"lockcost/results"
)

// findLost waits for the first write after the fault, and keeps which of the
// locks that are held, and were granted before that, the server which
// accepted it does not have. Locks that were released meanwhile are not
// looked for: those that are lost are the latest.
func (t *trial) findLost(ctx context.Context, within time.Duration) error {
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case <-t.written:
	case <-timeout.C:
		return nil // whoever waits for the promotion tells why there was none
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if t.sinceFault() > t.hold {
		return nil // then nobody holds a lock of before any more
	}
	return t.addLost(ctx, t.firstWrite.Load())
}

// addLost keeps which locks that were granted before a time, and are held, the
// lock service does not have any more.
func (t *trial) addLost(ctx context.Context, before int64) error {
	held := t.held(before)
	lacking, err := t.service.lacking(ctx, held)
	if err != nil {
		return err
	}
	still := t.held(before) // those that were released meanwhile are not lost
	t.knowsLost = true
	for _, order := range lacking {
		if slices.Contains(still, order) {
			t.lost[order] = true
			t.gone(order, before)
		}
	}
	t.fact("held_at_promotion", int64(len(held)))
	return nil
}

// held is the orders whose locks were granted before a time and are held.
func (t *trial) held(before int64) (orders []int64) {
	for _, c := range t.clients {
		orders = c.holding(before, orders)
	}
	return orders
}

// gone keeps that the lock service has no lock of an order any more, since a
// time. The first counts.
func (t *trial) gone(order, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.goneNS[order]; !known {
		t.goneNS[order] = at
	}
}

// goneEvery is how often it is looked for locks that are about to be lost.
const goneEvery = 20 * time.Millisecond

// allGone waits until the lock service has none of the orders' locks any more,
// and keeps when each went. Its error voids the trial.
func (t *trial) allGone(ctx context.Context, orders []int64, within time.Duration) error {
	for over := time.Now().Add(within); ; {
		lacking, err := t.service.lacking(ctx, orders)
		if err != nil {
			return err
		}
		at := t.now()
		for _, order := range lacking {
			t.gone(order, at)
		}
		orders = slices.DeleteFunc(slices.Clone(orders), func(order int64) bool { return slices.Contains(lacking, order) })
		switch {
		case len(orders) == 0:
			return nil
		case time.Now().After(over):
			return void("%d locks were still there %v after their holder had fallen silent", len(orders), within)
		}
		if err := t.sleep(ctx, goneEvery); err != nil {
			return err
		}
	}
}

// noticed keeps when the locks of holders that were still at work were lost,
// and when those learned of it: medians, from the fault.
func (t *trial) noticed(ops []history.Op) {
	if !t.scenario.Needs.NoLoad || len(t.goneNS) == 0 || t.path.Service() == "" {
		return
	}
	fault := t.faultNS.Load()
	var lost, noticed, late []int64
	unnoticed := int64(0)
	for _, op := range ops {
		at, known := t.goneNS[op.Order]
		if !known || op.Acquire.Result != history.Granted || op.Acquire.InvokedNS >= fault ||
			op.NoticedNS == 0 && op.Release != nil && op.Release.InvokedNS <= at {
			continue
		}
		lost = append(lost, at-fault)
		if op.NoticedNS == 0 {
			unnoticed++
			continue
		}
		noticed = append(noticed, op.NoticedNS-fault)
		late = append(late, op.NoticedNS-at)
	}
	if len(lost) == 0 {
		return
	}
	t.moment(results.LockLost, median(lost))
	t.fact("holders_told", int64(len(noticed)))
	t.fact("holders_not_told", unnoticed)
	t.fact("jobs_given_up", givenUp(ops))
	if len(noticed) > 0 {
		t.moment(results.LossNoticed, median(noticed))
		t.fact("told_after_loss_ns", median(late))
	}
}

// median is the middle one, the lower of two.
func median(all []int64) int64 {
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// givenUp counts the jobs that ended before their effect as their holder knew
// that the lock was lost.
func givenUp(ops []history.Op) (n int64) {
	for _, op := range ops {
		if op.Read != nil && op.Read.Result == history.Lost || op.Charge != nil && op.Charge.Result == history.Lost {
			n++
		}
	}
	return n
}
