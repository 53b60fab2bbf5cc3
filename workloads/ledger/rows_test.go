package ledger

import "testing"

// Every charge's transaction inserts its rows, whatever the guard, and none
// that is refused or undone leaves any.
func TestRowsAreThereForEveryChargeAndForNothingElse(t *testing.T) {
	f := newFixture(t)
	f.SetRows(7)
	rows := func() (n int) {
		t.Helper()
		if err := f.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+f.tables.items).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i, g := range []Guard{f.Plain(), f.Token(), f.UniqueKey(), f.Version(), f.Combined()} {
		mustCharge(t, g, mustRead(t, g, int64(i+1), 7), 7, Charged)
		if n := rows(); n != 7*(i+1) {
			t.Errorf("after charge %d there are %d rows", i+1, n)
		}
	}
	before := rows()
	overlap(t, f.Token(), 6, Stale, Charged)
	overlap(t, f.UniqueKey(), 7, Charged, Duplicate)
	overlap(t, f.Version(), 8, Charged, Stale)
	if n := rows(); n != before+3*7 {
		t.Errorf("three charges, of which each had one refused beside it, left %d rows", n-before)
	}
	var length int
	if err := f.pool.QueryRowContext(t.Context(), "SELECT MIN(CHAR_LENGTH(text)) FROM "+f.tables.items).Scan(&length); err != nil || length != 100 {
		t.Errorf("a row has %d characters: %v", length, err)
	}
}
