package ledger

import (
	"context"
	"database/sql"
	"fmt"
)

// fencing lets the order itself refuse a holder that has been overtaken
// (Kleppmann, "How to do distributed locking", 2016). The order keeps the
// greatest token it was read under, its fence, and who raised it. Only a
// strictly greater token raises it: a counter that went back in a failover
// hands the same token out twice, and "greater or equal" would admit both.
//
// The fence is raised by the read and not by the write. With a fence that
// only writes raise, a holder that read before its successor charged could
// still act on what it read.
type fencing struct{ db *DB }

// Token returns the guard that fences with the lock's token.
//
// Round trips: Read 2 (raise the fence, which is a commit of its own, and
// read), Charge 4.
func (d *DB) Token() Guard { return fencing{d} }

// Read raises the order's fence to token. Whether it did is not taken from
// the number of rows changed, which is lost when the reply is: the order is
// ours if it carries our token and the number we drew for this reading, and
// so a repeat after a lost reply is recognized as our own, and an equal
// token from another grant is not.
func (g fencing) Read(ctx context.Context, order int64, token uint64) (Order, error) {
	if token == 0 {
		return Order{}, fmt.Errorf("reading order %d: %w", order, ErrNoToken)
	}
	o := Order{ID: order, holder: newID(), attempt: newID()}
	orders := g.db.tables.orders
	err := g.db.repeatable(ctx, func(c *sql.Conn) error {
		_, err := c.ExecContext(ctx, "UPDATE "+orders+" SET fence = ?, fence_holder = ? WHERE id = ? AND fence < ?",
			token, o.holder, order, token)
		if err != nil {
			return err
		}
		var fence, holder uint64
		row := c.QueryRowContext(ctx, "SELECT paid, version, fence, fence_holder FROM "+orders+" WHERE id = ?", order)
		if err := row.Scan(&o.Paid, &o.Version, &fence, &holder); err != nil {
			return orderError(err)
		}
		if fence != token || holder != o.holder {
			return ErrStale
		}
		return nil
	})
	if err != nil {
		return Order{}, fmt.Errorf("reading order %d with token %d: %w", order, token, err)
	}
	return o, nil
}

// Charge returns Charged, or Stale where another reading has raised the
// fence since.
func (g fencing) Charge(ctx context.Context, o Order, token uint64) (Outcome, error) {
	return g.db.pay(ctx, g.charge(o, token))
}

// charge is the charge of o that is refused unless the fence is still ours.
func (g fencing) charge(o Order, token uint64) charge {
	c := g.db.newCharge(o, token)
	c.update = g.db.payOrder(" AND fence = ? AND fence_holder = ?")
	c.args = append(c.args, token, o.holder)
	c.refused = ErrStale
	return c
}
