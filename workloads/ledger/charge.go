package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// How a COMMIT without a reply is resolved: for resolveGrace longer than the
// operation's context lasts, asking anew each resolvePause while the ledger
// does not answer.
const (
	resolveGrace = 2 * time.Second
	resolvePause = 50 * time.Millisecond
)

// charge is one order's charge, and what its guard adds to the transaction.
type charge struct {
	order   int64
	attempt uint64 // the same in every try, so that a try finds an earlier one's work
	token   uint64
	marker  bool   // insert a marker row first
	update  string // marks the order paid, under the guard's conditions
	args    []any  // of update
	refused error  // what it means that update found no such order
}

// newCharge returns the charge of o without any condition.
func (d *DB) newCharge(o Order, token uint64) charge {
	if o.attempt == 0 { // o was not read here
		o.attempt = newID()
	}
	return charge{
		order: o.ID, attempt: o.attempt, token: token,
		update: d.payOrder(""), args: []any{o.ID},
		refused: ErrUnknownOrder,
	}
}

// payOrder is the statement that marks an order paid. It always changes the
// version, so a row that matches is a row that changes, and the number of
// affected rows means the same whatever clientFoundRows says.
func (d *DB) payOrder(conditions string) string {
	return "UPDATE " + d.tables.orders + " SET paid = 1, version = version + 1 WHERE id = ?" + conditions
}

// read returns the order by a plain read.
func (d *DB) read(ctx context.Context, id int64) (Order, error) {
	o := Order{ID: id, attempt: newID()}
	err := d.repeatable(ctx, func(c *sql.Conn) error {
		row := c.QueryRowContext(ctx, "SELECT paid, version FROM "+d.tables.orders+" WHERE id = ?", id)
		return orderError(row.Scan(&o.Paid, &o.Version))
	})
	if err != nil {
		return Order{}, fmt.Errorf("reading order %d: %w", id, err)
	}
	return o, nil
}

// orderError gives the missing row its name.
func orderError(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrUnknownOrder
	}
	return err
}

// pay makes the charge, once, whatever happens to the connections.
func (d *DB) pay(ctx context.Context, c charge) (Outcome, error) {
	err := d.stage(ctx, func() error {
		var r retries
		for {
			err := d.onConn(ctx, func(conn *sql.Conn) error { return d.transact(ctx, conn, c) })
			if e, ok := errors.AsType[*commitError](err); ok {
				charged, lookErr := d.resolve(ctx, c)
				if lookErr != nil {
					return fmt.Errorf("%w: %w; and reading back: %w", ErrUnresolved, e, lookErr)
				}
				if charged {
					return nil
				}
			}
			if err == nil || !r.allow(ctx, err) {
				return err
			}
		}
	})
	switch {
	case err == nil:
		return Charged, nil
	case errors.Is(err, errDuplicate):
		return Duplicate, nil
	case errors.Is(err, ErrStale):
		return Stale, nil
	}
	return 0, fmt.Errorf("charging order %d: %w", c.order, err)
}

// errDuplicate is what write returns where the order has its marker already.
var errDuplicate = errors.New("the order has been charged already")

// isVerdict tells whether err is what the guard found, on a connection that
// is in order, and no fault.
func isVerdict(err error) bool {
	return errors.Is(err, errDuplicate) || errors.Is(err, ErrStale) || errors.Is(err, ErrUnknownOrder)
}

// commitError is a COMMIT that was sent and not confirmed. Everything else
// that fails, fails before it, and then nothing was charged.
type commitError struct{ err error }

func (e *commitError) Error() string { return "COMMIT not confirmed: " + e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }

// transact makes the charge in one transaction. The statements are sent as
// text rather than through sql.Tx, whose Commit takes no context: a silent
// ledger would hold it for the connection's read timeout. When it returns
// nil or a server's error, no transaction is open.
func (d *DB) transact(ctx context.Context, conn *sql.Conn, c charge) error {
	if _, err := conn.ExecContext(ctx, "START TRANSACTION"); err != nil {
		return err
	}
	if err := d.write(ctx, conn, c); err != nil {
		// Where this fails the transaction is still undone: by the server,
		// when the connection closes.
		if _, rollbackErr := conn.ExecContext(ctx, "ROLLBACK"); rollbackErr != nil {
			discard(conn)
		}
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		discard(conn)
		return &commitError{err}
	}
	return nil
}

// write is the inside of the transaction.
func (d *DB) write(ctx context.Context, conn *sql.Conn, c charge) error {
	if c.marker {
		_, err := conn.ExecContext(ctx, "INSERT INTO "+d.tables.markers+" (order_id) VALUES (?)", c.order)
		if number(err) == erDuplicateEntry {
			return errDuplicate
		}
		if err != nil {
			return err
		}
	}
	result, err := conn.ExecContext(ctx, c.update, c.args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil {
		return err
	} else if n == 0 {
		return c.refused
	}
	_, err = conn.ExecContext(ctx, "INSERT INTO "+d.tables.charges+" (order_id, attempt, token) VALUES (?, ?, ?)",
		c.order, c.attempt, c.token)
	if err != nil {
		return err
	}
	return d.writeRows(ctx, conn, c.order)
}

// resolve finds out whether a COMMIT without a reply was executed.
func (d *DB) resolve(ctx context.Context, c charge) (charged bool, err error) {
	end := time.Now()
	if deadline, ok := ctx.Deadline(); ok && deadline.After(end) {
		end = deadline
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end.Add(resolveGrace))
	defer cancel()
	for {
		err := d.onConn(ctx, func(conn *sql.Conn) (err error) {
			charged, err = d.lookUp(ctx, conn, c)
			return err
		})
		if err == nil {
			return charged, nil
		}
		if !isLost(err) && !isDeadlock(err) {
			return false, err
		}
		select {
		case <-ctx.Done():
			return false, err
		case <-time.After(resolvePause):
		}
	}
}

// lookUp tells whether the attempt is among the charges. Its answer is final
// because of the lock it takes first: the transaction that sent the COMMIT
// holds the order's row until it is committed or rolled back, so once we
// have the row that is decided. The charges are read after that, by the
// transaction's first consistent read, which is what makes its snapshot.
func (d *DB) lookUp(ctx context.Context, conn *sql.Conn, c charge) (bool, error) {
	if _, err := conn.ExecContext(ctx, "START TRANSACTION"); err != nil {
		return false, err
	}
	defer func() {
		if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
			discard(conn)
		}
	}()
	if _, err := conn.ExecContext(ctx, "SELECT id FROM "+d.tables.orders+" WHERE id = ? FOR UPDATE", c.order); err != nil {
		return false, err
	}
	var found int
	row := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+d.tables.charges+" WHERE order_id = ? AND attempt = ?",
		c.order, c.attempt)
	if err := row.Scan(&found); err != nil {
		return false, err
	}
	return found > 0, nil
}
