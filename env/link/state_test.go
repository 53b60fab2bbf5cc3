package link_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"lockcost/env/link"
)

// broken is a relay whose first link is to be broken. Its second is left
// alone: whoever was answered through it knows that the relay has read what
// was sent before.
type broken struct {
	relay     *link.Relay
	listener  *net.TCPListener
	bystander *client
}

func startBroken(t *testing.T) *broken {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	r := startRelay(t, listener.Addr().String(), startLineServer(t).listener.Addr().String())
	return &broken{r, listener, dial(t, r.Addrs()[1])}
}

func (b *broken) set(t *testing.T, s link.State) {
	t.Helper()
	if err := b.relay.SetState(0, s); err != nil {
		t.Fatal(err)
	}
}

// settled returns when the relay has seen all that was sent or ended before.
func (b *broken) settled(t *testing.T) {
	t.Helper()
	for range 2 {
		b.bystander.mustAsk(t, "?")
	}
}

// connect makes a connection through the first link.
func (b *broken) connect(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	client = dial(t, b.relay.Addrs()[0]).conn.(*net.TCPConn)
	if err := b.listener.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	server, err := b.listener.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return client, server
}

// awhile is how long a test looks whether something comes that is not to.
const awhile = 100 * time.Millisecond

// says has a connection say something.
func says(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// hears checks what comes next.
func hears(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if n, err := io.ReadFull(conn, got); err != nil || string(got) != text {
		t.Fatalf("got %q, %v, want %q", got[:n], err, text)
	}
}

// hearsNothing checks that neither bytes come nor the end.
func hearsNothing(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(awhile)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 1)
	if n, err := conn.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %q, %v, want nothing", got[:n], err)
	}
}

// direction is a direction of a connection that can be held.
type direction struct {
	name string
	hold link.State
	pick func(client, server *net.TCPConn) (from, to *net.TCPConn)
}

var directions = []direction{
	{"requests", link.State{HoldRequests: true}, func(c, s *net.TCPConn) (from, to *net.TCPConn) { return c, s }},
	{"replies", link.State{HoldReplies: true}, func(c, s *net.TCPConn) (from, to *net.TCPConn) { return s, c }},
}

// eachDirection runs a test with a fresh connection for each.
func eachDirection(t *testing.T, test func(t *testing.T, b *broken, d direction, from, to *net.TCPConn)) {
	for _, d := range directions {
		t.Run(d.name, func(t *testing.T) {
			b := startBroken(t)
			client, server := b.connect(t)
			from, to := d.pick(client, server)
			test(t, b, d, from, to)
		})
	}
}

func TestHeldDirectionPassesNothingUntilItIsMended(t *testing.T) {
	eachDirection(t, func(t *testing.T, b *broken, d direction, from, to *net.TCPConn) {
		b.set(t, d.hold)
		says(t, from, "first ")
		says(t, to, "the other way")
		hears(t, from, "the other way")
		hearsNothing(t, to)
		b.bystander.mustAsk(t, "is the other link whole?")
		says(t, from, "second")
		b.set(t, link.State{})
		hears(t, to, "first second")
		says(t, from, " third")
		hears(t, to, " third")
	})
}

// under has bytes under way, read by the relay and not passed on.
func (b *broken) under(t *testing.T, from net.Conn, text string) {
	t.Helper()
	b.set(t, link.State{Delay: time.Hour})
	says(t, from, text)
	b.settled(t)
}

func TestHoldKeepsWhatIsUnderWay(t *testing.T) {
	eachDirection(t, func(t *testing.T, b *broken, d direction, from, to *net.TCPConn) {
		b.under(t, from, "under way")
		b.set(t, d.hold)
		hearsNothing(t, to)
		b.set(t, link.State{})
		hears(t, to, "under way")
	})
}

func TestAnotherDelayIsThatOfWhatIsUnderWay(t *testing.T) {
	eachDirection(t, func(t *testing.T, b *broken, _ direction, from, to *net.TCPConn) {
		b.under(t, from, "one")
		b.set(t, link.State{Delay: time.Millisecond})
		hears(t, to, "one")
		const delay = 50 * time.Millisecond
		b.set(t, link.State{Delay: delay})
		began := time.Now()
		says(t, from, "two")
		hears(t, to, "two")
		if took := time.Since(began); took < delay {
			t.Errorf("took %v at a delay of %v", took, delay)
		}
	})
}

func TestEndIsHeldToo(t *testing.T) {
	for _, how := range []struct {
		name string
		end  func(from *net.TCPConn) error
	}{
		{"closed", (*net.TCPConn).Close},
		{"reset", func(from *net.TCPConn) error { return errors.Join(from.SetLinger(0), from.Close()) }},
	} {
		t.Run(how.name, func(t *testing.T) {
			eachDirection(t, func(t *testing.T, b *broken, d direction, from, to *net.TCPConn) {
				b.under(t, from, "under way, ")
				b.set(t, d.hold)
				says(t, from, "held, ")
				if how.name == "reset" {
					b.settled(t) // it is in the relay's socket
				}
				if err := how.end(from); err != nil {
					t.Fatal(err)
				}
				b.settled(t)
				hearsNothing(t, to)
				says(t, to, "to nobody") // is answered by a reset
				b.settled(t)
				says(t, to, "to nobody")
				hearsNothing(t, to)
				b.set(t, link.State{})
				hears(t, to, "under way, held, ")
				if n, err := to.Read(make([]byte, 1)); n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("after the end: %d bytes, %v", n, err)
				}
			})
		})
	}
}

// An end that nothing is held from is seen, with what it said last.
func TestEndPassesTheOtherWay(t *testing.T) {
	eachDirection(t, func(t *testing.T, b *broken, d direction, from, to *net.TCPConn) {
		b.set(t, d.hold)
		says(t, from, "lost")
		says(t, to, "farewell")
		to.Close()
		hears(t, from, "farewell")
		if n, err := from.Read(make([]byte, 1)); err == nil {
			t.Errorf("after the end: %d bytes, %v", n, err)
		}
	})
}

func TestHeldConnectionWithoutEndsIsFreed(t *testing.T) {
	both := link.State{HoldRequests: true, HoldReplies: true}
	for name, hold := range map[string]link.State{"requests": directions[0].hold, "replies": directions[1].hold, "both": both} {
		for _, first := range []string{"client", "server"} {
			t.Run(name+" "+first+" first", func(t *testing.T) {
				b := startBroken(t)
				b.settled(t)
				before := openFiles(t)
				for range 10 {
					client, server := b.connect(t)
					b.set(t, hold)
					ends := map[string]net.Conn{"client": client, "server": server}
					says(t, client, "request")
					says(t, server, "reply")
					b.settled(t)
					ends[first].Close()
					b.settled(t)
					client.Close()
					server.Close()
					b.set(t, hold) // is harmless
					closesAll(t, before)
					b.set(t, link.State{})
				}
			})
		}
	}
}

func TestCutResetsBothSidesAndDropsWhatIsUnderWay(t *testing.T) {
	eachDirection(t, func(t *testing.T, b *broken, _ direction, from, to *net.TCPConn) {
		b.settled(t)
		before := openFiles(t)
		b.under(t, from, "dropped")
		b.set(t, link.State{Cut: true, HoldRequests: true, HoldReplies: true})
		for _, conn := range []*net.TCPConn{from, to} {
			if n, err := conn.Read(make([]byte, 1)); !isReset(err) {
				t.Errorf("got %d bytes, %v, want a reset", n, err)
			}
		}
		closesAll(t, before-2) // the relay's
		b.set(t, link.State{})
		client, server := b.connect(t)
		says(t, client, "anew")
		hears(t, server, "anew")
	})
}

func TestConnectionIsResetWhileCut(t *testing.T) {
	b := startBroken(t)
	b.set(t, link.State{Cut: true})
	for range 3 {
		conn, err := net.Dial("tcp", b.relay.Addrs()[0])
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		if !isReset(err) {
			t.Errorf("got %v, want a reset", err)
		}
	}
	b.notConnected(t)
	b.set(t, link.State{})
	client, server := b.connect(t)
	says(t, server, "reply")
	hears(t, client, "reply")
}

// notConnected checks that nobody connects to the server.
func (b *broken) notConnected(t *testing.T) {
	t.Helper()
	if err := b.listener.SetDeadline(time.Now().Add(awhile)); err != nil {
		t.Fatal(err)
	}
	if conn, err := b.listener.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the server was connected to: %v, %v", conn, err)
	}
}

func TestConnectionThatIsMadeInsideAHole(t *testing.T) {
	b := startBroken(t)
	b.settled(t)
	before := openFiles(t)
	b.set(t, directions[0].hold)
	stays, leaves := dial(t, b.relay.Addrs()[0]).conn, dial(t, b.relay.Addrs()[0]).conn
	says(t, stays, "request")
	says(t, leaves, "of one who has left")
	b.settled(t)
	leaves.Close()
	closesAll(t, before+2) // of the one that stays
	b.notConnected(t)
	hearsNothing(t, stays)
	b.set(t, link.State{})
	if err := b.listener.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	server, err := b.listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	hears(t, server, "request")
	says(t, server, "reply")
	hears(t, stays, "reply")
	b.notConnected(t)
}

func TestRefusalIsHeldAsAReply(t *testing.T) {
	b := startBroken(t)
	b.listener.Close()
	b.set(t, directions[1].hold)
	conn := dial(t, b.relay.Addrs()[0]).conn
	says(t, conn, "request")
	b.settled(t)
	hearsNothing(t, conn)
	b.set(t, link.State{})
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("got %d bytes without a server", n)
	}
}

// sent returns how long so many bytes take.
func sent(t *testing.T, from, to net.Conn, size int) time.Duration {
	t.Helper()
	began := time.Now()
	failed := make(chan error, 1)
	go func() {
		_, err := from.Write(make([]byte, size))
		failed <- err
	}()
	n, err := io.CopyN(io.Discard, to, int64(size))
	if err := errors.Join(err, <-failed); err != nil {
		t.Fatalf("%d of %d bytes came: %v", n, size, err)
	}
	return time.Since(began)
}

func TestBoundOfBytes(t *testing.T) {
	eachDirection(t, func(t *testing.T, b *broken, _ direction, from, to *net.TCPConn) {
		const size, slow, fast = 300_000, 400_000, 1_600_000
		took := map[int64]time.Duration{}
		for _, rate := range []int64{slow, fast} {
			b.set(t, link.State{BytesPerS: rate})
			took[rate] = sent(t, from, to, size)
			// Two pieces go at once after a rest.
			least := time.Duration(float64(size)/float64(rate)*float64(time.Second)) - 20*time.Millisecond
			if took[rate] < least {
				t.Errorf("%d bytes at %d/s took %v, less than %v", size, rate, took[rate], least)
			}
		}
		if ratio := float64(took[slow]) / float64(took[fast]); ratio < 2 {
			t.Errorf("at a quarter of the rate it takes %.2f times as long: %v", ratio, took)
		}
		b.set(t, link.State{BytesPerS: 1})
		says(t, from, "a sentence of more than ten seconds")
		b.settled(t)
		b.set(t, link.State{})
		began := time.Now()
		hears(t, to, "a sentence of more than ten seconds")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a bound that is gone held bytes back for %v", took)
		}
	})
}

func TestHoleIsBoundedAndLosesNothing(t *testing.T) {
	eachDirection(t, func(t *testing.T, b *broken, d direction, from, to *net.TCPConn) {
		b.set(t, d.hold)
		if err := from.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		const size = 128 << 20
		n, err := from.Write(make([]byte, size))
		if err == nil || n > size/2 {
			t.Errorf("%d bytes are in a hole (%v)", n, err)
		}
		from.Close()
		b.set(t, link.State{})
		if got, err := io.Copy(io.Discard, to); got != int64(n) || err != nil {
			t.Errorf("%d of %d bytes came out of it: %v", got, n, err)
		}
	})
}

func TestStatesThatCannotBe(t *testing.T) {
	b := startBroken(t)
	for target, s := range map[int]link.State{-1: {}, 2: {}, 0: {Delay: -1}, 1: {BytesPerS: -1}} {
		if err := b.relay.SetState(target, s); err == nil {
			t.Errorf("link %d was put into %+v", target, s)
		}
	}
	b.relay.Close()
	if err := b.relay.SetState(0, link.State{}); err == nil {
		t.Error("a closed relay was put into a state")
	}
}

func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
