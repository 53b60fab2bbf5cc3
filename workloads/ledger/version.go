package ledger

import "context"

// version charges an order only if nobody has changed it since it was read:
// optimistic locking. It needs neither token nor marker, and where it is
// used the lock only saves wasted work.
type version struct{ db *DB }

// Version returns the guard that compares the version read.
//
// Round trips: Read 1, Charge 4.
func (d *DB) Version() Guard { return version{d} }

func (g version) Read(ctx context.Context, order int64, _ uint64) (Order, error) {
	return g.db.read(ctx, order)
}

// Charge returns Charged, or Stale where the order has been changed since.
func (g version) Charge(ctx context.Context, o Order, token uint64) (Outcome, error) {
	c := g.db.newCharge(o, token)
	c.update = g.db.payOrder(" AND version = ?")
	c.args = append(c.args, o.Version)
	c.refused = ErrStale
	return g.db.pay(ctx, c)
}
