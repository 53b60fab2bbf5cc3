package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"lockcost/env/placement"
	"lockcost/env/placement/placementtest"
	"lockcost/results"
)

// The tests run as a driver does, with a CPU to itself where there are two.
func TestMain(m *testing.M) {
	if err := placement.Enter(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(m.Run())
}

// sleeping has f run by a driver that sleeps.
func sleeping(t *testing.T, f func()) {
	t.Setenv(PollSwitch, "off")
	f()
	if err := os.Unsetenv(PollSwitch); err != nil {
		t.Fatal(err)
	}
}

// echo is a server that repeats what it is sent, and connections to it.
func echo(t *testing.T, n int) []net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); _, _ = io.Copy(conn, conn) }()
		}
	}()
	var conns []net.Conn
	for range n {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conns = append(conns, conn)
	}
	return conns
}

// A poller that kept the scheduler to itself would leave replies to the
// runtime's watchdog, which looks for them every 10 ms.
func TestPollingStartsSoonerAndDelaysNoReply(t *testing.T) {
	placementtest.OwnCPU(t) // without, a driver never polls
	conns := echo(t, 50)
	measure := func(polled bool) *Recording {
		p := plan()
		p.Workers = len(conns)
		r := mustRun(t, p, func(_ context.Context, o *Op) error {
			conn := conns[o.Slot%int64(len(conns))]
			var b [1]byte
			if _, err := conn.Write(b[:]); err != nil {
				return err
			}
			_, err := io.ReadFull(conn, b[:])
			o.End(0)
			return err
		})
		if r.Instrument.Polled != polled || r.Done != r.Offered {
			t.Fatalf("polled %v, want %v; %d of %d done", r.Instrument.Polled, polled, r.Done, r.Offered)
		}
		return r
	}
	lag, reply := [2]*results.Histogram{}, [2]*results.Histogram{}
	for i := range lag {
		lag[i], reply[i] = results.NewHistogram(), results.NewHistogram()
	}
	add := func(i int, r *Recording) {
		lag[i].Merge(r.Spans[results.SpanLag])
		reply[i].Merge(r.Spans[results.SpanAcquire])
	}
	for range 3 {
		add(0, measure(true))
		sleeping(t, func() { add(1, measure(false)) })
	}
	if polled, asleep := lag[0].Quantile(0.5), lag[1].Quantile(0.5); polled >= asleep {
		t.Errorf("lag at P50: %d ns polled, %d ns asleep", polled, asleep)
	}
	if polled, asleep := reply[0].Quantile(0.5), reply[1].Quantile(0.5); polled > 2*asleep {
		t.Errorf("a round trip at P50: %d ns polled, %d ns asleep", polled, asleep)
	}
}

func TestPollingIsNotCountedAsWork(t *testing.T) {
	placementtest.OwnCPU(t) // without, a driver never polls
	busy := func(work time.Duration) float64 {
		p := plan()
		p.Rate = 500
		r := mustRun(t, p, func(context.Context, *Op) error {
			for began := time.Now(); time.Since(began) < work; {
			}
			return nil
		})
		return r.Instrument.CPUBusyRatio
	}
	idle, half := busy(0), busy(time.Millisecond)
	if idle > 0.4 || half < idle+0.2 || half > 1 {
		t.Errorf("busy %.2f with nothing to do, and %.2f with half of the time's work", idle, half)
	}
}

func TestPollerNoticesThatItStoodStill(t *testing.T) {
	placementtest.OwnCPU(t) // without, a driver never polls
	p := plan()
	p.Rate = 100
	r := mustRun(t, p, func(_ context.Context, o *Op) error {
		if o.Slot == 20 { // the only CPU of the driver's is taken away
			for began := time.Now(); time.Since(began) < 8*time.Millisecond; {
			}
		}
		return nil
	})
	if in := r.Instrument; in.Pauses == 0 || in.PauseMaxNS < int64(7*time.Millisecond) {
		t.Errorf("%d pauses, the longest %d ns, of one of 8 ms", in.Pauses, in.PauseMaxNS)
	}
}

func TestFastSchedulesAreNotPolled(t *testing.T) {
	placementtest.OwnCPU(t) // without, a driver never polls
	p := plan()
	p.Rate, p.Duration = 2*pollRateMost, 50*time.Millisecond
	if r := mustRun(t, p, func(context.Context, *Op) error { return nil }); r.Instrument.Polled {
		t.Error("polled on one CPU, at a rate that may take several")
	}
}
