package ledger

import (
	"context"
	"database/sql"
	"strings"
)

// MaxRows bounds the rows that a charge inserts beside its own: the statement
// stays far below max_allowed_packet.
const MaxRows = 1000

// rowText is what a row holds, 100 bytes.
var rowText = strings.Repeat("lockcost-.", 10)

// SetRows has every charge's transaction insert n rows, 0 to MaxRows, into the
// table items beside its own, all in one statement: the size of the job is
// then that of others. It is to be called before the first charge.
func (d *DB) SetRows(n int) {
	d.rows, d.items = n, ""
	if n > 0 {
		d.items = "INSERT INTO " + d.tables.items + " (order_id, line, text) VALUES " +
			strings.TrimSuffix(strings.Repeat("(?, ?, '"+rowText+"'), ", n), ", ")
	}
}

// writeRows inserts the rows of an order, in its charge's transaction.
func (d *DB) writeRows(ctx context.Context, conn *sql.Conn, order int64) error {
	if d.rows == 0 {
		return nil
	}
	args := make([]any, 0, 2*d.rows)
	for line := range d.rows {
		args = append(args, order, line+1)
	}
	_, err := conn.ExecContext(ctx, d.items, args...)
	return err
}
