package history

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestOverlaps(t *testing.T) {
	failedRelease := func(o *Op) { o.Release.Result = "redis-timeout" }
	tests := []struct {
		name             string
		ops              []Op
		double, outlived int64
	}{
		{"no operations", nil, 0, 0},
		{"one after the other", []Op{grant(1, 0, 10, 100, 50), grant(1, 60, 70, 100, 90)}, 0, 0},
		{"granted within the other's hold", []Op{grant(1, 0, 10, 100, 50), grant(1, 20, 30, 100, 40)}, 1, 0},
		{"recorded in the other order", []Op{grant(1, 20, 30, 100, 40), grant(1, 0, 10, 100, 50)}, 1, 0},
		{"of different orders", []Op{grant(1, 0, 10, 100, 50), grant(2, 20, 30, 100, 40)}, 0, 0},
		{"refused within the other's hold", []Op{grant(1, 0, 10, 100, 50), attempt(1, 20, 30, Held)}, 0, 0},
		{"unreplicated within the other's hold", []Op{grant(1, 0, 10, 100, 50), attempt(1, 20, 30, Unreplicated)}, 0, 0},
		{"failed within the other's hold", []Op{grant(1, 0, 10, 100, 50), attempt(1, 20, 30, "redis-timeout")}, 0, 0},

		{"release invoked just before the other's return", []Op{grant(1, 0, 10, 100, 29), grant(1, 20, 30, 100, 40)}, 0, 0},
		{"release invoked at the other's return", []Op{grant(1, 0, 10, 100, 30), grant(1, 20, 30, 100, 40)}, 0, 0},
		{"release invoked just after the other's return", []Op{grant(1, 0, 10, 100, 31), grant(1, 20, 30, 100, 40)}, 1, 0},
		{"release failed, invoked before", []Op{with(grant(1, 0, 10, 100, 25), failedRelease), grant(1, 20, 30, 100, 40)}, 0, 0},
		{"release failed, invoked after", []Op{with(grant(1, 0, 10, 100, 35), failedRelease), grant(1, 20, 30, 100, 40)}, 1, 0},
		{"no release recorded, within the lease", []Op{grant(1, 0, 10, 100, never), grant(1, 20, 30, 100, 40)}, 1, 0},
		{"no release recorded, after the lease", []Op{grant(1, 0, 10, 100, never), grant(1, 90, 110, 100, 140)}, 0, 0},

		{"just within the lease", []Op{grant(1, 0, 10, 100, 500), grant(1, 20, 99, 100, 120)}, 1, 0},
		{"when the lease can have ended", []Op{grant(1, 0, 10, 100, 500), grant(1, 20, 100, 100, 120)}, 0, 1},
		{"past the lease, at work until a step returned", []Op{
			with(grant(1, 0, 10, 100, never), func(o *Op) { o.Read, o.Charge = step(11, 12, Unpaid), step(13, 131, Charged) }),
			grant(1, 110, 130, 100, 140)}, 0, 1},
		{"past the lease, at work reading", []Op{
			with(grant(1, 0, 10, 100, never), func(o *Op) { o.Read = step(11, 131, "connection") }),
			grant(1, 110, 130, 100, 140)}, 0, 1},
		{"past the lease, its last step before", []Op{
			with(grant(1, 0, 10, 100, never), func(o *Op) { o.Read = step(11, 130, "connection") }),
			grant(1, 110, 130, 100, 140)}, 0, 0},
		{"a lock without a lease that is promised", []Op{grant(1, 0, 10, 0, 50), grant(1, 20, 30, 0, 40)}, 0, 1},
		{"a lease without end", []Op{grant(1, 5, 10, math.MaxInt64, never), grant(1, 1000, 2000, 100, 3000)}, 1, 0},

		// The first to be granted is the last to return: its lease, to 100,
		// was over before the other, of 112, was asked for.
		{"a reply later than its lease", []Op{grant(1, 0, 120, 100, 130), grant(1, 112, 115, 100, 150)}, 0, 1},
		{"both under way at once", []Op{grant(1, 0, 30, 100, 50), grant(1, 10, 20, 100, 60)}, 1, 0},
		{"returned at the same moment", []Op{grant(1, 0, 30, 100, 50), grant(1, 10, 30, 100, 60)}, 1, 0},
		{"returned at the same moment, one released at once", []Op{grant(1, 0, 30, 100, 30), grant(1, 10, 30, 100, 60)}, 0, 0},

		{"three within one hold", []Op{
			grant(1, 0, 10, 100, 90), grant(1, 20, 30, 100, 80), grant(1, 40, 50, 100, 70)}, 2, 0},
		{"the third meets only the first", []Op{
			grant(1, 0, 10, 100, 90), grant(1, 20, 30, 100, 35), grant(1, 40, 50, 100, 70)}, 2, 0},
		{"the third meets nobody", []Op{
			grant(1, 0, 10, 100, 38), grant(1, 20, 30, 100, 35), grant(1, 40, 50, 100, 70)}, 1, 0},
		{"double with one, past the lease of another", []Op{
			grant(1, 0, 10, 50, 500), grant(1, 60, 70, 100, 500), grant(1, 80, 90, 100, 500)}, 1, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := Overlap{DoubleGrants: test.double, OutlivedLeases: test.outlived}
			if got := Overlaps(test.ops); got != want {
				t.Errorf("found %+v, want %+v", got, want)
			}
		})
	}
}

// TestDoubleGrantMeansNoOtherExplanation tries, for pairs of grants with
// small times, every moment at which a server can have made them. Overlaps is
// to accuse exactly where none fits.
func TestDoubleGrantMeansNoOtherExplanation(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const most = 8
	pairGrant := func() Op {
		invoked := random.Int64N(most)
		returned := invoked + random.Int64N(most)
		release := returned + random.Int64N(most)
		if random.IntN(5) == 0 {
			release = never
		}
		return grant(1, invoked, returned, 1+random.Int64N(most), release)
	}
	var accused int
	const pairs = 50_000
	for range pairs {
		g, h := pairGrant(), pairGrant()
		got := Overlaps([]Op{g, h}).DoubleGrants == 1
		if want := !explained(g, h) && !explained(h, g); got != want {
			t.Fatalf("accused: %v, want %v\n%s\n%s", got, want, show(g), show(h))
		}
		if got {
			accused++
		}
	}
	if accused < pairs/20 || accused > pairs*19/20 {
		t.Errorf("%d of %d pairs accused: the cases are one-sided", accused, pairs)
	}
}

// explained tells whether a server can have granted g and then, when g's lock
// was gone, h.
func explained(g, h Op) bool {
	for wrote := g.Acquire.InvokedNS; wrote <= g.Acquire.ReturnedNS; wrote++ {
		gone := wrote + g.TTLNS
		if g.Release != nil {
			gone = min(gone, g.Release.InvokedNS) // reached the server at once
		}
		for next := h.Acquire.InvokedNS; next <= h.Acquire.ReturnedNS; next++ {
			if next >= wrote && next >= gone {
				return true
			}
		}
	}
	return false
}

func TestOverlapsAgreesWithAllPairs(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var ops []Op
		for range random.IntN(12) {
			invoked := random.Int64N(60)
			returned := invoked + random.Int64N(20)
			release := returned + random.Int64N(30)
			if random.IntN(4) == 0 {
				release = never
			}
			ops = append(ops, grant(random.Int64N(2), invoked, returned, 1+random.Int64N(30), release))
		}
		if got, want := Overlaps(ops), allPairs(ops); got != want {
			t.Fatalf("found %+v, all pairs give %+v, of\n%s", got, want, showAll(ops))
		}
	}
}

// allPairs is Overlaps as its comment defines it, pair by pair.
func allPairs(ops []Op) Overlap {
	var found Overlap
	sorted := sortedByReturn(ops)
	for i := range sorted {
		var double, together bool
		for j := range i {
			g, h := &sorted[j], &sorted[i]
			if g.Order != h.Order {
				continue
			}
			double = double || h.Acquire.ReturnedNS < g.surelyHeldUntil() && g.Acquire.ReturnedNS < h.surelyHeldUntil()
			together = together || h.Acquire.ReturnedNS < g.atWorkUntil() && g.Acquire.ReturnedNS < h.atWorkUntil()
		}
		switch {
		case double:
			found.DoubleGrants++
		case together:
			found.OutlivedLeases++
		}
	}
	return found
}

// TestManyGrantsOfOneOrder would not end if every pair were looked at.
func TestManyGrantsOfOneOrder(t *testing.T) {
	const n = 200_000
	ops := nested(n)
	if got, want := Overlaps(ops), (Overlap{DoubleGrants: n - 1}); got != want {
		t.Errorf("found %+v, want %+v", got, want)
	}
	for i := range ops {
		ops[i].Read = step(ops[i].Acquire.ReturnedNS, ops[i].Acquire.ReturnedNS+1, Stale)
	}
	if got := RightfulRefused(ops); got != n {
		t.Errorf("%d rightful holders refused, want %d", got, n)
	}
}

// nested is n grants of one order of which each was made in the holds of all
// before it.
func nested(n int64) []Op {
	ops := make([]Op, 0, n)
	for i := range n {
		ops = append(ops, grant(1, 10*i, 10*i+5, 100*n, 50*n-i))
	}
	return ops
}
