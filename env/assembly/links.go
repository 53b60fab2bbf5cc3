package assembly

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lockcost/env"
	"lockcost/env/link"
)

// linkProbes is what servers of a kind are asked, for a round trip to be
// measured by it. Every Redis answers a PING, if only by an error.
var linkProbes = map[env.Kind]link.Probe{
	env.KindRedis: {Question: []byte("PING\r\n")},
	env.KindEtcd:  {Question: []byte("GET /version HTTP/1.1\r\nHost: etcd\r\n\r\n")},
	env.KindZooKeeper: {
		// A request for a session (its length; version, last zxid, a timeout of
		// 30 s, id, the length of a password and that), and then pings in it
		// (their length, xid -2, type 11).
		Greeting: slices.Concat([]byte{0, 0, 0, 44, 0, 0, 0, 0}, make([]byte, 8), []byte{0, 0, 0x75, 0x30}, make([]byte, 8), []byte{0, 0, 0, 16}, make([]byte, 16)),
		Question: []byte{0, 0, 0, 8, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 11},
	},
}

// links is links of the same delay, which are started when they are first
// needed.
type links struct {
	stack   *stack
	name    string // who they are for
	targets []string
	probe   link.Probe // the first target's
	cpus    []int

	process     *link.Process // nil before the first start
	asked       time.Duration // 0: not in use
	calibration link.Calibration
}

// add adds a link to a server.
func (l *links) add(v *server) {
	if len(l.targets) == 0 {
		l.probe = linkProbes[v.Node().Kind]
	}
	l.targets = append(l.targets, v.addr())
}

// set calibrates the links to a round trip. 0 leaves them out of use, and so
// does an error.
func (l *links) set(ctx context.Context, rtt, jitter time.Duration) error {
	l.asked = 0
	if rtt == 0 {
		return nil
	}
	if err := l.start(ctx); err != nil {
		return err
	}
	c, err := l.process.Calibrate(ctx, rtt, jitter)
	if err != nil {
		return fmt.Errorf("for %s: %w", l.name, err)
	}
	l.asked, l.calibration = rtt, c
	return nil
}

// start starts the links' process, unless it runs.
func (l *links) start(ctx context.Context) error {
	if l.process != nil && l.running() {
		return nil
	}
	p, err := link.Start(ctx, link.Options{Targets: l.targets, CPUs: l.cpus, Probe: l.probe})
	if err != nil {
		return fmt.Errorf("for %s: %w", l.name, err)
	}
	if err := l.stack.addLinks(p); err != nil {
		return err
	}
	l.process = p
	return nil
}

func (l *links) running() bool {
	select {
	case <-l.process.Ended():
		return false
	default:
		return true
	}
}

// alive checks that the links run, if they are in use.
func (l *links) alive() error {
	if l.asked > 0 && !l.running() {
		return fmt.Errorf("the links for %s, process %d, have ended: set the distance again", l.name, l.process.PID())
	}
	return nil
}

// watch begins to measure round trips, if the links are in use.
func (l *links) watch(ctx context.Context) (stop func(context.Context) (env.Trip, error), err error) {
	if l.asked == 0 {
		return func(context.Context) (env.Trip, error) { return env.Trip{}, nil }, nil
	}
	end, err := l.process.Watch(ctx)
	if err != nil {
		return nil, fmt.Errorf("for %s: %w", l.name, err)
	}
	return func(ctx context.Context) (env.Trip, error) {
		seen, err := end(ctx)
		if err != nil {
			return env.Trip{}, fmt.Errorf("for %s: %w", l.name, err)
		}
		return l.trip(seen), nil
	}, nil
}

func (l *links) trip(seen link.Trips) env.Trip {
	direct := seen.Direct.P50
	return env.Trip{
		Asked: l.asked,
		P50:   seen.Via.P50 - direct, P90: seen.Via.P90 - direct, P99: seen.Via.P99 - direct,
		Direct: direct, Overhead: l.calibration.Overhead,
		Out: l.delay(seen.Out), Back: l.delay(seen.Back),
		Probes: seen.Via.Count, Failed: seen.Failed,
	}
}

func (l *links) delay(given link.Quantiles) env.Delay {
	return env.Delay{Set: l.calibration.OneWay, P50: given.P50, P99: given.P99, Max: given.Max, Chunks: given.Count}
}
