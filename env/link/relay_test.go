package link_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"lockcost/env/link"
)

func startRelay(t *testing.T, targets ...string) *link.Relay {
	t.Helper()
	r, err := link.NewRelay(targets...)
	needsLinux(t, err)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// needsLinux passes a test over where there can be no relay.
func needsLinux(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
}

// median is the median time that ask takes.
func median(t *testing.T, c *client) time.Duration {
	t.Helper()
	var took []time.Duration
	for range 15 {
		began := time.Now()
		c.mustAsk(t, "x")
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func TestDelayIsGiven(t *testing.T) {
	server := startLineServer(t)
	r := startRelay(t, server.listener.Addr().String())
	direct, via := dial(t, server.listener.Addr().String()), dial(t, r.Addrs()[0])
	before := median(t, via) - median(t, direct)
	across := map[time.Duration]time.Duration{}
	for _, oneWay := range []time.Duration{10 * time.Millisecond, 20 * time.Millisecond} {
		r.SetDelay(oneWay, 0)
		r.ForgetDelays()
		across[oneWay] = median(t, via)
		if across[oneWay] < 2*oneWay {
			t.Errorf("a round trip at %v each way took %v", oneWay, across[oneWay])
		}
		out, back := r.Delays()
		for name, q := range map[string]time.Duration{"out": out.P10, "back": back.P10} {
			if q < oneWay {
				t.Errorf("%s: held back %v of %v", name, q, oneWay)
			}
		}
		if out.Count != 15 || back.Count != 15 {
			t.Errorf("%d chunks out and %d back, want 15", out.Count, back.Count)
		}
	}
	if ratio := float64(across[20*time.Millisecond]) / float64(across[10*time.Millisecond]); ratio < 1.6 || ratio > 2.2 {
		t.Errorf("twice the delay took %.2f times as long: %v", ratio, across)
	}
	r.SetDelay(0, 0)
	if after := median(t, via) - median(t, direct); after > 5*time.Millisecond+2*before {
		t.Errorf("without delay again it takes %v, before %v", after, before)
	}
}

func TestJitterVariesAroundTheDelay(t *testing.T) {
	const oneWay, jitter = 6 * time.Millisecond, 8 * time.Millisecond
	server := startLineServer(t)
	r := startRelay(t, server.listener.Addr().String())
	r.SetDelay(oneWay, jitter)
	c := dial(t, r.Addrs()[0])
	for range 30 {
		c.mustAsk(t, "x")
	}
	out, _ := r.Delays()
	if out.P10 < oneWay-jitter/2 || out.P10 > oneWay || out.P90 < oneWay || out.P90-out.P10 < jitter/4 {
		t.Errorf("%v, varied within %v: %+v", oneWay, jitter, out)
	}
}

// startEcho returns the address of a server that sends back every byte.
func startEcho(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() { listener.Close(); running.Wait() })
	return listener.Addr().String()
}

// pass sends size bytes through a connection to an echo, checks what comes
// back, and returns how long it took.
func pass(t *testing.T, addr string, size int) time.Duration {
	t.Helper()
	sent := make([]byte, size)
	for i := range sent {
		sent[i] = byte(rand.Uint32())
	}
	conn := dial(t, addr).conn
	received := make([]byte, size)
	began := time.Now()
	var sending sync.WaitGroup
	sending.Go(func() {
		if _, err := conn.Write(sent); err != nil {
			t.Error(err)
		}
	})
	_, err := io.ReadFull(conn, received)
	took := time.Since(began)
	sending.Wait()
	if err != nil || !bytes.Equal(sent, received) {
		t.Fatalf("%d bytes did not come back as they were sent: %v", size, err)
	}
	return took
}

func TestOrderIsKeptUnderJitter(t *testing.T) {
	r := startRelay(t, startEcho(t))
	r.SetDelay(time.Millisecond, 2*time.Millisecond)
	pass(t, r.Addrs()[0], 20<<20) // more than a queue holds
}

func TestDelayDoesNotLimitThroughput(t *testing.T) {
	const oneWay, size, chunk = 50 * time.Millisecond, 4 << 20, 32 << 10
	r := startRelay(t, startEcho(t))
	r.SetDelay(oneWay, 0)
	oneByOne := size / chunk * oneWay
	if took := pass(t, r.Addrs()[0], size); took < 2*oneWay || took > oneByOne/2 {
		t.Errorf("took %v; chunk after chunk it would have been %v", took, oneByOne)
	}
}

func TestWhatWasSentBeforeTheEndArrives(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	r := startRelay(t, listener.Addr().String())
	r.SetDelay(20*time.Millisecond, 0)
	conn := dial(t, r.Addrs()[0]).conn
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(server, "farewell"); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if got, err := io.ReadAll(conn); err != nil || string(got) != "farewell" {
		t.Errorf("got %q, %v", got, err)
	}
}

// What is sent the other way is lost, and only that.
func TestWhatTheServerSaidLastArrivesThoughItHearsNoMore(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	r := startRelay(t, listener.Addr().String())
	conn := dial(t, r.Addrs()[0]).conn
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	r.SetDelay(40*time.Millisecond, 0)
	if _, err := io.WriteString(server, "farewell"); err != nil {
		t.Fatal(err)
	}
	server.Close()
	time.Sleep(5 * time.Millisecond) // it is on its way
	r.SetDelay(0, 0)
	for range 3 { // the first is answered by a reset
		_, _ = io.WriteString(conn, "hello?")
		time.Sleep(2 * time.Millisecond)
	}
	got := make([]byte, len("farewell"))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "farewell" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestReceiverThatPausesGetsAll(t *testing.T) {
	r := startRelay(t, startEcho(t))
	r.SetDelay(time.Millisecond, 0)
	conn := dial(t, r.Addrs()[0]).conn
	const size = 64 << 20 // more than queues and sockets hold
	var sending sync.WaitGroup
	sending.Go(func() {
		if _, err := conn.Write(make([]byte, size)); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(300 * time.Millisecond)
	n, err := io.CopyN(io.Discard, conn, size)
	if err != nil {
		t.Errorf("got %d bytes: %v", n, err)
	}
	sending.Wait()
}

func TestServerOfARelayThatIsNotThere(t *testing.T) {
	server := startLineServer(t)
	gone := server.listener.Addr().String()
	server.listener.Close()
	r := startRelay(t, gone, startLineServer(t).listener.Addr().String())
	if got, err := dial(t, r.Addrs()[0]).ask("one"); err == nil {
		t.Errorf("answered without a server: %q", got)
	}
	dial(t, r.Addrs()[1]).mustAsk(t, "two")
}

// openFiles counts what this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// closesAll waits until no more is open than before: the servers of the tests
// close theirs in their time.
func closesAll(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); openFiles(t) > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d files are open, %d were before", openFiles(t), before)
		}
	}
}

func TestClosedRelayLeavesNothing(t *testing.T) {
	startRelay(t) // or there can be none
	server := startLineServer(t)
	before := openFiles(t)
	for range 10 {
		r, err := link.NewRelay(server.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c := dial(t, r.Addrs()[0])
		c.mustAsk(t, "one")
		for range 2 {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if got, err := c.ask("two"); err == nil {
			t.Errorf("a closed relay forwarded %q", got)
		}
		c.conn.Close()
		if conn, err := net.Dial("tcp", r.Addrs()[0]); err == nil {
			conn.Close()
			t.Error("a closed relay listens")
		}
	}
	closesAll(t, before)
}

func TestEndedConnectionsLeaveNothing(t *testing.T) {
	server := startLineServer(t)
	r := startRelay(t, server.listener.Addr().String())
	before := openFiles(t)
	for range 20 {
		c := dial(t, r.Addrs()[0])
		c.mustAsk(t, "x")
		c.conn.Close()
	}
	closesAll(t, before)
}

func TestCloseDoesNotWaitForWhatIsOnItsWay(t *testing.T) {
	r := startRelay(t, startLineServer(t).listener.Addr().String())
	a := dial(t, r.Addrs()[0])
	a.mustAsk(t, "one")
	r.SetDelay(time.Hour, 0)
	if _, err := io.WriteString(a.conn, "two\n"); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil { // the test would not end
		t.Fatal(err)
	}
	if got, err := a.in.ReadString('\n'); err == nil {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsOnItsWayIsBounded(t *testing.T) {
	r := startRelay(t, startLineServer(t).listener.Addr().String())
	r.SetDelay(time.Hour, 0)
	conn := dial(t, r.Addrs()[0]).conn
	if err := conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	// The queue and the buffers of the sockets take some of it.
	const size = 128 << 20
	if n, err := conn.Write(make([]byte, size)); err == nil || n > size/2 {
		t.Errorf("%d bytes are on their way (%v)", n, err)
	}
}
