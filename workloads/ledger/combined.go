package ledger

import "context"

// combined fences and ignores repeats, in one transaction: the fence keeps an
// overtaken holder out whose order nobody has charged yet, the unique key a
// holder whose token is in order and whose order has been charged, as after
// a fence that was restored from a backup.
type combined struct{ fencing }

// Combined returns the guard that is Token and UniqueKey in one.
//
// Round trips: Read 2, as Token's; Charge 5 (begin, marker, update, insert,
// commit).
func (d *DB) Combined() Guard { return combined{fencing{d}} }

// Charge returns Charged; Duplicate where the order has been charged, whoever
// asks; or Stale where it has not, and another reading has raised the fence
// since. The marker of a charge that is refused goes with its transaction.
func (g combined) Charge(ctx context.Context, o Order, token uint64) (Outcome, error) {
	c := g.charge(o, token)
	c.marker = true
	return g.db.pay(ctx, c)
}
