package ledger

import (
	"errors"
	"sync"
	"testing"
)

// Two holders whose critical sections overlap both read the order as unpaid.
func TestOverlappingHolders(t *testing.T) {
	for _, c := range []struct {
		dsn  string
		open func(*testing.T, *fixture) *DB
	}{
		{"as refused", func(t *testing.T, f *fixture) *DB { return f.DB }},
		{"clientFoundRows=true", func(t *testing.T, f *fixture) *DB { return f.bypass(t, "clientFoundRows=true") }},
	} {
		t.Run(c.dsn, func(t *testing.T) {
			f := newFixture(t)
			d := c.open(t, f)
			overlap(t, d.Plain(), 1, Charged, Charged)
			overlap(t, d.Token(), 2, Stale, Charged)
			overlap(t, d.UniqueKey(), 3, Charged, Duplicate)
			overlap(t, d.Version(), 4, Charged, Stale)
			overlap(t, d.Combined(), 5, Stale, Charged)
			if got, want := f.audit(t), (Audit{Orders: 5, Charges: 6, Doubled: 1}); got != want {
				t.Errorf("audit %+v, want %+v", got, want)
			}
		})
	}
}

func overlap(t *testing.T, g Guard, order int64, first, second Outcome) {
	t.Helper()
	a := mustRead(t, g, order, 7)
	b := mustRead(t, g, order, 8)
	if a.Paid || b.Paid {
		t.Fatalf("order %d read as paid before any charge", order)
	}
	mustCharge(t, g, a, 7, first)
	mustCharge(t, g, b, 8, second)
}

func TestTokenMustBeStrictlyGreater(t *testing.T) {
	f := newFixture(t)
	g := f.Token()
	held := mustRead(t, g, 1, 7)
	for _, token := range []uint64{1, 6, 7} {
		if _, err := g.Read(t.Context(), 1, token); !errors.Is(err, ErrStale) {
			t.Errorf("Read with token %d after 7: %v, want ErrStale", token, err)
		}
	}
	mustCharge(t, g, held, 7, Charged) // the refused ones changed nothing
	if o := mustRead(t, g, 1, 1<<63+5); !o.Paid {
		t.Error("a greater token reads the order as unpaid after the charge")
	}
	if _, err := g.Read(t.Context(), 1, 1<<63+4); !errors.Is(err, ErrStale) {
		t.Errorf("64-bit tokens: %v, want ErrStale", err)
	}
}

// A counter that went back in a failover hands the same token out again.
func TestEqualTokenOfAnotherGrantCannotCharge(t *testing.T) {
	f := newFixture(t)
	mustRead(t, f.Token(), 1, 3)
	mustCharge(t, f.Token(), Order{ID: 1, holder: newID()}, 3, Stale)
	if got := f.audit(t); got.Charges != 0 {
		t.Errorf("%d charges, want none", got.Charges)
	}
}

func TestTokenZeroIsRefused(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Token().Read(t.Context(), 1, 0); !errors.Is(err, ErrNoToken) {
		t.Errorf("%v, want ErrNoToken", err)
	}
}

func TestUnknownOrder(t *testing.T) {
	f := newFixture(t)
	for name, g := range guards(f.DB) {
		_, err := g.Read(t.Context(), orders+1, 5)
		if !errors.Is(err, ErrUnknownOrder) {
			t.Errorf("%s: Read: %v, want ErrUnknownOrder", name, err)
		}
		checkMessage(t, err, "order 101")
	}
	for _, g := range []Guard{f.Plain(), f.UniqueKey()} {
		if _, err := g.Charge(t.Context(), Order{ID: orders + 1}, 5); !errors.Is(err, ErrUnknownOrder) {
			t.Errorf("Charge: %v, want ErrUnknownOrder", err)
		}
	}
	if n := f.count(t, "SELECT COUNT(*) FROM "+f.DB.tables.markers); n != 0 {
		t.Errorf("%d markers were left of charges that were refused", n)
	}
}

func TestSameOrderAtTheSameTime(t *testing.T) {
	for _, holders := range []int{2, 3} {
		f := newFixture(t)
		g := f.UniqueKey()
		for id := int64(1); id <= orders; id++ {
			counts := atOnce(t, holders, func(int) (Outcome, error) {
				o, err := g.Read(t.Context(), id, 0)
				if err != nil {
					return 0, err
				}
				return g.Charge(t.Context(), o, 0)
			})
			if counts[Charged] != 1 || counts[Duplicate] != holders-1 {
				t.Fatalf("order %d, %d holders: %v, want one charged and the others duplicate", id, holders, counts)
			}
		}
		if got, want := f.audit(t), (Audit{Orders: orders, Charges: orders}); got != want {
			t.Errorf("%d holders: audit %+v, want %+v", holders, got, want)
		}
	}
}

// However two holders' steps interleave, an order is charged once.
func TestOvertakenHolderNeverDoubles(t *testing.T) {
	f := newFixture(t)
	for name, g := range map[string]Guard{"token": f.Token(), "version": f.Version()} {
		first := int64(1)
		if name == "version" {
			first = orders/2 + 1
		}
		for id := first; id < first+orders/2; id++ {
			old := mustRead(t, g, id, 7)
			atOnce(t, 2, func(i int) (Outcome, error) {
				if i == 0 {
					return g.Charge(t.Context(), old, 7)
				}
				o, err := g.Read(t.Context(), id, 8)
				if err != nil || o.Paid {
					return Stale, err
				}
				return g.Charge(t.Context(), o, 8)
			})
		}
	}
	if got, want := f.audit(t), (Audit{Orders: orders, Charges: orders}); got != want {
		t.Errorf("audit %+v, want %+v", got, want)
	}
}

// atOnce runs n holders side by side, and counts what became of them.
func atOnce(t *testing.T, n int, holder func(i int) (Outcome, error)) map[Outcome]int {
	t.Helper()
	outcomes, errs := make([]Outcome, n), make([]error, n)
	var running sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		running.Go(func() {
			<-start
			outcomes[i], errs[i] = holder(i)
		})
	}
	close(start)
	running.Wait()
	counts := make(map[Outcome]int)
	for i := range n {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		counts[outcomes[i]]++
	}
	return counts
}
