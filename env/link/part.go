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
	doCalibrate = "calibrate"
	doWatch     = "watch"
	doStop      = "stop"
)

// order is a request to the part.
type order struct {
	Do                  string
	OneWay, Jitter, RTT time.Duration
}

func run(ctx context.Context, c *reexec.Child) error {
	// One thread: a chunk is some microseconds' work, and a runtime that has
	// more of them looks for work in the servers' time. Nor is garbage
	// collected while something is measured. There is hardly any.
	runtime.GOMAXPROCS(1)
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
	defer h.close()
	if err := c.Ready(h.addrs()); err != nil {
		return err
	}
	return c.Serve(func(request json.RawMessage) (any, error) { return h.answer(ctx, request) })
}

// hub is the links of one process, and who measures them.
type hub struct {
	links []*Link
	given *given
	pair  askers
	watch *watch // nil while there is none
}

func newHub(o Options) (*hub, error) {
	if len(o.Targets) == 0 || len(o.Probe) == 0 {
		return nil, errors.New("no target, or no probe for it")
	}
	h := &hub{given: new(given)}
	for _, target := range o.Targets {
		l, err := newLink(target, h.given)
		if err != nil {
			return nil, errors.Join(err, h.close())
		}
		h.links = append(h.links, l)
	}
	h.pair = askers{via: h.links[0].Addr(), direct: o.Targets[0], question: o.Probe}
	return h, nil
}

func (h *hub) addrs() (addrs []string) {
	for _, l := range h.links {
		addrs = append(addrs, l.Addr())
	}
	return addrs
}

func (h *hub) close() error {
	if h.watch != nil {
		h.watch.stop()
	}
	var errs []error
	for _, l := range h.links {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

func (h *hub) answer(ctx context.Context, request json.RawMessage) (any, error) {
	var o order
	if err := json.Unmarshal(request, &o); err != nil {
		return nil, err
	}
	switch o.Do {
	case doDelay:
		h.setDelay(o.OneWay, o.Jitter)
		return nil, nil
	case doCalibrate:
		runtime.GC()
		return h.calibrate(ctx, o.RTT)
	case doWatch:
		return nil, h.startWatch(ctx)
	case doStop:
		return h.stopWatch()
	}
	return nil, fmt.Errorf("no such order: %s", request)
}

func (h *hub) setDelay(oneWay, jitter time.Duration) {
	for _, l := range h.links {
		l.SetDelay(oneWay, jitter)
	}
}

func (h *hub) startWatch(ctx context.Context) error {
	if h.watch != nil {
		return errors.New("round trips are being watched already")
	}
	runtime.GC()
	h.links[0].ForgetDelays() // those of all
	h.watch = newWatch(ctx, h.pair)
	return nil
}

func (h *hub) stopWatch() (Trips, error) {
	if h.watch == nil {
		return Trips{}, errors.New("round trips are not being watched")
	}
	t := h.watch.stop()
	h.watch = nil
	t.Out, t.Back = h.links[0].Delays()
	return t, nil
}
