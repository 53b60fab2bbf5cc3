package history

import (
	"container/heap"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// world is a lock service, a ledger that fences by tokens, and their clients.
// A server does what it is asked at a random moment between the invocation
// and the return, both included; times are so small that many are equal.
type world struct {
	random *rand.Rand
	now    int64
	events events
	locks  map[int64]lockState // by order
	minted uint64
	fences map[int64]uint64 // by order
	ops    []*Op
}

type lockState struct {
	owner *Op
	until int64
}

// event is what happens at a server.
type event struct {
	at  int64
	tie int // a random order among those of the same moment
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].tie < e[j].tie
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (w *world) at(moment int64, do func()) {
	heap.Push(&w.events, event{moment, w.random.Int(), do})
}

// simulate returns what the clients of a service recorded. One that forgets
// loses its locks and sets its counter back at that moment, as a replica does
// that is promoted without having them; below 0 it never forgets.
func simulate(random *rand.Rand, forgetsAt int64) []Op {
	w := &world{random: random, locks: map[int64]lockState{}, fences: map[int64]uint64{}}
	for range 4 + random.IntN(20) {
		w.ask(random.Int64N(3), random.Int64N(120))
	}
	if forgetsAt >= 0 {
		w.at(forgetsAt, func() {
			clear(w.locks)
			w.minted -= min(w.minted, 2)
		})
	}
	for len(w.events) > 0 {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
	}
	ops := make([]Op, len(w.ops))
	for i, o := range w.ops {
		ops[i] = *o
	}
	return ops
}

// call makes a step that is invoked at a moment, which the server does at a
// random later one, and which returns at a random one after that. done is
// told when it returned.
func (w *world) call(invoked int64, do func() string, done func(s Step)) {
	w.at(invoked+w.delay(), func() {
		result := do()
		done(Step{invoked, w.now + w.delay(), result})
	})
}

// delay is mostly short, and at times longer than any lease.
func (w *world) delay() int64 {
	if w.random.IntN(12) == 0 {
		return w.random.Int64N(60)
	}
	return w.random.Int64N(6)
}

func (w *world) ask(order, invoked int64) {
	o := &Op{Client: "first", Order: order, TTLNS: 5 + w.random.Int64N(35)}
	w.ops = append(w.ops, o)
	replyLost := w.random.IntN(10) == 0
	acquire := func() string {
		if lock, ok := w.locks[order]; ok && w.now < lock.until {
			return Held
		}
		w.locks[order] = lockState{o, w.now + o.TTLNS}
		w.minted++
		o.Token = w.minted
		return Granted
	}
	w.call(invoked, acquire, func(s Step) {
		if replyLost {
			s.Result, o.Token = "redis-timeout", 0
		}
		o.Acquire = s
		if s.Result == Granted {
			w.read(o)
		}
	})
}

func (w *world) read(o *Op) {
	read := func() string {
		if o.Token <= w.fences[o.Order] {
			return Stale
		}
		w.fences[o.Order] = o.Token
		return Unpaid
	}
	w.call(o.Acquire.ReturnedNS+w.delay(), read, func(s Step) {
		o.Read = &s
		if s.Result == Stale {
			w.release(o, s.ReturnedNS)
			return
		}
		w.charge(o)
	})
}

func (w *world) charge(o *Op) {
	charge := func() string {
		if w.fences[o.Order] != o.Token {
			return Stale
		}
		return Charged
	}
	w.call(o.Read.ReturnedNS+w.delay(), charge, func(s Step) {
		o.Charge = &s
		w.release(o, s.ReturnedNS)
	})
}

// release may never be invoked, reach the server after its client gave up, or
// not at all.
func (w *world) release(o *Op, after int64) {
	invoked := after + w.delay()
	release := func() string {
		if w.locks[o.Order].owner != o {
			return Lost
		}
		delete(w.locks, o.Order)
		return Released
	}
	switch w.random.IntN(10) {
	case 0:
	case 1:
		o.Release = step(invoked, invoked+w.delay(), "redis-timeout")
	case 2:
		o.Release = step(invoked, invoked+w.delay(), "redis-timeout")
		w.at(invoked+w.random.Int64N(100), func() { release() })
	default:
		w.call(invoked, release, func(s Step) { o.Release = &s })
	}
}

const simulations = 5000

func TestAServiceThatKeepsItsWordIsNeverAccused(t *testing.T) {
	var outlived, refused int64
	for seed := range uint64(simulations) {
		ops := simulate(rand.New(rand.NewPCG(seed, 1)), -1)
		overlaps := Overlaps(ops)
		if overlaps.DoubleGrants != 0 || RepeatedTokens(ops) != 0 || RightfulRefused(ops) != 0 {
			t.Fatalf("seed %d: double grants %d, repeated tokens %d, rightful holders refused %d, of\n%s",
				seed, overlaps.DoubleGrants, RepeatedTokens(ops), RightfulRefused(ops), showAll(ops))
		}
		outlived += overlaps.OutlivedLeases
		for i := range ops {
			if ops[i].refusal() != nil {
				refused++
			}
		}
	}
	if outlived == 0 || refused == 0 {
		t.Errorf("%d leases outlived, %d holders refused in all: the simulation does not try the checkers", outlived, refused)
	}
}

func TestAServiceThatForgetsIsCaught(t *testing.T) {
	var double, repeated, refused int
	for seed := range uint64(simulations) {
		ops := simulate(rand.New(rand.NewPCG(seed, 1)), 40)
		if Overlaps(ops).DoubleGrants > 0 {
			double++
		}
		if RepeatedTokens(ops) > 0 {
			repeated++
		}
		if RightfulRefused(ops) > 0 {
			refused++
		}
	}
	t.Logf("of %d: %d with double grants, %d with repeated tokens, %d with rightful holders refused", simulations, double, repeated, refused)
	if double < simulations/20 || repeated < simulations/20 || refused < simulations/100 {
		t.Errorf("of %d, only %d with double grants, %d with repeated tokens, %d with rightful holders refused",
			simulations, double, repeated, refused)
	}
}

// show is an operation as a line of JSON.
func show(o Op) string {
	text, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func showAll(ops []Op) string {
	var lines []string
	for _, o := range sortedByReturn(ops) {
		lines = append(lines, show(o))
	}
	return strings.Join(lines, "\n")
}
