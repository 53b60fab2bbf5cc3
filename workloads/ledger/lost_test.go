package ledger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"lockcost/env/link"
)

// behind puts a link between a new session and the ledger.
func (f *fixture) behind(t *testing.T, size int) (*DB, *link.Link) {
	t.Helper()
	cfg, err := parse(f.dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := link.New(cfg.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	cfg.Addr = l.Addr()
	return f.open(t, cfg.FormatDSN(), size), l
}

// Whichever message of a job is lost, the order is charged once and its
// holder is told so. A session of one connection has to open a new one, one
// of two goes on with the other.
func TestAnyMessageLost(t *testing.T) {
	for size := 1; size <= 2; size++ {
		f, id := newFixture(t), int64(0)
		d, l := f.behind(t, size)
		for name, g := range guards(d) {
			for _, c := range []struct {
				what string
				cut  func(int) <-chan struct{}
			}{{"request", l.CutRequest}, {"reply", l.CutReply}} {
				for n := 1; n <= roundTrips[name]; n++ {
					id++
					what := fmt.Sprintf("%s guard, %s %d lost", name, c.what, n)
					lost := c.cut(n)
					o, err := g.Read(t.Context(), id, 7)
					if err != nil {
						t.Fatalf("%s: Read: %v", what, err)
					}
					outcome, err := g.Charge(t.Context(), o, 7)
					if err != nil || outcome != Charged {
						t.Fatalf("%s: Charge: %v, %v, want charged", what, outcome, err)
					}
					<-lost
				}
			}
		}
		if got, want := f.audit(t), (Audit{Orders: id, Charges: id}); got != want {
			t.Errorf("audit %+v, want %+v", got, want)
		}
	}
}

// roundTrips is the length of a job, Read and Charge, by guard.
var roundTrips = map[string]int{"none": 1 + 4, "token": 2 + 4, "unique key": 1 + 5, "version": 1 + 4, "combined": 2 + 5}

// A job makes the round trips that its guard's documentation says: the last
// of them can be lost, and there is no further one.
func TestRoundTrips(t *testing.T) {
	f := newFixture(t)
	d, l := f.behind(t, 1)
	id := int64(0)
	for name, g := range guards(d) {
		id++
		next := l.CutReply(roundTrips[name] + 1)
		mustCharge(t, g, mustRead(t, g, id, 7), 7, Charged)
		select {
		case <-next:
			t.Errorf("%s guard: more than %d round trips", name, roundTrips[name])
		default:
		}
		if _, err := g.Read(t.Context(), id, 8); err != nil { // takes the armed cut, and recovers
			t.Fatal(err)
		}
		<-next
	}
}

// The connection that reads a lost COMMIT back may die as well.
func TestReadingBackIsLostToo(t *testing.T) {
	f := newFixture(t)
	d, l := f.behind(t, 3)
	g := d.Plain()
	for n := 1; n <= 4; n++ { // begin, lock, look, roll back
		id := int64(n)
		o := mustRead(t, g, id, 0)
		commit, again := l.CutReply(4), l.CutReply(4+n)
		mustCharge(t, g, o, 0, Charged)
		<-commit
		<-again
	}
	if got, want := f.audit(t), (Audit{Orders: 4, Charges: 4}); got != want {
		t.Errorf("audit %+v, want %+v", got, want)
	}
}

// mortal is a session whose ledger goes away for good: once it is dead no
// new connection is made.
func (f *fixture) mortal(t *testing.T) (d *DB, l *link.Link, dead *atomic.Bool) {
	t.Helper()
	cfg, err := parse(f.dsn)
	if err != nil {
		t.Fatal(err)
	}
	if l, err = link.New(cfg.Addr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	dead = new(atomic.Bool)
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if dead.Load() {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("the ledger is gone")}
		}
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr())
	}
	if d, err = open(t.Context(), cfg, f.prefix, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, l, dead
}

func TestLedgerGoneAtCommit(t *testing.T) {
	f := newFixture(t)
	d, l, dead := f.mortal(t)
	o := mustRead(t, d.Plain(), 1, 0)
	dead.Store(true)
	l.CutReply(4)
	_, err := d.Plain().Charge(t.Context(), o, 0)
	if !errors.Is(err, ErrUnresolved) || Kind(err) != "ledger-unresolved" {
		t.Errorf("%v (%s), want ErrUnresolved", err, Kind(err))
	}
	dead.Store(false) // the session lives on
	if o := mustRead(t, d.Plain(), 1, 0); !o.Paid {
		t.Error("the COMMIT was executed, and the order reads as unpaid")
	}
}

// A client that dies between the marker and the charge leaves neither.
func TestCrashInsideTheTransaction(t *testing.T) {
	f := newFixture(t)
	d, l, dead := f.mortal(t)
	for n := 1; n <= 4; n++ { // begin, marker, update, insert: each was executed
		id := int64(n)
		o := mustRead(t, d.UniqueKey(), id, 0)
		dead.Store(true)
		lost := l.CutReply(n)
		_, err := d.UniqueKey().Charge(t.Context(), o, 0)
		<-lost
		dead.Store(false)
		if err == nil || errors.Is(err, ErrUnresolved) || Kind(err) != "ledger-connection" {
			t.Errorf("reply %d lost: %v (%s), want a lost connection", n, err, Kind(err))
		}
		// Another holder finds nothing in its way.
		o = mustRead(t, f.UniqueKey(), id, 0)
		if o.Paid {
			t.Errorf("reply %d lost: the order reads as paid", n)
		}
		if n := f.count(t, "SELECT COUNT(*) FROM "+f.DB.tables.markers+" WHERE order_id = ?", id); n != 0 {
			t.Errorf("reply %d lost: a marker without a charge", n)
		}
		mustCharge(t, f.UniqueKey(), o, 0, Charged)
	}
	if got, want := f.audit(t), (Audit{Orders: 4, Charges: 4}); got != want {
		t.Errorf("audit %+v, want %+v", got, want)
	}
}

func TestMintAfterALostReplyIsGreater(t *testing.T) {
	f := newFixture(t)
	d, l := f.behind(t, 2)
	last := uint64(0)
	for n := range 6 {
		if n%2 == 1 {
			l.CutReply(1)
		}
		token, err := d.Mint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if token <= last {
			t.Fatalf("token %d after %d", token, last)
		}
		last = token
	}
}
