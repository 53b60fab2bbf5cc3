package link_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
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
