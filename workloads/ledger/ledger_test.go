package ledger

import (
	"context"
	"fmt"
	"testing"
)

// fixture is seeded tables on a real server, and a session on them.
type fixture struct {
	*DB
	dsn, prefix string
	tables      *Tables
}

// orders are how many orders a fixture has; their ids begin at 1.
const orders = 100

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOf(t, 8)
}

func newFixtureOf(t *testing.T, size int) *fixture {
	t.Helper()
	f := &fixture{dsn: startLedger(t), prefix: fmt.Sprintf("t%016x_", newID())}
	var err error
	if f.tables, err = CreateTables(t.Context(), f.dsn, f.prefix); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.tables.Drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := f.tables.Seed(t.Context(), 1, orders); err != nil {
		t.Fatal(err)
	}
	f.DB = f.open(t, f.dsn, size)
	return f
}

// open opens a session of its own on the fixture's tables.
func (f *fixture) open(t *testing.T, dsn string, size int) *DB {
	t.Helper()
	d, err := Open(t.Context(), dsn, f.prefix, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	if err := d.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

func (f *fixture) audit(t *testing.T) Audit {
	t.Helper()
	a, err := f.tables.Audit(t.Context(), 1, orders)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// count runs a query that returns one number.
func (f *fixture) count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	if err := f.tables.pool.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func mustRead(t *testing.T, g Guard, order int64, token uint64) Order {
	t.Helper()
	o, err := g.Read(t.Context(), order, token)
	if err != nil {
		t.Fatalf("Read(%d, %d): %v", order, token, err)
	}
	return o
}

func mustCharge(t *testing.T, g Guard, o Order, token uint64, want Outcome) {
	t.Helper()
	got, err := g.Charge(t.Context(), o, token)
	if err != nil {
		t.Fatalf("Charge(%d, %d): %v", o.ID, token, err)
	}
	if got != want {
		t.Fatalf("Charge(%d, %d) = %v, want %v", o.ID, token, got, want)
	}
}

// guards are a session's guards by name.
func guards(d *DB) map[string]Guard {
	return map[string]Guard{
		"none": d.Plain(), "token": d.Token(), "unique key": d.UniqueKey(), "version": d.Version(), "combined": d.Combined(),
	}
}

func TestJobChargesOnce(t *testing.T) {
	f := newFixture(t)
	id := int64(0)
	for name, g := range guards(f.DB) {
		id++
		token, err := f.Mint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o := mustRead(t, g, id, token)
		if o.ID != id || o.Paid || o.Version != 0 {
			t.Errorf("%s: read %+v, want an unpaid order %d of version 0", name, o, id)
		}
		mustCharge(t, g, o, token, Charged)
		if o = mustRead(t, g, id, token+1000); !o.Paid || o.Version != 1 {
			t.Errorf("%s: read %+v after the charge, want a paid order of version 1", name, o)
		}
		if got := f.count(t, "SELECT token FROM "+f.DB.tables.charges+" WHERE order_id = ?", id); got != int(token) {
			t.Errorf("%s: charged with token %d, want %d", name, got, token)
		}
	}
	if got, want := f.audit(t), (Audit{Orders: id, Charges: id}); got != want {
		t.Errorf("audit %+v, want %+v", got, want)
	}
}

// bypass opens a session with an option that Config would refuse.
func (f *fixture) bypass(t *testing.T, option string) *DB {
	t.Helper()
	cfg, err := parse(f.dsn + "?" + option)
	if err != nil {
		t.Fatal(err)
	}
	d, err := open(t.Context(), cfg, f.prefix, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}
