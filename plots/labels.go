package plots

import (
	"slices"

	"gonum.org/v1/plot/vg"
)

// spread moves positions apart, as little as possible, so that neighbours
// are at least gap from each other and all lie between lo and hi. Their
// order is kept. Where there is no room between lo and hi they run over hi.
//
// It is a least-squares fit with monotonic regression: positions minus
// their due distance must not fall.
func spread(want []vg.Length, gap, lo, hi vg.Length) []vg.Length {
	order := make([]int, len(want))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case want[a] < want[b]:
			return -1
		case want[a] > want[b]:
			return 1
		}
		return 0
	})
	free := make([]vg.Length, len(want))
	for rank, i := range order {
		free[rank] = want[i] - vg.Length(rank)*gap
	}
	highest := max(lo, hi-vg.Length(len(want)-1)*gap)
	placed := make([]vg.Length, len(want))
	for rank, v := range monotonic(free) {
		placed[order[rank]] = min(max(v, lo), highest) + vg.Length(rank)*gap
	}
	return placed
}

// monotonic returns the non-decreasing sequence nearest to the given one, by
// pooling neighbours that are in the wrong order.
func monotonic(values []vg.Length) []vg.Length {
	type pool struct {
		sum vg.Length
		n   int
	}
	mean := func(p pool) vg.Length { return p.sum / vg.Length(p.n) }
	var pools []pool
	for _, v := range values {
		pools = append(pools, pool{v, 1})
		for len(pools) > 1 && mean(pools[len(pools)-2]) > mean(pools[len(pools)-1]) {
			last := pools[len(pools)-1]
			pools = pools[:len(pools)-1]
			pools[len(pools)-1].sum += last.sum
			pools[len(pools)-1].n += last.n
		}
	}
	fitted := make([]vg.Length, 0, len(values))
	for _, p := range pools {
		for range p.n {
			fitted = append(fitted, mean(p))
		}
	}
	return fitted
}
