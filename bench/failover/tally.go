package failover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockcost/bench/failover/history"
	"lockcost/results"
)

// outcome is what came out of a trial.
type outcome struct {
	trial results.Trial
	ops   history.Timed
}

// tally counts what happened in a trial that has ended.
func (t *trial) tally(ctx context.Context) (*outcome, error) {
	ops, r := t.recorder.Ops(), &t.result
	if !t.scenario.Needs.NoLoad {
		for i := range ops {
			ops[i].DueNS += t.loadNS
		}
	}
	r.FalseFailovers = t.service.falseFailovers()
	r.Errors = history.Errors(ops)
	counts := history.CountOutcomes(ops)
	r.Granted, r.Held, r.Unreplicated = counts.Granted, counts.Held, counts.Unreplicated
	charges, err := t.ground.tables.Charges(ctx, t.first, t.orders)
	if err != nil {
		return nil, err
	}
	if err := t.carried(ops); err != nil && r.Void == "" {
		r.Void = err.Error()
	}
	if t.path.Service() != "" {
		overlap := history.Overlaps(ops)
		r.Events[results.DoubleGrant] = overlap.DoubleGrants
		r.Events[results.OutlivedLease] = overlap.OutlivedLeases
		t.orphans(ctx, ops)
	}
	r.Events[results.DoubleCharge] = history.DoubleCharges(charges)
	r.Events[results.LostCharge] = history.LostCharges(ops, charges)
	r.Events[results.RightfulRefused] = history.RightfulRefused(ops)
	if minted(ops) {
		r.Events[results.RepeatedToken] = history.RepeatedTokens(ops)
	}
	if t.knowsLost {
		r.Events[results.LostGrant] = int64(len(t.lost))
	}
	if err := t.foundOut(ops); err != nil {
		t.shows(err)
	}
	if t.scenario.Needs.NoLoad && r.FalseFailovers > 0 && r.Void == "" {
		r.Void = "a failover began, although no server was to fail"
	}
	t.noticed(ops)
	t.withoutMajority(ops)
	end := t.endNS
	t.times(ops, end)
	timed := history.Timed{Ops: ops, FaultNS: t.faultNS.Load(), EndNS: end}
	timed.DuringEndNS = t.during(ops, end)
	return &outcome{trial: *r, ops: timed}, nil
}

// failedMost is the share of acquisitions that may fail before any fault.
const failedMost = 0.05

// carried checks that the load was carried before the fault: else what came
// after it is not the fault's doing.
func (t *trial) carried(ops []history.Op) error {
	fault := t.faultNS.Load()
	if fault == noFault || t.scenario.Prepare != nil { // which may make acquisitions fail
		return nil
	}
	asked, failed := 0, 0
	for _, op := range ops {
		if op.Acquire.ReturnedNS >= fault {
			continue
		}
		asked++
		switch op.Acquire.Result {
		case history.Granted, history.Held, history.Unreplicated:
		default:
			failed++
		}
	}
	if float64(failed) > failedMost*float64(asked) || asked == 0 {
		return void("the load was not carried before the fault: %d of %d acquisitions failed", failed, asked)
	}
	return nil
}

// foundOut checks that, where locks were lost, somebody asked for one of them
// again and got an answer. Else their loss could not show, and the trial would
// pass for one in which nothing was granted twice. The same goes for one in
// which it is not known whether any were lost, as the failover took so long.
func (t *trial) foundOut(ops []history.Op) error {
	if t.crashNS.Load() > 0 && t.promotedNS.Load() == 0 && t.firstWrite.Load() > 0 && !t.knowsLost {
		return void("the failover took longer than locks were held, and so shows nothing of them")
	}
	if !t.knowsLost || len(t.lost) == 0 {
		return nil
	}
	for _, op := range ops {
		if !t.lost[op.Order] || op.Acquire.InvokedNS < t.firstWrite.Load() {
			continue
		}
		switch op.Acquire.Result {
		case history.Granted, history.Held, history.Unreplicated:
			return nil
		}
	}
	return void("%d locks were lost, and nobody who asked for one of them again got an answer: the failover came too late", len(t.lost))
}

// shows is what is left of a trial in which a lost lock could not be found out:
// its times, where it is there for those, and else nothing.
func (t *trial) shows(unseen error) {
	r := &t.result
	switch {
	case r.Void != "":
	case t.scenario.Timed:
		delete(r.Events, results.DoubleGrant)
		delete(r.Events, results.DoubleCharge)
		t.reason(unseen.Error())
	default:
		r.Void = unseen.Error()
	}
}

func minted(ops []history.Op) bool {
	for _, op := range ops {
		if op.Token != 0 {
			return true
		}
	}
	return false
}

// orphans counts the locks that are left now that every holder has released
// its own.
func (t *trial) orphans(ctx context.Context, ops []history.Op) {
	left, err := t.service.leftover(ctx)
	switch {
	case errors.Is(err, errNobodyLeads):
		return
	case err != nil:
		t.reason(fmt.Sprintf("locks that are left were not counted: %v", err))
		return
	}
	t.result.Events[results.OrphanedLock] = int64(len(left))
	if len(left) == 0 {
		return
	}
	ended, granted := map[int64]int64{}, map[int64]bool{}
	for _, op := range ops {
		ended[op.Order] = max(ended[op.Order], endOf(op))
		granted[op.Order] = granted[op.Order] || op.Acquire.Result == history.Granted
	}
	never := int64(0)
	for order := range left {
		if !granted[order] {
			never++
		}
	}
	t.fact("orphaned_and_never_granted", never)
	longest, now := int64(0), t.now()
	for order, stays := range left {
		longest = max(longest, now-ended[order]+int64(stays))
	}
	t.moment(results.OrphanedFor, longest)
}

// endOf is when an operation's last step returned.
func endOf(op history.Op) int64 {
	if op.Release != nil {
		return op.Release.ReturnedNS
	}
	return op.Acquire.ReturnedNS
}

// times are the moments that every scenario with a fault has.
func (t *trial) times(ops []history.Op, end int64) {
	fault := t.faultNS.Load()
	if fault == noFault || t.scenario.Needs.NoLoad {
		return
	}
	from := max(t.crashNS.Load(), fault)
	if !t.loses() {
		t.service.steps(ops, from)
	}
	if longest, ok := history.LongestWithoutGrant(ops, fault, end); ok {
		t.moment(results.WithoutGrant, longest)
	}
	t.refusals(ops, fault)
	if promoted := t.promotedNS.Load(); promoted > 0 {
		t.fact("grants_after_promotion", countGrants(ops, promoted, end))
		t.fact("promoted_after_crash_ns", promoted-from)
	}
}

// loses tells whether the fault was the loss of a replica, from which the
// steps of a failover do not count.
func (t *trial) loses() bool { return t.promotedNS.Load() > 0 }

// firstGrants is when clients were first granted something that they asked for
// after a moment, such as the new primary's first write.
func (t *trial) firstGrants(ops []history.Op, crash, from int64) {
	clients := map[results.Moment]string{results.FirstGrantB: t.clients[1].name}
	if !t.scenario.Needs.Stays {
		clients[results.FirstGrant], clients[results.FirstGrantA] = "", t.clients[0].name
	}
	for m, client := range clients {
		if at, ok := history.FirstGrant(ops, client, from); ok {
			t.moment(m, at-crash)
		}
	}
}

// refusals is when acquisitions began to be refused for want of replicas, and
// what was granted until then.
func (t *trial) refusals(ops []history.Op, fault int64) {
	for _, op := range ops {
		a := op.Acquire
		if a.InvokedNS < fault || a.Result != history.Unreplicated && a.Result != "redis-noreplicas" {
			continue
		}
		t.moment(results.Refusal, a.ReturnedNS-fault)
		t.fact("grants_before_refusal", countGrants(ops, fault, a.ReturnedNS))
		return
	}
}

// countGrants counts the locks that were asked for and granted in a stretch
// of time.
func countGrants(ops []history.Op, from, to int64) (n int64) {
	for _, op := range ops {
		if op.Acquire.Result == history.Granted && op.Acquire.InvokedNS >= from && op.Acquire.ReturnedNS <= to {
			n++
		}
	}
	return n
}

// during is when the fault's effect ended: as the scenario says, or at the
// first grant after the first write.
func (t *trial) during(ops []history.Op, end int64) int64 {
	if at := t.duringEnd.Load(); at > 0 {
		return at
	}
	if at, ok := history.FirstGrant(ops, "", max(t.faultNS.Load(), t.firstWrite.Load())); ok {
		return at
	}
	return end
}

// promotion waits until Sentinels tell clients of another primary than the
// old one, and keeps its address.
func (t *trial) promotion(ctx context.Context, old string, within time.Duration) error {
	return t.promotionSince(ctx, t.faultNS.Load(), old, within)
}

// promotionSince is promotion, after a time.
func (t *trial) promotionSince(ctx context.Context, after int64, old string, within time.Duration) error {
	e, ok := t.watch.await(ctx, after, within, t.switchedFrom(old))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !ok {
		return void("nobody was promoted within %v: %s", within, t.why(after))
	}
	t.setPrimary(t.reach(e.switchedTo()))
	return nil
}

// why is the Sentinels' reason for not promoting anybody, as far as they gave
// one.
func (t *trial) why(after int64) string {
	if e, ok := t.watch.first(after, noGoodReplica, notElected); ok {
		return "Sentinel said " + e.name + " " + e.text
	}
	if e, ok := t.watch.first(after, objectivelyDown); ok {
		return "the last that Sentinel said of it was " + e.name
	}
	return "no quorum of Sentinels held the primary to be down"
}
