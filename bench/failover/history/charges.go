package history

// LostCharges counts the charges that a client was told are done and that the
// ledger does not have. charges is what the ledger has in the end: for each
// order, the number of its charges.
//
// Orders are reckoned one by one, so that one charged too often does not make
// up for another's loss. What failed is not counted: the client was not told
// that it is done, and whether it is does not matter here.
func LostCharges(ops []Op, charges map[int64]int64) int64 {
	reported := make(map[int64]int64)
	for i := range ops {
		if charge := ops[i].Charge; charge != nil && charge.Result == Charged {
			reported[ops[i].Order]++
		}
	}
	var lost int64
	for order, n := range reported {
		lost += max(0, n-charges[order])
	}
	return lost
}

// DoubleCharges counts the orders that the ledger charged more than once.
// charges is, for each order, the number of its charges. What clients were
// told does not matter: a charge whose reply was lost is a charge.
func DoubleCharges(charges map[int64]int64) int64 {
	var double int64
	for _, n := range charges {
		if n > 1 {
			double++
		}
	}
	return double
}
