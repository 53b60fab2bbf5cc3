package link_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockcost/env/link"
)

// startProcess starts a process with a link to each target. They are line
// servers.
func startProcess(t *testing.T, targets ...string) *link.Process {
	t.Helper()
	p, err := link.Start(t.Context(), link.Options{Targets: targets, Probe: link.Probe{Question: []byte("x\n")}})
	needsLinux(t, err)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", p.PID(), err)
		}
	})
	return p
}

func TestEachTargetHasItsLink(t *testing.T) {
	first, second := startLineServer(t), startLineServer(t)
	p := startProcess(t, first.listener.Addr().String(), second.listener.Addr().String())
	a, b := dial(t, p.Addr(0)), dial(t, p.Addr(1))
	a.mustAsk(t, "one")
	b.mustAsk(t, "two")
	if got := append(first.lines(), second.lines()...); strings.Join(got, " ") != "one two" {
		t.Errorf("received %q", got)
	}
	const oneWay = 20 * time.Millisecond
	if err := p.SetDelay(t.Context(), oneWay, 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*client{a, b} {
		if took := median(t, c); took < 2*oneWay {
			t.Errorf("a round trip at %v each way took %v", oneWay, took)
		}
	}
}

// What Calibrate promises is seen by Watch, whose probes are others.
func TestCalibratedRoundTripIsSeen(t *testing.T) {
	p := startProcess(t, startLineServer(t).listener.Addr().String())
	seen := map[time.Duration]time.Duration{}
	for _, rtt := range []time.Duration{10 * time.Millisecond, 20 * time.Millisecond} {
		c, err := p.Calibrate(t.Context(), rtt, 0)
		if err != nil {
			t.Fatal(err)
		}
		if c.RTT != rtt || c.OneWay <= 0 || 2*c.OneWay > rtt || c.Overhead <= 0 {
			t.Errorf("%v: %+v", rtt, c)
		}
		trips := watch(t, p, 10)
		if trips.Failed != 0 || trips.Out.Count < trips.Via.Count || trips.Back.Count < trips.Via.Count {
			t.Errorf("%v: %+v", rtt, trips)
		}
		if trips.Out.P10 < c.OneWay || trips.Back.P10 < c.OneWay {
			t.Errorf("%v: held back less than %v: %+v", rtt, c.OneWay, trips)
		}
		seen[rtt] = trips.Via.P50 - trips.Direct.P50
		t.Logf("%v: %+v, then %v", rtt, c, seen[rtt])
	}
	if r := float64(seen[20*time.Millisecond]) / float64(seen[10*time.Millisecond]); r < 1.6 || r > 2.4 {
		t.Errorf("twice the round trip was %.2f times as long: %v", r, seen)
	}
}

// watch watches until some round trips have been made.
func watch(t *testing.T, p *link.Process, trips int64) link.Trips {
	t.Helper()
	for pause := 500 * time.Millisecond; ; pause *= 2 {
		stop, err := p.Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause)
		seen, err := stop(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if min(seen.Via.Count, seen.Direct.Count) >= trips || pause > 10*time.Second {
			return seen
		}
	}
}

func TestKnownRoundTripIsSetWithoutMeasuring(t *testing.T) {
	server := startLineServer(t)
	p := startProcess(t, server.listener.Addr().String())
	const rtt, jitter = 10 * time.Millisecond, 4 * time.Millisecond
	known := false
	for range 10 { // what is found in a noisy moment is not remembered
		first, err := p.Calibrate(t.Context(), rtt, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.SetDelay(t.Context(), 0, 0); err != nil {
			t.Fatal(err)
		}
		asked := len(server.lines())
		again, err := p.Calibrate(t.Context(), rtt, jitter)
		if err != nil {
			t.Fatal(err)
		}
		if known = again == first && len(server.lines()) == asked; known {
			break
		}
	}
	if !known {
		t.Error("never remembered")
	}
	if took := median(t, dial(t, p.Addr(0))); took < rtt/2 {
		t.Errorf("a round trip took %v", took)
	}
}

func TestRoundTripThatNoLinkCanHave(t *testing.T) {
	p := startProcess(t, startLineServer(t).listener.Addr().String())
	_, err := p.Calibrate(t.Context(), time.Nanosecond, 0)
	if err == nil || !strings.Contains(err.Error(), "1ns is less than the ") {
		t.Errorf("no time at all: %v", err)
	}
	_, err = p.Calibrate(t.Context(), 10*time.Millisecond, 20*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "cannot vary within 20ms") {
		t.Errorf("more jitter than delay: %v", err)
	}
}

func TestWatchOfAServerThatIsNotThere(t *testing.T) {
	server := startLineServer(t)
	p := startProcess(t, server.listener.Addr().String())
	server.listener.Close()
	stop, err := p.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Watch(t.Context()); err == nil {
		t.Error("watched twice at once")
	}
	time.Sleep(200 * time.Millisecond)
	if seen, err := stop(t.Context()); err != nil || seen.Failed == 0 || seen.Via.Count+seen.Direct.Count > 0 {
		t.Errorf("%+v, %v", seen, err)
	}
	if _, err := stop(t.Context()); err == nil {
		t.Error("stopped twice")
	}
}

func TestStartNeedsATarget(t *testing.T) {
	probe := link.Probe{Question: []byte("x")}
	for _, o := range []link.Options{{Probe: probe}, {Targets: []string{"nowhere"}, Probe: probe}} {
		if p, err := link.Start(t.Context(), o); err == nil {
			t.Errorf("%+v: started", o)
			_ = p.Close()
		}
	}
}

func TestLinksOfAProcessAreBrokenOneByOne(t *testing.T) {
	first, second := startLineServer(t), startLineServer(t)
	p := startProcess(t, first.listener.Addr().String(), second.listener.Addr().String())
	a, b := dial(t, p.Addr(0)), dial(t, p.Addr(1))
	a.mustAsk(t, "one")
	b.mustAsk(t, "two")
	want := link.State{Delay: time.Millisecond, HoldRequests: true, HoldReplies: true, BytesPerS: 1}
	if err := p.SetState(t.Context(), 1, want); err != nil {
		t.Fatal(err)
	}
	a.mustAsk(t, "three")
	if _, err := b.conn.Write([]byte("four\n")); err != nil {
		t.Fatal(err)
	}
	hearsNothing(t, b.conn)
	if err := p.SetState(t.Context(), 1, link.State{}); err != nil {
		t.Fatal(err)
	}
	hears(t, b.conn, "four\n")
	if err := p.SetState(t.Context(), 2, link.State{}); err == nil || !strings.Contains(err.Error(), "no link 2") {
		t.Errorf("a link that there is not: %v", err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if err := p.SetState(over, 0, link.State{Cut: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: %v", err)
	}
	a.mustAsk(t, "five")
}
