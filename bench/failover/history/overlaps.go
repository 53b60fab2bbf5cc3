package history

import (
	"cmp"
	"slices"
)

// Overlap counts grants that came while another holder was at it. A grant
// counts at most once, however many others it meets, and in one of the two.
type Overlap struct {
	// DoubleGrants are grants that no lock service that keeps its word could
	// have made: the lock was another holder's, within that one's lease.
	DoubleGrants int64
	// OutlivedLeases are grants, none of DoubleGrants, that came while
	// another holder was in its critical section although its lease may have
	// run out. The lock service did what it promised, and two clients were at
	// the same order all the same.
	OutlivedLeases int64
}

// Overlaps finds the grants that met another grant of the same order.
//
// What is known of a grant is when its acquisition was invoked and returned,
// and when its release was invoked. The server wrote the lock at some moment
// s in between the first two, kept it until s plus the TTL, and could only
// have deleted it for a release that was invoked. So it kept the lock from s,
// which is not after the return, at least until
//
//	end = the lesser of: the release's invocation, the acquisition's invocation plus the TTL
//
// (without a release, the latter). Of two grants of one order the server made
// one first. Had it made g first, then it made h, in good order, at g's end
// or later, and h's return is later still: h.returned ≥ g.end. Had it made h
// first, g.returned ≥ h.end. Only where neither is so,
//
//	h.returned < g.end and g.returned < h.end,
//
// has it granted the lock twice. That is the test, and it holds whatever
// happened in between the moments that are known:
//
//   - A release that was invoked may have taken effect at once, even if it
//     failed or its reply was lost: whoever is granted the lock from then on
//     was granted it rightly. One that never reached the server only makes
//     the lock last longer.
//   - A grant whose reply took longer than its TTL can have been made, and
//     have run out, before another was made that returned earlier: the second
//     half of the test acquits it.
//   - At equal times either can have been first, so equal times acquit.
//   - A lease that was renewed, or written anew by an attempt that was sent
//     twice, lasts longer than the end that is reckoned here.
//
// What it takes for granted is that the server's clock goes as fast as the
// recorder's while a lease lasts.
//
// The test of two critical sections, which go from a grant's return until its
// release is invoked, is the same with that end. Those that overlap without
// being a double grant do so because one of the leases, counted from its
// invocation as a careful holder has to, was over. A holder without a
// recorded release counts as at work until its last step returned.
//
// It takes n·log n steps for n operations, also where all are of one order.
func Overlaps(ops []Op) Overlap {
	var found Overlap
	for grants := range grantsByOrder(ops) {
		if len(grants) < 2 {
			continue
		}
		double := meetEarlier(grants, (*Op).surelyHeldUntil)
		together := meetEarlier(grants, (*Op).atWorkUntil)
		for i := range grants {
			switch {
			case double[i]:
				found.DoubleGrants++
			case together[i]:
				found.OutlivedLeases++
			}
		}
	}
	return found
}

// meetEarlier tells, of each of one order's grants in the order of their
// returns, whether there is one before it such that each returned before the
// other's end. Those that returned before its own end come first among the
// grants; one of them has an end after its return if their greatest has.
func meetEarlier(grants []*Op, end func(*Op) int64) []bool {
	meets := make([]bool, len(grants))
	greatest := make([]int64, len(grants)) // end of all up to this one
	for i, grant := range grants {
		own := end(grant)
		n, _ := slices.BinarySearchFunc(grants[:i], own, func(earlier *Op, end int64) int {
			return cmp.Compare(earlier.Acquire.ReturnedNS, end)
		})
		meets[i] = n > 0 && greatest[n-1] > grant.Acquire.ReturnedNS
		greatest[i] = own
		if i > 0 {
			greatest[i] = max(own, greatest[i-1])
		}
	}
	return meets
}
