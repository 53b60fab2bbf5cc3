package history

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// compareReturns orders operations by when their acquisition returned, then
// by what tells them apart, so that an order never depends on chance.
func compareReturns(a, b *Op) int {
	return cmp.Or(
		cmp.Compare(a.Acquire.ReturnedNS, b.Acquire.ReturnedNS),
		cmp.Compare(a.Acquire.InvokedNS, b.Acquire.InvokedNS),
		cmp.Compare(a.Order, b.Order),
		cmp.Compare(a.Client, b.Client),
	)
}

// sortedByReturn is a copy of ops in the order of their acquisitions' returns.
func sortedByReturn(ops []Op) []Op {
	sorted := slices.Clone(ops)
	slices.SortStableFunc(sorted, func(a, b Op) int { return compareReturns(&a, &b) })
	return sorted
}

// grantsByOrder yields the grants of one order after the other, each in the
// order of their returns. What is yielded points into ops.
func grantsByOrder(ops []Op) iter.Seq[[]*Op] {
	var all []*Op
	for i := range ops {
		if ops[i].granted() {
			all = append(all, &ops[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *Op) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), compareReturns(a, b))
	})
	return func(yield func([]*Op) bool) {
		for len(all) > 0 {
			end := 1
			for end < len(all) && all[end].Order == all[0].Order {
				end++
			}
			if !yield(all[:end:end]) {
				return
			}
			all = all[end:]
		}
	}
}

func (o *Op) granted() bool { return o.Acquire.Result == Granted }

// leaseEnd is until when the lease lasts at the least. It began when the
// server wrote the lock, which was not before the acquisition was invoked.
func (o *Op) leaseEnd() int64 {
	begin := o.Acquire.InvokedNS
	if begin > 0 && o.TTLNS > math.MaxInt64-begin {
		return math.MaxInt64
	}
	return begin + o.TTLNS
}

// surelyHeldUntil is until when the server must have kept the lock for this
// holder: to the end of its lease, or to the moment from which its release
// may have reached the server.
func (o *Op) surelyHeldUntil() int64 {
	if o.Release == nil {
		return o.leaseEnd()
	}
	return min(o.Release.InvokedNS, o.leaseEnd())
}

// atWorkUntil is until when the holder is known to have been in its critical
// section, its lease over or not. A holder of which no release is recorded is
// known to have been there until its last step returned, and one that was told
// that its lock is lost, until then, or until what was under way returned.
func (o *Op) atWorkUntil() int64 {
	last := o.Acquire.ReturnedNS
	for _, step := range []*Step{o.Read, o.Charge} {
		if step != nil && step.Result != Lost {
			last = step.ReturnedNS
		}
	}
	switch {
	case o.NoticedNS > 0:
		return max(last, o.NoticedNS)
	case o.Release != nil:
		return o.Release.InvokedNS
	}
	return last
}
