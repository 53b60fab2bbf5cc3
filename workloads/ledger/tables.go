package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/go-sql-driver/mysql"
)

// Tables is the tables of one run: orders, charges, markers, tokens and items, each
// name beginning with the run's prefix. It has connections of its own, one
// at a time, and is safe for concurrent use.
type Tables struct {
	pool *sql.DB
	cfg  *mysql.Config
	names
}

// CreateTables makes the tables in the ledger's database. Before it does it
// checks that they can be dropped again, and afterwards that they can be
// read and written; where anything fails it leaves no table behind and says
// in one line what is missing. Tables that exist already are left alone, and
// are an error.
func CreateTables(ctx context.Context, dsn, prefix string) (*Tables, error) {
	cfg, err := Config(dsn)
	if err != nil {
		return nil, err
	}
	n, err := newNames(prefix)
	if err != nil {
		return nil, err
	}
	p, err := newPool(cfg, 1)
	if err != nil {
		return nil, err
	}
	t := &Tables{pool: p, cfg: cfg, names: n}
	if err := t.create(ctx); err != nil {
		p.Close()
		return nil, explain(cfg, err)
	}
	return t, nil
}

func (t *Tables) create(ctx context.Context) (err error) {
	// Without the right this is refused, whether there is such a table or not.
	if err := t.exec(ctx, "DROP TABLE IF EXISTS "+t.absent()); err != nil {
		return err
	}
	var made []string
	defer func() {
		if err == nil {
			return
		}
		if dropErr := t.drop(context.WithoutCancel(ctx), made); dropErr != nil {
			err = fmt.Errorf("%w; and removing the tables made so far: %w", err, dropErr)
		}
	}()
	for i, statement := range t.names.create() {
		if err := t.exec(ctx, statement); err != nil {
			return err
		}
		made = append(made, t.all()[i])
	}
	for _, statement := range []string{ // each changes nothing, and needs its right
		"SELECT 1 FROM " + t.orders + " WHERE id = 0",
		"INSERT INTO " + t.orders + " (id) SELECT id FROM " + t.orders + " WHERE id = 0",
		"UPDATE " + t.orders + " SET paid = 1 WHERE id = 0",
	} {
		if err := t.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tables) exec(ctx context.Context, statement string) error {
	_, err := t.pool.ExecContext(ctx, statement)
	return err
}

// Bounds of a bulk insert: a statement stays far below max_allowed_packet,
// whose smallest default is 1 MB, and a transaction's undo log small.
const (
	seedRows  = 5_000
	seedBatch = 10 // statements a transaction
)

// Seed inserts n unpaid orders with the ids first, first+1, and so on.
func (t *Tables) Seed(ctx context.Context, first int64, n int) error {
	if n < 0 {
		return fmt.Errorf("ledger: cannot seed %d orders", n)
	}
	for n > 0 {
		batch := min(n, seedRows*seedBatch)
		if err := t.seed(ctx, first, batch); err != nil {
			return fmt.Errorf("seeding orders %d to %d: %w", first, first+int64(batch)-1, explain(t.cfg, err))
		}
		first, n = first+int64(batch), n-batch
	}
	return nil
}

// seed inserts n orders in one transaction.
func (t *Tables) seed(ctx context.Context, first int64, n int) error {
	tx, err := t.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	for n > 0 {
		rows := min(n, seedRows)
		if _, err := tx.ExecContext(ctx, t.insertOrders(first, rows)); err != nil {
			return err
		}
		first, n = first+int64(rows), n-rows
	}
	return tx.Commit()
}

// insertOrders is one statement that inserts n orders.
func (t *Tables) insertOrders(first int64, n int) string {
	s := append(make([]byte, 0, 64+16*n), "INSERT INTO "+t.orders+" (id) VALUES "...)
	for i := range n {
		if i > 0 {
			s = append(s, ',')
		}
		s = append(s, '(')
		s = strconv.AppendInt(s, first+int64(i), 10)
		s = append(s, ')')
	}
	return string(s)
}

// Audit is what the ledger itself says was charged.
type Audit struct {
	Orders  int64 // orders charged at least once
	Charges int64 // charges of them
	Doubled int64 // orders charged more than once
}

// Audit counts the charges of the n orders from first on.
func (t *Tables) Audit(ctx context.Context, first int64, n int) (Audit, error) {
	var a Audit
	row := t.pool.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(charges), 0), COALESCE(SUM(charges > 1), 0) FROM (
		SELECT COUNT(*) AS charges FROM `+t.charges+` WHERE order_id >= ? AND order_id < ? GROUP BY order_id) AS per_order`,
		first, first+int64(n))
	if err := row.Scan(&a.Orders, &a.Charges, &a.Doubled); err != nil {
		return Audit{}, fmt.Errorf("auditing %d orders from %d: %w", n, first, explain(t.cfg, err))
	}
	return a, nil
}

// Charges is how often each of the n orders from first on was charged; those
// that were not are absent.
func (t *Tables) Charges(ctx context.Context, first, n int64) (map[int64]int64, error) {
	rows, err := t.pool.QueryContext(ctx, "SELECT order_id, COUNT(*) FROM "+t.charges+
		" WHERE order_id >= ? AND order_id < ? GROUP BY order_id", first, first+n)
	if err != nil {
		return nil, fmt.Errorf("counting the charges of %d orders from %d: %w", n, first, explain(t.cfg, err))
	}
	defer rows.Close()
	charges := map[int64]int64{}
	for rows.Next() {
		var order, count int64
		if err := rows.Scan(&order, &count); err != nil {
			return nil, fmt.Errorf("counting the charges of %d orders from %d: %w", n, first, err)
		}
		charges[order] = count
	}
	return charges, rows.Err()
}

// Close closes the connection and leaves the tables. A nil Tables is closed.
func (t *Tables) Close() error {
	if t == nil {
		return nil
	}
	return t.pool.Close()
}

// Drop removes the tables, and nothing else, and closes the connection.
// After an error, such as a context that ended while somebody's transaction
// held a table, it can be called again.
func (t *Tables) Drop(ctx context.Context) error {
	if err := t.drop(ctx, t.all()); err != nil {
		return explain(t.cfg, err)
	}
	return t.pool.Close()
}

func (t *Tables) drop(ctx context.Context, tables []string) error {
	for _, table := range tables {
		if err := t.exec(ctx, "DROP TABLE IF EXISTS "+table); err != nil {
			return err
		}
	}
	return nil
}
