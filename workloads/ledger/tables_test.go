package ledger

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

func TestPrefix(t *testing.T) {
	dsn := startLedger(t)
	for _, prefix := range []string{"", "A_", "a-b", "a`b", "a.b", "ä", strings.Repeat("a", 41)} {
		_, err := CreateTables(t.Context(), dsn, prefix)
		checkMessage(t, err, "prefix")
		_, err = Open(t.Context(), dsn, prefix, 1)
		checkMessage(t, err, "prefix")
	}
	longest := strings.Repeat("9", 40)
	tables, err := CreateTables(t.Context(), dsn, longest)
	if err != nil {
		t.Fatal(err)
	}
	if err := tables.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestCreateLeavesOtherTablesAlone(t *testing.T) {
	f := newFixture(t)
	_, err := CreateTables(t.Context(), f.dsn, f.prefix)
	checkMessage(t, err, "exists already")
	mustRead(t, f.Plain(), 1, 0) // still there

	// A prefix of which only the last table is taken: what was made before
	// it is removed, and it is not.
	if err := f.tables.exec(t.Context(), "CREATE TABLE "+f.prefix+"_tokens (id INT)"); err != nil {
		t.Fatal(err)
	}
	defer f.tables.exec(context.Background(), "DROP TABLE "+f.prefix+"_tokens")
	_, err = CreateTables(t.Context(), f.dsn, f.prefix+"_")
	checkMessage(t, err, "exists already")
	const query = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE ?"
	if n := f.count(t, query, strings.ReplaceAll(f.prefix+"_", "_", `\_`)+"%"); n != 1 {
		t.Errorf("%d tables of the prefix, want the one that was there", n)
	}
}

func TestDropRemovesOnlyItsTables(t *testing.T) {
	f := newFixture(t)
	other, err := CreateTables(t.Context(), f.dsn, f.prefix+"other_") // f's prefix is a prefix of it
	if err != nil {
		t.Fatal(err)
	}
	if err := f.tables.drop(t.Context(), f.tables.all()); err != nil {
		t.Fatal(err)
	}
	if err := other.Seed(t.Context(), 1, 1); err != nil {
		t.Errorf("the other run's tables: %v", err)
	}
	if err := other.Drop(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = Open(t.Context(), f.dsn, f.prefix+"other_", 1)
	checkMessage(t, err, "missing")
}

func TestSeed(t *testing.T) {
	f := newFixture(t)
	const n = seedRows*seedBatch + seedRows + 1 // two transactions, the second of two statements
	if err := f.tables.Seed(t.Context(), 1000, n); err != nil {
		t.Fatal(err)
	}
	where := " FROM " + f.DB.tables.orders + " WHERE id >= 1000 AND paid = 0 AND version = 0 AND fence = 0"
	if got := f.count(t, "SELECT COUNT(*)"+where); got != n {
		t.Errorf("%d orders, want %d", got, n)
	}
	if got := f.count(t, "SELECT MAX(id)"+where); got != 1000+n-1 {
		t.Errorf("the last is %d, want %d", got, 1000+n-1)
	}
	if err := f.tables.Seed(t.Context(), 999, 3); err == nil { // 1000 is there
		t.Error("seeded an order twice")
	}
	if got := f.count(t, "SELECT COUNT(*) FROM "+f.DB.tables.orders+" WHERE id = 999"); got != 0 {
		t.Error("a seeding that failed left orders behind")
	}
	if err := f.tables.Seed(t.Context(), 1, -1); err == nil {
		t.Error("seeded -1 orders")
	}
}

func TestAuditCountsItsRangeOnly(t *testing.T) {
	f := newFixture(t)
	if got := f.audit(t); got != (Audit{}) {
		t.Errorf("audit of nothing: %+v", got)
	}
	for id, times := range []int{0, 1, 2, 3, 1} { // order id is charged times times
		for range times {
			mustCharge(t, f.Plain(), mustRead(t, f.Plain(), max(int64(id), 1), 0), 0, Charged)
		}
	}
	for _, c := range []struct {
		first int64
		n     int
		want  Audit
	}{
		{1, orders, Audit{Orders: 4, Charges: 7, Doubled: 2}},
		{2, 2, Audit{Orders: 2, Charges: 5, Doubled: 2}},
		{4, 1, Audit{Orders: 1, Charges: 1}},
		{5, orders, Audit{}},
		{1, 0, Audit{}},
	} {
		got, err := f.tables.Audit(t.Context(), c.first, c.n)
		if err != nil || got != c.want {
			t.Errorf("Audit(%d, %d) = %+v, %v, want %+v", c.first, c.n, got, err, c.want)
		}
	}
}

// A user who lacks a right is told which before any order is charged.
func TestMissingRightIsNamed(t *testing.T) {
	f := newFixture(t)
	rights := []string{"CREATE", "DROP", "SELECT", "INSERT", "UPDATE"}
	for i, missing := range rights {
		user := fmt.Sprintf("%sno_%s", f.prefix, strings.ToLower(missing))
		granted := append(append([]string{}, rights[:i]...), rights[i+1:]...)
		dsn := f.user(t, user, granted)
		_, err := CreateTables(t.Context(), dsn, f.prefix+"right_")
		checkMessage(t, err, fmt.Sprintf("user %q lacks the right %s", user, missing))
		if Kind(err) != "ledger-denied" {
			t.Errorf("kind %q, want ledger-denied", Kind(err))
		}
	}
	if n := f.count(t, "SELECT COUNT(*) FROM information_schema.tables WHERE table_name LIKE ?", f.prefix+"right_%"); n != 0 {
		t.Errorf("%d tables were left", n)
	}
	tables, err := CreateTables(t.Context(), f.user(t, f.prefix+"enough", rights), f.prefix+"right_")
	if err != nil {
		t.Fatal(err)
	}
	if err := tables.Drop(t.Context()); err != nil {
		t.Error(err)
	}
}

// user makes a user with some rights on the database.
func (f *fixture) user(t *testing.T, name string, rights []string) string {
	t.Helper()
	err := f.tables.exec(t.Context(), "CREATE USER '"+name+"'@'%' IDENTIFIED BY 'secret'")
	if number(err) == 1227 {
		t.Skipf("%v; LOCKCOST_LEDGER can name a server whose user has the right", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.tables.exec(context.Background(), "DROP USER '"+name+"'@'%'") })
	grant := fmt.Sprintf("GRANT %s ON `%s`.* TO '%s'@'%%'", strings.Join(rights, ", "), f.cfg.DBName, name)
	if err := f.tables.exec(t.Context(), grant); err != nil {
		t.Fatal(err)
	}
	return change(t, f.dsn, func(c *mysql.Config) { c.User, c.Passwd = name, "secret" })
}
