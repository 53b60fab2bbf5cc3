package ledger

import (
	"context"
	"database/sql"
	"strconv"
	"testing"
	"time"

	"lockcost/workloads/pool"
)

// rival opens a transaction of somebody else, and executes statement in it.
func (f *fixture) rival(t *testing.T, statement string, args ...any) *sql.Tx {
	t.Helper()
	p, err := newPool(f.cfg, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	tx, err := p.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback() })
	if _, err := tx.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
	return tx
}

// lockRow makes a rival that holds the order's row.
func (f *fixture) lockRow(t *testing.T, order int64) *sql.Tx {
	t.Helper()
	return f.rival(t, "SELECT id FROM "+f.DB.tables.orders+" WHERE id = ? FOR UPDATE", order)
}

// awaitStatements returns the server's ids of the session's connections that
// execute a statement which begins with text, once there are n of them.
func (f *fixture) awaitStatements(t *testing.T, text string, n int) []int64 {
	t.Helper()
	for t.Context().Err() == nil {
		rows, err := f.tables.pool.QueryContext(t.Context(),
			"SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE ?", text+"%")
		if err != nil {
			t.Fatal(err)
		}
		var ids []int64
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if len(ids) == n {
			return ids
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

type result struct {
	outcome Outcome
	err     error
}

// start charges in the background.
func start(ctx context.Context, g Guard, o Order) <-chan result {
	done := make(chan result, 1)
	go func() {
		outcome, err := g.Charge(ctx, o, 0)
		done <- result{outcome, err}
	}()
	return done
}

func TestKilledInsideTheTransaction(t *testing.T) {
	f := newFixture(t)
	lock := f.lockRow(t, 1)
	done := start(t.Context(), f.UniqueKey(), mustRead(t, f.UniqueKey(), 1, 0))
	for range 1 + maxLost { // the retry is killed too
		id := f.awaitStatements(t, "UPDATE", 1)[0] // its marker is inserted
		if err := f.tables.exec(t.Context(), "KILL CONNECTION "+strconv.FormatInt(id, 10)); err != nil {
			t.Fatal(err)
		}
	}
	if r := <-done; Kind(r.err) != "ledger-connection" {
		t.Errorf("%v, %v (%s), want a lost connection", r.outcome, r.err, Kind(r.err))
	}
	lock.Rollback()
	if n := f.count(t, "SELECT COUNT(*) FROM "+f.DB.tables.markers); n != 0 {
		t.Errorf("%d markers without a charge", n)
	}
	mustCharge(t, f.UniqueKey(), mustRead(t, f.UniqueKey(), 1, 0), 0, Charged)
}

// A connection killed while it was idle costs nothing but a new one.
func TestKilledWhileIdle(t *testing.T) {
	f := newFixtureOf(t, 1)
	for id, g := range []Guard{f.Plain(), f.Token(), f.UniqueKey(), f.Version()} {
		var conn int64
		if err := f.DB.pool.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&conn); err != nil {
			t.Fatal(err)
		}
		if err := f.tables.exec(t.Context(), "KILL CONNECTION "+strconv.FormatInt(conn, 10)); err != nil {
			t.Fatal(err)
		}
		mustCharge(t, g, mustRead(t, g, int64(id+1), 7), 7, Charged)
	}
}

// Two repeats that wait for a marker which is then rolled back both hold a
// shared lock on its place and both want it for themselves: InnoDB breaks
// the deadlock, and that is no duplicate.
func TestDeadlockIsNoDuplicate(t *testing.T) {
	f := newFixture(t)
	g := f.UniqueKey()
	for id := int64(1); id <= 10; id++ {
		first := f.rival(t, "INSERT INTO "+f.DB.tables.markers+" (order_id) VALUES (?)", id)
		a := start(t.Context(), g, mustRead(t, g, id, 0))
		b := start(t.Context(), g, mustRead(t, g, id, 0))
		f.awaitStatements(t, "INSERT", 2)
		first.Rollback()
		counts := make(map[Outcome]int)
		for _, r := range []result{<-a, <-b} {
			if r.err != nil {
				t.Fatal(r.err)
			}
			counts[r.outcome]++
		}
		if counts[Charged] != 1 || counts[Duplicate] != 1 {
			t.Errorf("order %d: %v, want one charged and one duplicate", id, counts)
		}
	}
	if n := f.count(t, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_deadlocks'"); n == 0 {
		t.Error("no deadlock happened: the test shows nothing")
	}
}

func TestLockWaitTimeoutIsNoDuplicate(t *testing.T) {
	f := newFixture(t)
	d := f.bypass(t, "innodb_lock_wait_timeout=1")
	lock := f.lockRow(t, 1)
	_, err := d.UniqueKey().Charge(t.Context(), mustRead(t, d.UniqueKey(), 1, 0), 0)
	if Kind(err) != "ledger-lock-timeout" {
		t.Errorf("%v (%s), want a lock timeout", err, Kind(err))
	}
	lock.Rollback()
	mustCharge(t, d.UniqueKey(), mustRead(t, d.UniqueKey(), 1, 0), 0, Charged) // no marker was left
}

func TestOperationGivesUpAtItsDeadline(t *testing.T) {
	f := newFixture(t)
	o := mustRead(t, f.UniqueKey(), 1, 0)
	lock := f.lockRow(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r := <-start(ctx, f.UniqueKey(), o)
	if Kind(r.err) != "ledger-timeout" {
		t.Errorf("%v, %v (%s), want a timeout", r.outcome, r.err, Kind(r.err))
	}
	lock.Rollback()
	mustCharge(t, f.UniqueKey(), o, 0, Charged)
}

// A COMMIT under way when its operation ends is not given up on before it is
// known what became of it. BACKUP STAGE is MariaDB's own way
// to hold commits back.
func TestCommitOutlastsTheOperation(t *testing.T) {
	f := newFixture(t)
	o := mustRead(t, f.Plain(), 1, 0)
	backup := f.backup(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := start(ctx, f.Plain(), o)
	f.awaitStatements(t, "COMMIT", 1)
	cancel()
	f.awaitStatements(t, "SELECT id FROM "+f.DB.tables.orders, 1) // reads back
	if _, err := backup.ExecContext(t.Context(), "BACKUP STAGE END"); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.err != nil || r.outcome != Charged {
		t.Errorf("%v, %v, want charged", r.outcome, r.err)
	}
	if got, want := f.audit(t), (Audit{Orders: 1, Charges: 1}); got != want {
		t.Errorf("audit %+v, want %+v", got, want)
	}
}

// backup returns a connection that holds all commits back until its BACKUP
// STAGE END.
func (f *fixture) backup(t *testing.T) *sql.Conn {
	t.Helper()
	p, err := newPool(f.cfg, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	c, err := p.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for _, stage := range []string{"START", "BLOCK_COMMIT"} {
		if _, err := c.ExecContext(t.Context(), "BACKUP STAGE "+stage); err != nil {
			t.Skipf("BACKUP STAGE %s: %v; LOCKCOST_LEDGER can name a MariaDB whose user has the right", stage, err)
		}
	}
	return c
}

func TestPoolWaitIsTraced(t *testing.T) {
	f := newFixtureOf(t, 1)
	var trace pool.Trace
	ctx := pool.WithTrace(t.Context(), &trace)
	mustRead(t, f.Plain(), 1, 0)
	if _, err := f.Plain().Read(ctx, 1, 0); err != nil || trace.Wait != 0 {
		t.Errorf("%v, waited %v with a connection free", err, trace.Wait)
	}
	lock := f.lockRow(t, 1)
	done := start(t.Context(), f.Plain(), Order{ID: 1})
	f.awaitStatements(t, "UPDATE", 1)
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err := f.Plain().Read(short, 2, 0)
	if Kind(err) != "ledger-pool-timeout" || trace.Wait == 0 {
		t.Errorf("%v (%s), waited %v with the only connection in use", err, Kind(err), trace.Wait)
	}
	lock.Rollback()
	if r := <-done; r.err != nil {
		t.Error(r.err)
	}
}
