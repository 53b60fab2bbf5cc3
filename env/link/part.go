package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"lockcost/env/reexec"
)

const partName = "link"

// memoryBytes is when the links' process would collect its garbage after all.
const memoryBytes = 1 << 30

// Part is the part of the program that Start runs.
func Part() reexec.Part { return reexec.Part{Name: partName, Run: run} }

// What can be asked of the part.
const (
	doDelay     = "delay"
	doState     = "state"
	doCalibrate = "calibrate"
	doWatch     = "watch"
	doStop      = "stop"
)

// order is a request to the part.
type order struct {
	Do                  string
	OneWay, Jitter, RTT time.Duration
	Target              int
	State               State
}

func run(ctx context.Context, c *reexec.Child) error {
	// One thread for the relay and one for all else: a runtime that has more
	// looks for work in the servers' time. Nor is garbage collected while
	// something is measured. There is hardly any.
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryBytes)
	var o Options
	if err := c.Config(&o); err != nil {
		return err
	}
	h, err := newHub(o)
	if err != nil {
		return err
	}
	if err := c.Ready(h.relay.Addrs()); err != nil {
		return errors.Join(err, h.close())
	}
	served := make(chan error, 1)
	go func() {
		served <- c.Serve(func(request json.RawMessage) (any, error) { return h.answer(ctx, request) })
	}()
	select {
	case err := <-served:
		return errors.Join(err, h.close())
	case <-h.relay.Ended(): // by itself
		return h.relay.Close()
	}
}

// hub is the relay of a process, and who measures it.
type hub struct {
	relay *relay
	pair  askers
	watch *watch // nil while there is none
}

func newHub(o Options) (*hub, error) {
	if len(o.Targets) == 0 {
		return nil, errors.New("no target")
	}
	r, err := newRelay(o.Targets)
	if err != nil {
		return nil, err
	}
	return &hub{relay: r, pair: askers{via: r.Addrs()[0], direct: o.Targets[0], probe: o.Probe}}, nil
}

func (h *hub) close() error {
	if h.watch != nil {
		h.watch.stop()
	}
	return h.relay.Close()
}

func (h *hub) answer(ctx context.Context, request json.RawMessage) (any, error) {
	var o order
	if err := json.Unmarshal(request, &o); err != nil {
		return nil, err
	}
	switch o.Do {
	case doDelay:
		h.relay.SetDelay(o.OneWay, o.Jitter)
		return nil, nil
	case doState:
		return nil, h.relay.SetState(o.Target, o.State)
	case doCalibrate:
		if err := h.canAsk(); err != nil {
			return nil, err
		}
		runtime.GC()
		return h.calibrate(ctx, o.RTT)
	case doWatch:
		return nil, h.startWatch(ctx)
	case doStop:
		return h.stopWatch()
	}
	return nil, fmt.Errorf("no such order: %s", request)
}

func (h *hub) canAsk() error {
	if len(h.pair.probe.Question) == 0 {
		return errors.New("there is no probe to measure round trips with")
	}
	return nil
}

func (h *hub) startWatch(ctx context.Context) error {
	if err := h.canAsk(); err != nil {
		return err
	}
	if h.watch != nil {
		return errors.New("round trips are being watched already")
	}
	runtime.GC()
	h.relay.ForgetDelays()
	h.watch = newWatch(ctx, h.pair)
	return nil
}

func (h *hub) stopWatch() (Trips, error) {
	if h.watch == nil {
		return Trips{}, errors.New("round trips are not being watched")
	}
	t := h.watch.stop()
	h.watch = nil
	t.Out, t.Back = h.relay.Delays()
	return t, nil
}
