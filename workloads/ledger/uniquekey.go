package ledger

import "context"

// uniqueKey charges an order once however many holders there are: the
// transaction first inserts the order's marker, and the marker's primary key
// refuses a second one with error 1062.
//
// It is a plain INSERT. With ON DUPLICATE KEY UPDATE there is no such error,
// and the number of affected rows that would have to stand for it is 0 or 1
// for the same repeat, depending on clientFoundRows
// (https://mariadb.com/kb/en/insert-on-duplicate-key-update/).
type uniqueKey struct{ db *DB }

// UniqueKey returns the guard that makes the charge idempotent.
//
// Round trips: Read 1, Charge 5 (begin, marker, update, insert, commit).
func (d *DB) UniqueKey() Guard { return uniqueKey{d} }

func (g uniqueKey) Read(ctx context.Context, order int64, _ uint64) (Order, error) {
	return g.db.read(ctx, order)
}

// Charge returns Charged, or Duplicate where the order has been charged.
func (g uniqueKey) Charge(ctx context.Context, o Order, token uint64) (Outcome, error) {
	c := g.db.newCharge(o, token)
	c.marker = true
	return g.db.pay(ctx, c)
}
