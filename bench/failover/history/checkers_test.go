package history

import (
	"maps"
	"math/rand/v2"
	"testing"
)

func TestRepeatedTokens(t *testing.T) {
	token := func(o Op, token uint64) Op {
		o.Token = token
		return o
	}
	tests := []struct {
		name string
		ops  []Op
		want int64
	}{
		{"none", nil, 0},
		{"all different", []Op{token(grant(1, 0, 1, 9, 5), 1), token(grant(1, 10, 11, 9, 15), 2)}, 0},
		{"none minted", []Op{grant(1, 0, 1, 9, 5), grant(1, 10, 11, 9, 15)}, 0},
		{"the same order", []Op{token(grant(1, 0, 1, 9, 5), 3), token(grant(1, 10, 11, 9, 15), 3)}, 1},
		{"equal on different orders", []Op{token(grant(1, 0, 1, 9, 5), 3), token(grant(2, 10, 11, 9, 15), 3)}, 1},
		{"three times", []Op{token(grant(1, 0, 1, 9, 5), 3), token(grant(2, 3, 4, 9, 5), 3), token(grant(3, 6, 7, 9, 8), 3)}, 2},
		{"two pairs", []Op{token(grant(1, 0, 1, 9, 5), 3), token(grant(2, 3, 4, 9, 5), 4),
			token(grant(3, 6, 7, 9, 8), 3), token(grant(4, 6, 7, 9, 8), 4)}, 2},
		{"one was no grant", []Op{token(grant(1, 0, 1, 9, 5), 3), token(attempt(1, 10, 11, Unreplicated), 3)}, 0},
	}
	for _, test := range tests {
		if got := RepeatedTokens(test.ops); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestRightfulRefused(t *testing.T) {
	// Its lease lasts from 100 to 300; it was refused from 120 to 130.
	refused := with(grant(1, 100, 110, 200, 140), func(o *Op) { o.Read = step(120, 130, Stale) })
	charging := with(refused, func(o *Op) { o.Read, o.Charge = step(112, 115, Unpaid), step(120, 130, Stale) })
	tests := []struct {
		name string
		ops  []Op
		want int64
	}{
		{"none", nil, 0},
		{"not refused", []Op{grant(1, 100, 110, 200, 140)}, 0},
		{"the only holder, reading", []Op{refused}, 1},
		{"the only holder, charging", []Op{charging}, 1},
		{"a repeat is no refusal", []Op{with(charging, func(o *Op) { o.Charge = step(120, 130, Duplicate) })}, 0},
		{"a holder before it", []Op{grant(1, 0, 99, 200, never), refused}, 1},
		{"a holder before it, recorded after it", []Op{refused, grant(1, 0, 99, 200, never)}, 1},
		{"another, returned when it was asked for", []Op{grant(1, 0, 100, 200, never), refused}, 0},
		{"another, asked for before, returned within", []Op{grant(1, 0, 105, 200, never), refused}, 0},
		{"another, after it", []Op{refused, grant(1, 111, 119, 200, never)}, 0},
		{"another, that returned after the refusal", []Op{refused, grant(1, 120, 400, 200, never)}, 0},
		{"another, asked for when the refusal returned", []Op{refused, grant(1, 130, 140, 200, never)}, 0},
		{"another, asked for after the refusal", []Op{refused, grant(1, 131, 140, 200, never)}, 1},
		{"one before and one after", []Op{grant(1, 0, 50, 200, never), refused, grant(1, 111, 119, 200, never)}, 0},
		{"one before and one much later", []Op{grant(1, 0, 50, 200, never), refused, grant(1, 150, 160, 200, never)}, 1},
		{"another's grant of another order", []Op{refused, grant(2, 111, 119, 200, never)}, 1},
		{"another that was not granted", []Op{refused, attempt(1, 111, 119, Held)}, 1},
		{"just within its lease", []Op{with(refused, func(o *Op) { o.TTLNS = 31 })}, 1},
		{"when its lease can have ended", []Op{with(refused, func(o *Op) { o.TTLNS = 30 })}, 0},
		{"both of two, one after the other", []Op{refused,
			with(grant(1, 200, 210, 200, 240), func(o *Op) { o.Read = step(220, 230, Stale) })}, 2},
	}
	for _, test := range tests {
		if got := RightfulRefused(test.ops); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestRightfulRefusedAgreesWithAllPairs(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var refused int64
	for range 2000 {
		var ops []Op
		for range random.IntN(8) {
			invoked := random.Int64N(60)
			returned := invoked + random.Int64N(30)
			o := grant(random.Int64N(2), invoked, returned, 1+random.Int64N(60), never)
			if random.IntN(2) == 0 {
				o.Read = step(returned, returned+random.Int64N(10), Stale)
			}
			ops = append(ops, o)
		}
		got, want := RightfulRefused(ops), int64(0)
		for i := range ops {
			if surelyLatest(ops, i) {
				want++
			}
		}
		if got != want {
			t.Fatalf("%d refused, all pairs give %d, of\n%s", got, want, showAll(ops))
		}
		refused += got
	}
	if refused == 0 {
		t.Error("no history has a rightful holder that was refused")
	}
}

// surelyLatest tells whether grant i was refused within its lease and no
// other grant of its order can have come between it and the refusal.
func surelyLatest(ops []Op, i int) bool {
	g := ops[i]
	if g.Read == nil || g.Read.ReturnedNS >= g.Acquire.InvokedNS+g.TTLNS {
		return false
	}
	for j, h := range ops {
		if j != i && h.Order == g.Order && h.Acquire.ReturnedNS >= g.Acquire.InvokedNS && h.Acquire.InvokedNS <= g.Read.ReturnedNS {
			return false
		}
	}
	return true
}

func TestCharges(t *testing.T) {
	charge := func(order int64, result string) Op {
		return with(grant(order, 0, 1, 9, 8), func(o *Op) { o.Charge = step(2, 3, result) })
	}
	type ledger = map[int64]int64
	tests := []struct {
		name         string
		ops          []Op
		charges      ledger
		lost, double int64
	}{
		{"nothing", nil, nil, 0, 0},
		{"as reported", []Op{charge(1, Charged), charge(2, Charged)}, ledger{1: 1, 2: 1}, 0, 0},
		{"one missing", []Op{charge(1, Charged), charge(2, Charged)}, ledger{1: 1}, 1, 0},
		{"all missing", []Op{charge(1, Charged), charge(2, Charged)}, nil, 2, 0},
		{"twice, as reported", []Op{charge(1, Charged), charge(1, Charged)}, ledger{1: 2}, 0, 1},
		{"reported twice, there once", []Op{charge(1, Charged), charge(1, Charged)}, ledger{1: 1}, 1, 0},
		{"too many of one do not make up for another", []Op{charge(1, Charged), charge(2, Charged)}, ledger{1: 2}, 1, 1},
		{"failed, but there", []Op{charge(1, "connection")}, ledger{1: 1}, 0, 0},
		{"failed, and not there", []Op{charge(1, "connection")}, nil, 0, 0},
		{"refused", []Op{charge(1, Stale), charge(2, Duplicate)}, nil, 0, 0},
		{"twice, though one failed", []Op{charge(1, Charged), charge(1, "connection")}, ledger{1: 2}, 0, 1},
		{"three times is one order", nil, ledger{1: 3, 2: 1}, 0, 1},
	}
	for _, test := range tests {
		if got := LostCharges(test.ops, test.charges); got != test.lost {
			t.Errorf("%s: %d charges lost, want %d", test.name, got, test.lost)
		}
		if got := DoubleCharges(test.charges); got != test.double {
			t.Errorf("%s: %d orders charged twice, want %d", test.name, got, test.double)
		}
	}
}

func TestErrorsAndOutcomes(t *testing.T) {
	ops := []Op{
		grant(1, 0, 1, 9, 8), attempt(1, 2, 3, Held), attempt(1, 2, 3, Held), attempt(1, 2, 3, Unreplicated),
		attempt(1, 2, 3, "redis-timeout"), attempt(1, 2, 3, "redis-timeout"), attempt(1, 2, 3, ""),
		with(grant(2, 0, 1, 9, 8), func(o *Op) { o.Read = step(2, 3, "redis-timeout") }),
		with(grant(3, 0, 1, 9, 8), func(o *Op) {
			o.Read, o.Charge = step(2, 3, Unpaid), step(4, 5, "connection")
			o.Release.Result = "redis-connection"
		}),
		with(grant(4, 0, 1, 9, 8), func(o *Op) { o.Read = step(2, 3, Paid); o.Release.Result = Lost }),
		with(grant(5, 0, 1, 9, 8), func(o *Op) { o.Read = step(2, 3, Stale) }),
		with(grant(6, 0, 1, 9, 8), func(o *Op) { o.Charge = step(2, 3, Stale) }),
		with(grant(7, 0, 1, 9, 8), func(o *Op) { o.Charge = step(2, 3, Duplicate) }),
		with(grant(8, 0, 1, 9, 8), func(o *Op) { o.Charge = step(2, 3, Held) }), // no answer of a charge
	}
	want := map[string]int64{
		"redis-timeout": 2, "other": 1, "read: redis-timeout": 1,
		"charge: connection": 1, "release: redis-connection": 1, "charge: held": 1,
	}
	if got := Errors(ops); !maps.Equal(got, want) {
		t.Errorf("errors %v, want %v", got, want)
	}
	if got, want := CountOutcomes(ops), (Outcomes{Granted: 8, Held: 2, Unreplicated: 1}); got != want {
		t.Errorf("outcomes %+v, want %+v", got, want)
	}
	if got := Errors(nil); got == nil || len(got) != 0 {
		t.Errorf("errors of nothing: %#v, want an empty map", got)
	}
}

func TestLongestWithoutGrant(t *testing.T) {
	at := func(returns ...int64) []Op {
		var ops []Op
		for _, returned := range returns {
			ops = append(ops, grant(1, returned-1, returned, 9, never))
		}
		return ops
	}
	tests := []struct {
		name       string
		ops        []Op
		fault, end int64
		want       int64
		ok         bool
	}{
		{"the fault in it", at(10, 90, 100, 400, 420), 150, 450, 300, true},
		{"begins after the fault", at(140, 160, 700, 720), 150, 750, 540, true},
		{"a longer one before the fault does not count", at(10, 900, 910, 1000), 905, 1010, 90, true},
		{"to the end", at(100, 160), 150, 1000, 840, true},
		{"in any order of recording", at(420, 10, 400, 100, 90), 150, 450, 300, true},
		{"none before the fault", at(400), 150, 450, 250, true},
		{"at the fault", at(150, 400), 150, 450, 250, true},
		{"the one that ends at the fault is before it", at(10, 150, 200), 150, 210, 50, true},
		{"none at all, though asked for", []Op{attempt(1, 200, 210, "redis-connection")}, 150, 450, 300, true},
		{"refusals are no grants", append(at(100, 400), attempt(1, 200, 210, Held)), 150, 450, 300, true},
		{"returned after the end", at(100, 500), 150, 450, 350, true},
		{"no fault", at(100, 400), -1, 450, 0, false},
		{"fault at the end", at(100, 400), 450, 450, 0, false},
		{"nobody asked after the fault", at(10, 100), 150, 450, 0, false},
		{"nothing", nil, 150, 450, 0, false},
	}
	for _, test := range tests {
		got, ok := LongestWithoutGrant(test.ops, test.fault, test.end)
		if got != test.want || ok != test.ok {
			t.Errorf("%s: %d, %v, want %d, %v", test.name, got, ok, test.want, test.ok)
		}
	}
}

func TestFirstGrant(t *testing.T) {
	second := func(o *Op) { o.Client = "second" }
	ops := []Op{
		grant(1, 300, 390, 9, never), grant(2, 310, 350, 9, never), grant(3, 200, 205, 9, never),
		with(grant(4, 250, 251, 9, never), second), attempt(5, 210, 211, Held), grant(6, 190, 320, 9, never),
	}
	tests := []struct {
		client string
		after  int64
		want   int64
		ok     bool
	}{
		{"first", 0, 205, true},
		{"first", 200, 350, true}, // not the one invoked at 200, nor the one under way
		{"first", 199, 205, true},
		{"second", 0, 251, true},
		{"second", 250, 0, false},
		{"", 205, 251, true},
		{"third", 0, 0, false},
	}
	for _, test := range tests {
		got, ok := FirstGrant(ops, test.client, test.after)
		if got != test.want || ok != test.ok {
			t.Errorf("first grant of %q after %d: %d, %v, want %d, %v", test.client, test.after, got, ok, test.want, test.ok)
		}
	}
}
