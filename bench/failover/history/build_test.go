package history

// Hand-made histories. Times are small numbers: the checkers know no unit.

// never is the invocation of a release that is not recorded.
const never = -1

// grant is a grant with the moments that the checkers of overlaps look at.
func grant(order, invoked, returned, ttl, release int64) Op {
	o := Op{
		Client: "first", Order: order, DueNS: invoked, TTLNS: ttl,
		Acquire: Step{InvokedNS: invoked, ReturnedNS: returned, Result: Granted},
	}
	if release != never {
		o.Release = &Step{InvokedNS: release, ReturnedNS: release + 1, Result: Released}
	}
	return o
}

// attempt is an acquisition that came to something else than a grant.
func attempt(order, invoked, returned int64, result string) Op {
	o := grant(order, invoked, returned, 100, never)
	o.Client, o.Acquire.Result = "second", result
	return o
}

// with returns o after change.
func with(o Op, change func(*Op)) Op {
	change(&o)
	return o
}

func step(invoked, returned int64, result string) *Step {
	return &Step{InvokedNS: invoked, ReturnedNS: returned, Result: result}
}
