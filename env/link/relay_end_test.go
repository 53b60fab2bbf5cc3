package link_test

import (
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"lockcost/env/link"
)

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
