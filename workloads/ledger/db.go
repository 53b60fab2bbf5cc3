package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"

	"lockcost/workloads/pool"
)

// fillAtOnce bounds the handshakes under way while a pool is filled. A
// server's listen queue is short (MariaDB's back_log follows
// max_connections, and the kernel bounds it), and what does not fit waits a
// second for the next SYN.
const fillAtOnce = 32

// DB is one session's connections to the ledger, at most size of them. Each
// stage of a job (a Read, or a Charge) holds one connection at a time, for
// as long as the stage lasts; a stage that finds all of them in use waits in
// line, and the wait goes to the pool trace of its context. It is safe for
// concurrent use.
type DB struct {
	pool   *sql.DB
	gate   *pool.Gate
	cfg    *mysql.Config
	tables names
	items  string // the statement that inserts the rows beside a charge's own; "" for none
	rows   int
}

// Open prepares a session of at most size connections with the ledger, on
// the tables that CreateTables made under prefix. It checks what can be
// checked beforehand: that the ledger is there, lets us in, has the tables,
// and admits that many connections.
func Open(ctx context.Context, dsn, prefix string, size int) (*DB, error) {
	cfg, err := Config(dsn)
	if err != nil {
		return nil, err
	}
	return open(ctx, cfg, prefix, size)
}

func open(ctx context.Context, cfg *mysql.Config, prefix string, size int) (*DB, error) {
	if size < 1 {
		return nil, fmt.Errorf("ledger: a session needs at least 1 connection, not %d", size)
	}
	tables, err := newNames(prefix)
	if err != nil {
		return nil, err
	}
	p, err := newPool(cfg, size)
	if err != nil {
		return nil, err
	}
	d := &DB{pool: p, gate: pool.NewGate(size), cfg: cfg, tables: tables}
	if err := d.check(ctx, size); err != nil {
		p.Close()
		return nil, err
	}
	return d, nil
}

// newPool returns a pool that keeps each connection it opens until it is
// closed: none is opened or dropped in the middle of a measurement.
func newPool(cfg *mysql.Config, size int) (*sql.DB, error) {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, badDSN(err)
	}
	p := sql.OpenDB(connector)
	p.SetMaxOpenConns(size)
	p.SetMaxIdleConns(size)
	return p, nil
}

// check asks for the tables, and for the bounds on connections.
func (d *DB) check(ctx context.Context, size int) error {
	_, err := d.pool.ExecContext(ctx, "SELECT 1 FROM "+strings.Join(d.tables.all(), ", ")+" LIMIT 0")
	if err != nil {
		return explain(d.cfg, err)
	}
	var all, user int // user is 0 where users are not bounded apart
	row := d.pool.QueryRowContext(ctx, "SELECT @@global.max_connections, @@session.max_user_connections")
	if err := row.Scan(&all, &user); err != nil {
		return explain(d.cfg, err)
	}
	const want = "%d connections for the session and 1 for its tables are wanted: raise it to %d or more, or use fewer workers"
	if size+1 > all {
		return fmt.Errorf("ledger at %s: max_connections is %d, and "+want, d.cfg.Addr, all, size, size+1)
	}
	if user > 0 && size+1 > user {
		return fmt.Errorf("ledger at %s: max_user_connections of user %q is %d, and "+want, d.cfg.Addr, d.cfg.User, user, size, size+1)
	}
	return nil
}

// Fill opens all the session's connections, so that no operation pays for a
// handshake. It is called before the session is used.
func (d *DB) Fill(ctx context.Context) error {
	conns := make([]*sql.Conn, d.gate.Size())
	dial, dialCtx := errgroup.WithContext(ctx)
	dial.SetLimit(fillAtOnce)
	for i := range conns {
		dial.Go(func() (err error) {
			conns[i], err = d.pool.Conn(dialCtx)
			return err
		})
	}
	err := dial.Wait()
	for _, c := range conns { // all are held until all are open, else one would be reused
		if c != nil {
			c.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("opening %d connections: %w", len(conns), explain(d.cfg, err))
	}
	return nil
}

// Close closes the session's connections.
func (d *DB) Close() error { return d.pool.Close() }

// PoolWait is how long stages have stood in line for a connection so far,
// added up.
func (d *DB) PoolWait() time.Duration { return d.gate.Waited() }

// InUse is how many connections are in use.
func (d *DB) InUse() int { return d.gate.InUse() }

// stage runs f with a place among the session's connections.
func (d *DB) stage(ctx context.Context, f func() error) error {
	if err := d.gate.Enter(ctx); err != nil {
		return fmt.Errorf("%w: %w", errNoneFree, err)
	}
	defer d.gate.Leave()
	return f()
}

// repeatable is a stage whose statements may be executed twice with no other
// effect than once: after a lost connection it is tried again on another.
func (d *DB) repeatable(ctx context.Context, f func(*sql.Conn) error) error {
	return d.stage(ctx, func() error {
		var r retries
		for {
			err := d.onConn(ctx, f)
			if err == nil || !r.allow(ctx, err) {
				return err
			}
		}
	})
}

// onConn runs f on one connection. Statements on a sql.Conn are sent once:
// the silent retries of sql.DB, which would hide a repeated effect, are only
// made for getting the connection. One that f failed on is closed, unless
// the server answered with an error of the statement's.
func (d *DB) onConn(ctx context.Context, f func(*sql.Conn) error) error {
	c, err := d.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	err = f(c)
	if err != nil && (number(err) == 0 || isLost(err)) && !isVerdict(err) {
		discard(c)
	}
	return err
}

// discard closes the connection under c instead of giving it back to the
// pool. The server then rolls its transaction back.
func discard(c *sql.Conn) {
	// Returning ErrBadConn is how database/sql is told; it hands it back.
	_ = c.Raw(func(any) error { return driver.ErrBadConn })
}

// retries bounds how often a stage is tried again.
type retries struct{ lost, deadlocks int }

// The bounds. One loss is an accident; a second one in the same stage means
// that the ledger is gone.
const (
	maxLost      = 1
	maxDeadlocks = 5
)

// allow tells whether to try again after err.
func (r *retries) allow(ctx context.Context, err error) bool {
	switch {
	case ctx.Err() != nil:
		return false
	case isDeadlock(err):
		r.deadlocks++
		return r.deadlocks <= maxDeadlocks
	case isLost(err):
		r.lost++
		return r.lost <= maxLost
	}
	return false
}

// Mint returns a fencing token, greater than every one before it, from the
// ledger's own sequence. InnoDB keeps the sequence over restarts (MySQL from
// 8.0, MariaDB from 10.2.4), and our rows would restore it in any case. A
// token whose reply was lost is a gap, and another one is minted.
func (d *DB) Mint(ctx context.Context) (uint64, error) {
	var token int64
	err := d.repeatable(ctx, func(c *sql.Conn) error {
		result, err := c.ExecContext(ctx, "INSERT INTO "+d.tables.tokens+" () VALUES ()")
		if err != nil {
			return err
		}
		token, err = result.LastInsertId()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("minting a token: %w", err)
	}
	return uint64(token), nil
}

// newID returns a number that no other reading and no other process draws:
// 64 random bits, of a generator that the runtime seeds from the system.
func newID() uint64 { return rand.Uint64() }
