package results

import "slices"

// KindGroup is what figures and tables show together: items of one kind.
type KindGroup[T any] struct {
	Kind  Kind // "" for items of no kind, as in older records
	Items []T
}

// GroupByKind deals items out to their kinds, in the order of Kinds; kinds
// that it does not know, and none at all, come last. The order within a kind
// stays. Kinds without an item are left out.
func GroupByKind[T any](all []T, kind func(T) Kind) []KindGroup[T] {
	var groups []KindGroup[T]
	for _, item := range all {
		i := slices.IndexFunc(groups, func(g KindGroup[T]) bool { return g.Kind == kind(item) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, KindGroup[T]{Kind: kind(item)})
		}
		groups[i].Items = append(groups[i].Items, item)
	}
	slices.SortStableFunc(groups, func(a, b KindGroup[T]) int { return a.Kind.rank() - b.Kind.rank() })
	return groups
}

// rank is a kind's place among those that are shown.
func (k Kind) rank() int {
	switch i := slices.Index(Kinds, k); {
	case i >= 0:
		return i
	case k != "":
		return len(Kinds)
	}
	return len(Kinds) + 1
}

// lockless names the path that takes no lock: its ledger alone decides.
const lockless = "optimistic"

// Lockless tells whether there is nothing to acquire, so that the acquire of
// the path is no more than a call that does nothing. Floors are no paths of
// this kind: they are measured for that.
func (p Path) Lockless() bool { return p.Path == lockless }

// kinds groups the paths that are floors, or those that are not, by kind, the
// baseline first within its own.
func (r *Record) kinds(floors bool) []KindGroup[Path] {
	var paths []Path
	for _, p := range r.Paths {
		if p.Floor == floors {
			paths = append(paths, p)
		}
	}
	groups := GroupByKind(paths, func(p Path) Kind { return p.Kind })
	for _, g := range groups {
		if g.Kind != "" {
			slices.SortStableFunc(g.Items, func(a, b Path) int { return baselineRank(a) - baselineRank(b) })
		}
	}
	return groups
}

func baselineRank(p Path) int {
	if p.IsBaseline() {
		return 0
	}
	return 1
}
