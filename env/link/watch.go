package link

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// tripTimeout bounds the wait for a reply.
const tripTimeout = 5 * time.Second

// Between two round trips of a watch there is a pause, drawn from half to one
// and a half times as long, lest they keep step with what else goes on. Those
// around the link are only for their median.
const (
	viaPause    = 25 * time.Millisecond
	directPause = 75 * time.Millisecond
)

// asker makes round trips to one address, on one connection.
type asker struct {
	addr  string
	probe Probe
	conn  net.Conn // nil while there is none
	reply [4 << 10]byte
}

// askers is what there is to ask, through the link and around it.
type askers struct {
	via, direct string
	probe       Probe
}

// trip makes one round trip. Its reply is what one read returns, as a short
// one is. Where there is no connection it makes one, which ends with ctx, and
// a trip that does not count.
func (a *asker) trip(ctx context.Context) (time.Duration, error) {
	if a.conn == nil {
		conn, err := (&net.Dialer{Timeout: tripTimeout}).DialContext(ctx, "tcp", a.addr)
		if err != nil {
			return 0, err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		a.conn = conn
		if len(a.probe.Greeting) > 0 {
			if _, err := a.ask(a.probe.Greeting); err != nil {
				return 0, err
			}
		}
		if _, err := a.ask(a.probe.Question); err != nil {
			return 0, err
		}
	}
	return a.ask(a.probe.Question)
}

func (a *asker) ask(question []byte) (_ time.Duration, err error) {
	defer func() {
		if err != nil {
			_ = a.conn.Close()
			a.conn = nil
			err = fmt.Errorf("a round trip to %s: %w", a.addr, err)
		}
	}()
	began := time.Now()
	if err := a.conn.SetDeadline(began.Add(tripTimeout)); err != nil {
		return 0, err
	}
	began = time.Now()
	if _, err := a.conn.Write(question); err != nil {
		return 0, err
	}
	if _, err := a.conn.Read(a.reply[:]); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// watch measures round trips until it is stopped.
type watch struct {
	cancel      context.CancelFunc
	running     sync.WaitGroup
	via, direct reservoir
	failed      atomic.Int64
}

func newWatch(ctx context.Context, a askers) *watch {
	w := &watch{}
	ctx, w.cancel = context.WithCancel(ctx)
	w.running.Go(func() { w.ask(ctx, &asker{addr: a.via, probe: a.probe}, &w.via, viaPause) })
	w.running.Go(func() { w.ask(ctx, &asker{addr: a.direct, probe: a.probe}, &w.direct, directPause) })
	return w
}

func (w *watch) ask(ctx context.Context, a *asker, seen *reservoir, pause time.Duration) {
	for {
		d, err := a.trip(ctx)
		if err == nil {
			// The first woke all that is on the way, as traffic does.
			d, err = a.trip(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.failed.Add(1)
		default:
			seen.add(d)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

func (w *watch) stop() Trips {
	w.cancel()
	w.running.Wait()
	return Trips{Via: w.via.quantiles(), Direct: w.direct.quantiles(), Failed: w.failed.Load()}
}
