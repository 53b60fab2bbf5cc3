package history

import "testing"

// A holder that is told that its lock is lost is at work no longer, unless a
// step of its job was under way: then until that returned.
func TestAHolderThatIsToldIsNoLongerAtWork(t *testing.T) {
	op := func(charge *Step, noticed int64) Op {
		return Op{
			Client: "first", Order: 1, TTLNS: 10, NoticedNS: noticed,
			Acquire: Step{InvokedNS: 0, ReturnedNS: 1, Result: Granted},
			Read:    &Step{InvokedNS: 2, ReturnedNS: 3, Result: Unpaid}, Charge: charge,
			Release: &Step{InvokedNS: 50, ReturnedNS: 51, Result: Lost},
		}
	}
	second := Op{
		Client: "second", Order: 1, TTLNS: 10,
		Acquire: Step{InvokedNS: 20, ReturnedNS: 21, Result: Granted},
		Release: &Step{InvokedNS: 30, ReturnedNS: 31, Result: Released},
	}
	for name, c := range map[string]struct {
		first    Op
		outlived int64
	}{
		"never told":                       {op(nil, 0), 1},
		"told before":                      {op(nil, 9), 0},
		"told before, and gave up":         {op(&Step{InvokedNS: 40, ReturnedNS: 40, Result: Lost}, 9), 0},
		"told before, with a charge sent":  {op(&Step{InvokedNS: 8, ReturnedNS: 25, Result: Charged}, 9), 1},
		"told after the second was let in": {op(nil, 25), 1},
	} {
		got := Overlaps([]Op{c.first, second})
		if got.DoubleGrants != 0 || got.OutlivedLeases != c.outlived {
			t.Errorf("%s: %+v, want %d outlived", name, got, c.outlived)
		}
	}
	gaveUp := op(&Step{InvokedNS: 40, ReturnedNS: 40, Result: Lost}, 9)
	if kinds := Errors([]Op{gaveUp}); len(kinds) != 0 {
		t.Errorf("a charge that was given up is no failure: %v", kinds)
	}
}
