package history

import (
	"slices"
	"sort"
)

// RightfulRefused counts the holders that the ledger refused as stale,
// reading or charging, although they were the latest to be granted the
// order's lock, and within their lease.
//
// The refusal fell at the latest when it returned, so it counts as within the
// lease if it returned before the acquisition's invocation plus the TTL.
// Another grant of the order can have come after this holder's, and before
// the refusal, unless it had returned before this holder asked for the lock,
// or was asked for after the refusal had returned. Only a holder of whom no
// such other grant is known was surely the latest; at equal times it was not.
//
// An attempt that failed need not be looked at: even if the server wrote its
// lock, its client was not told so, and never came to the ledger.
//
// It takes n·log n steps for n operations: of all grants that were asked for
// by the time of the refusal, those that had returned before this one was
// asked for are subtracted, and if one is left, it is this one.
func RightfulRefused(ops []Op) int64 {
	var refused int64
	for grants := range grantsByOrder(ops) {
		if slices.ContainsFunc(grants, refusedInLease) {
			refused += refusedAsLatest(grants)
		}
	}
	return refused
}

// refusedAsLatest counts among one order's grants, in the order of their
// returns.
func refusedAsLatest(grants []*Op) int64 {
	invoked := make([]int64, len(grants))
	for i, grant := range grants {
		invoked[i] = grant.Acquire.InvokedNS
	}
	slices.Sort(invoked)
	var refused int64
	for _, grant := range grants {
		if !refusedInLease(grant) {
			continue
		}
		at := grant.refusal().ReturnedNS
		asked := sort.Search(len(invoked), func(i int) bool { return invoked[i] > at })
		before := sort.Search(len(grants), func(i int) bool {
			return grants[i].Acquire.ReturnedNS >= grant.Acquire.InvokedNS
		})
		if asked-before == 1 {
			refused++
		}
	}
	return refused
}

func refusedInLease(grant *Op) bool {
	refusal := grant.refusal()
	return refusal != nil && refusal.ReturnedNS < grant.leaseEnd()
}

// refusal is the step that the ledger refused as stale, nil if it refused none.
func (o *Op) refusal() *Step {
	switch {
	case o.Read != nil && o.Read.Result == Stale:
		return o.Read
	case o.Charge != nil && o.Charge.Result == Stale:
		return o.Charge
	}
	return nil
}
