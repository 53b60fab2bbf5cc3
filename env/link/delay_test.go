package link_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

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
	l := startLink(t, server.listener.Addr().String())
	direct, via := dial(t, server.listener.Addr().String()), dial(t, l.Addr())
	before := median(t, via) - median(t, direct)
	across := map[time.Duration]time.Duration{}
	for _, oneWay := range []time.Duration{10 * time.Millisecond, 20 * time.Millisecond} {
		l.SetDelay(oneWay, 0)
		l.ForgetDelays()
		across[oneWay] = median(t, via)
		if across[oneWay] < 2*oneWay {
			t.Errorf("a round trip at %v each way took %v", oneWay, across[oneWay])
		}
		out, back := l.Delays()
		for name, q := range map[string]time.Duration{"out": out.P10, "back": back.P10} {
			if q < oneWay {
				t.Errorf("%s: held back %v of %v", name, q, oneWay)
			}
		}
		if out.Count != 15 || back.Count != 15 {
			t.Errorf("%d chunks out and %d back, want 15", out.Count, back.Count)
		}
	}
	if r := float64(across[20*time.Millisecond]) / float64(across[10*time.Millisecond]); r < 1.6 || r > 2.2 {
		t.Errorf("twice the delay took %.2f times as long: %v", r, across)
	}
	l.SetDelay(0, 0)
	if after := median(t, via) - median(t, direct); after > 5*time.Millisecond+2*before {
		t.Errorf("without delay again it takes %v, before %v", after, before)
	}
}

func TestJitterVariesAroundTheDelay(t *testing.T) {
	const oneWay, jitter = 6 * time.Millisecond, 8 * time.Millisecond
	server := startLineServer(t)
	l := startLink(t, server.listener.Addr().String())
	l.SetDelay(oneWay, jitter)
	c := dial(t, l.Addr())
	for range 30 {
		c.mustAsk(t, "x")
	}
	out, _ := l.Delays()
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
	l := startLink(t, startEcho(t))
	l.SetDelay(time.Millisecond, 2*time.Millisecond)
	pass(t, l.Addr(), 20<<20) // more than a queue holds
}

func TestDelayDoesNotLimitThroughput(t *testing.T) {
	const oneWay, size, chunk = 50 * time.Millisecond, 4 << 20, 32 << 10
	l := startLink(t, startEcho(t))
	l.SetDelay(oneWay, 0)
	oneByOne := size / chunk * oneWay
	if took := pass(t, l.Addr(), size); took < 2*oneWay || took > oneByOne/2 {
		t.Errorf("took %v; chunk after chunk it would have been %v", took, oneByOne)
	}
}

func TestWhatWasSentBeforeTheEndArrives(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	l := startLink(t, listener.Addr().String())
	l.SetDelay(20*time.Millisecond, 0)
	conn := dial(t, l.Addr()).conn
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

func TestCutSparesTheRepliesOnTheirWay(t *testing.T) {
	l := startLink(t, startLineServer(t).listener.Addr().String())
	a, b := dial(t, l.Addr()), dial(t, l.Addr())
	b.mustAsk(t, "zero")
	l.SetDelay(20*time.Millisecond, 0)
	happened := l.CutReply(2)
	a.mustAsk(t, "one")
	if got, err := a.ask("two"); err == nil {
		t.Fatalf("second reply was delivered: %q", got)
	}
	<-happened
	b.mustAsk(t, "three")
}

func TestCloseDoesNotWaitForWhatIsOnItsWay(t *testing.T) {
	l := startLink(t, startLineServer(t).listener.Addr().String())
	a := dial(t, l.Addr())
	a.mustAsk(t, "one")
	l.SetDelay(time.Hour, 0)
	if _, err := io.WriteString(a.conn, "two\n"); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil { // the test would not end
		t.Fatal(err)
	}
	if got, err := a.in.ReadString('\n'); err == nil {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsOnItsWayIsBounded(t *testing.T) {
	l := startLink(t, startLineServer(t).listener.Addr().String())
	l.SetDelay(time.Hour, 0)
	conn := dial(t, l.Addr()).conn
	if err := conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	// The queue and the buffers of the sockets take some of it.
	const size = 128 << 20
	if n, err := conn.Write(make([]byte, size)); err == nil || n > size/2 {
		t.Errorf("%d bytes are on their way (%v)", n, err)
	}
}
