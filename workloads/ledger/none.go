package ledger

import "context"

// plain does not guard. Two holders whose critical sections overlap both
// read the order as unpaid, and both charge it: what a lock is worth that
// was granted twice is seen here.
type plain struct{ db *DB }

// Plain returns the guard that does nothing.
//
// Round trips: Read 1, Charge 4 (begin, update, insert, commit).
func (d *DB) Plain() Guard { return plain{d} }

func (g plain) Read(ctx context.Context, order int64, _ uint64) (Order, error) {
	return g.db.read(ctx, order)
}

// Charge returns Charged or an error.
func (g plain) Charge(ctx context.Context, o Order, token uint64) (Outcome, error) {
	return g.db.pay(ctx, g.db.newCharge(o, token))
}
