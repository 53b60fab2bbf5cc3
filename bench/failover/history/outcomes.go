package history

import "slices"

// Outcomes counts what became of acquisitions, but for those that failed.
type Outcomes struct {
	Granted, Held, Unreplicated int64
}

// CountOutcomes counts the acquisitions by their results.
func CountOutcomes(ops []Op) Outcomes {
	var n Outcomes
	for i := range ops {
		switch ops[i].Acquire.Result {
		case Granted:
			n.Granted++
		case Held:
			n.Held++
		case Unreplicated:
			n.Unreplicated++
		}
	}
	return n
}

// unnamed is the kind of an error that was recorded without one.
const unnamed = "other"

// Errors counts the steps that failed, by the kind of their error. That of an
// acquisition stands alone, such as redis-timeout; that of a later step has
// the step before it, such as "charge: connection". An operation counts once
// for each of its steps that failed. What a step may answer besides, such as
// Held, Stale or Lost, is no failure. The map is never nil.
func Errors(ops []Op) map[string]int64 {
	kinds := make(map[string]int64)
	count := func(prefix string, s *Step, answers ...string) {
		switch {
		case s == nil, slices.Contains(answers, s.Result):
		case s.Result == "":
			kinds[prefix+unnamed]++
		default:
			kinds[prefix+s.Result]++
		}
	}
	for i := range ops {
		o := &ops[i]
		count("", &o.Acquire, Granted, Held, Unreplicated)
		count("read: ", o.Read, Unpaid, Paid, Stale, Lost)
		count("charge: ", o.Charge, Charged, Duplicate, Stale, Lost)
		count("release: ", o.Release, Released, Lost)
	}
	return kinds
}
