package ledger

import (
	"errors"
	"testing"
)

// A holder that has been overtaken is stale until its successor has charged,
// and a repeat after that.
func TestCombinedRefusesTheOvertaken(t *testing.T) {
	f := newFixture(t)
	g := f.Combined()
	old := mustRead(t, g, 1, 7)
	successor := mustRead(t, g, 1, 8)
	mustCharge(t, g, old, 7, Stale)
	if n := f.count(t, "SELECT COUNT(*) FROM "+f.DB.tables.markers); n != 0 {
		t.Errorf("%d markers were left of a charge that was refused", n)
	}
	mustCharge(t, g, successor, 8, Charged)
	mustCharge(t, g, old, 7, Duplicate)
	for _, token := range []uint64{7, 8} {
		if _, err := g.Read(t.Context(), 1, token); !errors.Is(err, ErrStale) {
			t.Errorf("Read with token %d after 8: %v, want ErrStale", token, err)
		}
	}
	if got, want := f.audit(t), (Audit{Orders: 1, Charges: 1}); got != want {
		t.Errorf("audit %+v, want %+v", got, want)
	}
}

// The unique key refuses what the fence lets through: a newer holder that
// does not look whether the order is paid.
func TestCombinedRefusesARepeatUnderANewerToken(t *testing.T) {
	f := newFixture(t)
	g := f.Combined()
	mustCharge(t, g, mustRead(t, g, 1, 7), 7, Charged)
	mustCharge(t, g, mustRead(t, g, 1, 8), 8, Duplicate)
	mustCharge(t, f.Token(), mustRead(t, f.Token(), 2, 7), 7, Charged)
	mustCharge(t, f.Token(), mustRead(t, f.Token(), 2, 8), 8, Charged) // known: the fence alone does not
	if got, want := f.audit(t), (Audit{Orders: 2, Charges: 3, Doubled: 1}); got != want {
		t.Errorf("audit %+v, want %+v", got, want)
	}
}

func TestCombinedNeedsAToken(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Combined().Read(t.Context(), 1, 0); !errors.Is(err, ErrNoToken) {
		t.Errorf("%v, want ErrNoToken", err)
	}
	held := mustRead(t, f.Combined(), 1, 3)
	mustCharge(t, f.Combined(), Order{ID: 1, holder: newID()}, 3, Stale) // an equal token of another grant
	mustCharge(t, f.Combined(), held, 3, Charged)
}

// However two holders' steps interleave, an order is charged once.
func TestCombinedAtTheSameTime(t *testing.T) {
	f := newFixture(t)
	g := f.Combined()
	for id := int64(1); id <= orders; id++ {
		counts := atOnce(t, 2, func(i int) (Outcome, error) {
			o, err := g.Read(t.Context(), id, uint64(7+i))
			switch {
			case errors.Is(err, ErrStale):
				return Stale, nil
			case err != nil:
				return 0, err
			}
			return g.Charge(t.Context(), o, uint64(7+i))
		})
		if counts[Charged] != 1 {
			t.Fatalf("order %d: %v, want one charged", id, counts)
		}
	}
	if got, want := f.audit(t), (Audit{Orders: orders, Charges: orders}); got != want {
		t.Errorf("audit %+v, want %+v", got, want)
	}
}
