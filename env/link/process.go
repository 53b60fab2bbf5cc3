package link

import (
	"context"
	"fmt"
	"time"

	"lockcost/env/placement"
	"lockcost/env/reexec"
)

// Options say which links to start, and where.
type Options struct {
	Targets []string // one link for each, a host:port
	CPUs    []int    // the links' process is confined to these; none leaves it all
	// Probe is what the first target is asked, for round trips to be measured
	// with it. Without one, Calibrate and Watch are not to be used.
	Probe Probe
}

// Probe is how a server is asked for something that takes it next to nothing.
type Probe struct {
	Greeting []byte // sent once on each connection; nil for none
	Question []byte // sent again and again
	// Each of them is answered by one short reply.
}

// Process is links in a process of their own. It goes before every ordinary
// thread on its CPUs, where it may: a network is not slowed by the load on a
// server. It has next to nothing to do, unless much passes through it.
type Process struct {
	process    *reexec.Process
	addrs      []string
	calibrated map[time.Duration]Calibration
}

// Start starts the links, all without delay. Their process ends with Close,
// or with this one. The program must have Part among those of its
// reexec.Main. On a system other than Linux the error is
// errors.ErrUnsupported.
func Start(ctx context.Context, o Options) (*Process, error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	p := &Process{calibrated: make(map[time.Duration]Calibration)}
	var err error
	p.process, err = reexec.Start(ctx, reexec.Options{
		Part: partName, Config: o, CPUs: o.CPUs, Policy: placement.Realtime,
	}, &p.addrs)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Addr is the host:port that clients of the i-th target connect to.
func (p *Process) Addr(i int) string { return p.addrs[i] }

// PID is the links' process.
func (p *Process) PID() int { return p.process.PID }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.process.Ended() }

// Close ends the process, and with it every connection through its links. It
// is safe to call more than once.
func (p *Process) Close() error { return p.process.Close() }

// SetDelay has every chunk, which is what one read returns, in both directions
// and on every connection, forwarded oneWay after it came, if it comes from
// now on. With jitter each chunk's delay is drawn uniformly from
// oneWay-jitter/2 to oneWay+jitter/2, though never below 0, and no chunk
// overtakes another. Throughput is not limited. 0 forwards at once.
func (p *Process) SetDelay(ctx context.Context, oneWay, jitter time.Duration) error {
	return p.process.Call(ctx, order{Do: doDelay, OneWay: oneWay, Jitter: jitter}, nil)
}

// stateTimeout bounds SetState.
const stateTimeout = 10 * time.Second

// SetState puts the link to a target, by its number, into a state, and
// returns when that is in effect, for the connections that are open and what
// is on its way in them too. ctx is looked at before that: it takes no time
// to speak of. The errors are of a target that there is not, a State that
// cannot be, and of links that have ended.
func (p *Process) SetState(ctx context.Context, target int, s State) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// Not ctx: a call that is broken off ends the process.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stateTimeout)
	defer cancel()
	return p.process.Call(ctx, order{Do: doState, Target: target, State: s}, nil)
}

// Calibration is the one-way delay with which a round trip is what it should
// be.
type Calibration struct {
	RTT      time.Duration // what was asked for
	OneWay   time.Duration
	Overhead time.Duration // what a round trip through the link takes at no delay, more than around it
	Seen     time.Duration // what it took with OneWay, by the median
}

// off is how far from what was asked for it was.
func (c Calibration) off() time.Duration { return (c.Seen - c.RTT).Abs() }

// lasting is how far off a calibration may be to be remembered.
const lasting = 50 * time.Microsecond

// Calibrate sets every link to the delay with which a round trip through the
// first one takes rtt longer, by the median, than one around it, and adds
// jitter to that (SetDelay), which moves no median. What it finds for an rtt
// it remembers, unless it is more than 50 µs off. It takes a second, or two where rtt is long.
//
// It fails if rtt is less than what the link takes by itself, and if jitter
// is more than the delay can vary without falling below 0.
func (p *Process) Calibrate(ctx context.Context, rtt, jitter time.Duration) (Calibration, error) {
	c, known := p.calibrated[rtt]
	if !known {
		if err := p.process.Call(ctx, order{Do: doCalibrate, RTT: rtt}, &c); err != nil {
			return c, err
		}
		if c.off() <= lasting {
			p.calibrated[rtt] = c
		}
	}
	if most := 2 * c.OneWay; jitter > most {
		return c, fmt.Errorf("a link with a round trip of %v: its delay of %v each way cannot vary within %v: %v is the most",
			rtt, c.OneWay, jitter, most)
	}
	return c, p.SetDelay(ctx, c.OneWay, jitter)
}

// Trips is what was seen of the links for a while.
type Trips struct {
	Via, Direct Quantiles // round trips through the first link, and around it
	Failed      int64     // those that got no reply, either way
	// Out and Back is how long every chunk was held back, to the servers
	// and from them, on all links.
	Out, Back Quantiles
}

// Watch measures round trips, through the first link and around it, about 40
// and 13 a second where they are short, until stop is called. Each comes right
// after one that does not count. Stop is called once, and there is one
// Watch at a time.
func (p *Process) Watch(ctx context.Context) (stop func(context.Context) (Trips, error), err error) {
	if err := p.process.Call(ctx, order{Do: doWatch}, nil); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (Trips, error) {
		var t Trips
		err := p.process.Call(ctx, order{Do: doStop}, &t)
		return t, err
	}, nil
}
