package history

import "slices"

// LongestWithoutGrant is the longest stretch without a grant to any client
// that the fault, at faultNS, falls into or that begins after it. A stretch
// goes from one grant's return to the next one's; the first begins at the
// last return up to the fault, or at the fault where there was none, and the
// last ends at endNS, which is to be when clients ceased to ask: longer may
// have been to come.
//
// ok is false where nothing can be said: there was no fault (faultNS below
// 0), it came at endNS or later, or no acquisition returned from it on.
func LongestWithoutGrant(ops []Op, faultNS, endNS int64) (ns int64, ok bool) {
	if faultNS < 0 || endNS <= faultNS {
		return 0, false
	}
	since := int64(-1) // last grant up to the fault
	var returns []int64
	for i := range ops {
		returned := ops[i].Acquire.ReturnedNS
		ok = ok || returned >= faultNS
		switch {
		case !ops[i].granted(), returned > endNS:
		case returned <= faultNS:
			since = max(since, returned)
		default:
			returns = append(returns, returned)
		}
	}
	if !ok {
		return 0, false
	}
	if since < 0 {
		since = faultNS
	}
	slices.Sort(returns)
	for _, returned := range append(returns, endNS) {
		ns = max(ns, returned-since)
		since = returned
	}
	return ns, true
}

// FirstGrant is when the first grant returned to a client, "" for any, of
// those whose acquisition was invoked after afterNS. One that was under way
// at that moment does not count: the server may have made it before. ok is
// false if there is none.
func FirstGrant(ops []Op, client string, afterNS int64) (ns int64, ok bool) {
	for i := range ops {
		o := &ops[i]
		if !o.granted() || o.Acquire.InvokedNS <= afterNS || client != "" && o.Client != client {
			continue
		}
		if !ok || o.Acquire.ReturnedNS < ns {
			ns, ok = o.Acquire.ReturnedNS, true
		}
	}
	return ns, ok
}
