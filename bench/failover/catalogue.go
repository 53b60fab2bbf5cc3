package failover

import "slices"

// Catalogue lists every scenario.
func Catalogue() []Scenario {
	return slices.Concat(
		crashes(), splits(), pausedHolders(), isolations(), replicaLosses(), operations(),
		leaders(), nodeLosses(), withoutMajority(),
	)
}
