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

// awaitBound only keeps a test that is wrong from hanging.
const awaitBound = 20 * time.Second

// awaitStatements returns the server's ids of the session's connections that
// execute a statement which begins with text, once there are n of them.
func (f *fixture) awaitStatements(t *testing.T, text string, n int) []int64 {
	t.Helper()
	for giveUp := time.Now().Add(awaitBound); time.Now().Before(giveUp); {
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
	t.Fatalf("the server never had %d of %q under way", n, text)
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
	killed := int64(0)
	for range 1 + maxLost { // the retry is killed too
		id := killed
		for id == killed { // a killed connection is listed until it has ended
			id = f.awaitStatements(t, "UPDATE", 1)[0] // its marker is inserted
		}
		killed = id
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

// Whoever holds the marker may yet roll back.
func TestLockWaitTimeoutIsNoDuplicate(t *testing.T) {
	f := newFixture(t)
	g := f.bypass(t, "innodb_lock_wait_timeout=1").UniqueKey()
	for id, rival := range []*sql.Tx{
		f.lockRow(t, 1),
		f.rival(t, "INSERT INTO "+f.DB.tables.markers+" (order_id) VALUES (2)"),
	} {
		o := mustRead(t, g, int64(id+1), 0)
		outcome, err := g.Charge(t.Context(), o, 0)
		if Kind(err) != "ledger-lock-timeout" {
			t.Errorf("order %d: %v, %v (%s), want a lock timeout", o.ID, outcome, err, Kind(err))
		}
		rival.Rollback()
		mustCharge(t, g, o, 0, Charged) // no marker of ours was left
	}
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

// What became of a COMMIT is not looked for before it is decided.
func TestResolveWaitsForTheDyingTransaction(t *testing.T) {
	f := newFixture(t)
	for order, end := range map[int64]func(*sql.Tx) error{1: (*sql.Tx).Commit, 2: (*sql.Tx).Rollback} {
		c := f.newCharge(Order{ID: order}, 0)
		dying := f.rival(t, c.update, c.args...)
		if _, err := dying.ExecContext(t.Context(), "INSERT INTO "+f.DB.tables.charges+
			" (order_id, attempt, token) VALUES (?, ?, 0)", order, c.attempt); err != nil {
			t.Fatal(err)
		}
		type answer struct {
			charged bool
			err     error
		}
		done := make(chan answer, 1)
		go func() {
			charged, err := f.resolve(t.Context(), c)
			done <- answer{charged, err}
		}()
		f.awaitStatements(t, "SELECT id FROM "+f.DB.tables.orders, 1)
		if err := end(dying); err != nil {
			t.Fatal(err)
		}
		if got, want := <-done, (answer{charged: order == 1}); got != want {
			t.Errorf("order %d: %+v, want %+v", order, got, want)
		}
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
