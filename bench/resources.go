package bench

import (
	"context"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockcost/bench/load"
	"lockcost/env/usage"
	"lockcost/results"
	"lockcost/workloads"
)

// toResources is what a run used for each of its operations, warm-up
// included. What the driver sent and received is what the servers that it
// talks to count: Sentinels and replicas ask them too, though little.
func toResources(used usage.Usage, recording *load.Recording) map[string]results.Resources {
	if recording.Slots == 0 {
		return nil
	}
	all := map[string]results.Resources{}
	driver := newDriverShare(recording)
	for name, reading := range used {
		share := shareOf(reading, float64(recording.Slots))
		all[name] = share
		if role, _, _ := strings.Cut(name, "-"); role != "replica" && role != "sentinel" {
			driver.add(name, share)
		}
	}
	all[results.DriverResources] = driver.Resources
	return all
}

// The keys of results.Resources.
var resourceKeys = map[usage.Counter]string{
	usage.CPU: "cpu_ns_per_op", usage.BytesIn: "bytes_in_per_op", usage.BytesOut: "bytes_out_per_op",
	usage.Commands: "commands_per_op", usage.Replication: "replication_bytes_per_op", usage.Fsyncs: "fsyncs_per_op",
}

// shareOf is a server's reading for each of n operations.
func shareOf(reading usage.Reading, n float64) results.Resources {
	of := func(c usage.Counter) *float64 {
		v, ok := reading.Values[c]
		if !ok {
			return nil
		}
		v /= n
		return &v
	}
	r := results.Resources{
		CPUNS: of(usage.CPU), BytesIn: of(usage.BytesIn), BytesOut: of(usage.BytesOut), Commands: of(usage.Commands),
		ReplicationBytes: of(usage.Replication), Fsyncs: of(usage.Fsyncs),
	}
	for c, why := range reading.Unknown {
		if r.Unknown == nil {
			r.Unknown = map[string]string{}
		}
		r.Unknown[resourceKeys[c]] = why
	}
	return r
}

// driverShare is the driver's own resources.
type driverShare struct{ results.Resources }

// newDriverShare has the driver's processor time, for each operation that
// completed in the window, which is the time that it is known of.
func newDriverShare(recording *load.Recording) *driverShare {
	d := &driverShare{}
	if recording.InWindow > 0 {
		cpu := float64(recording.Instrument.CPUNS) / float64(recording.InWindow)
		d.CPUNS = &cpu
	}
	return d
}

// idle is the commands for each operation below which a server was not asked
// by operations.
const idle = 0.05

// add adds what a server that operations ask has counted, the other way round.
func (d *driverShare) add(name string, server results.Resources) {
	sum := func(to **float64, v *float64, key, theirs string) {
		switch {
		case d.Unknown[key] != "":
		case v != nil && *to == nil:
			one := *v
			*to = &one
		case v != nil:
			**to += *v
		case server.Commands == nil || *server.Commands > idle:
			if d.Unknown == nil {
				d.Unknown = map[string]string{}
			}
			d.Unknown[key], *to = name+": "+server.Unknown[theirs], nil // the others alone are no sum
		}
	}
	in, out, commands := resourceKeys[usage.BytesIn], resourceKeys[usage.BytesOut], resourceKeys[usage.Commands]
	sum(&d.BytesIn, server.BytesOut, in, out)
	sum(&d.BytesOut, server.BytesIn, out, in)
	sum(&d.Commands, server.Commands, commands, commands)
}

// poolUse counts how many connections of a pool are in use, at random times.
type poolUse struct {
	size   int
	inUse  func() int
	counts []int64
}

func newPoolUse(size int, inUse func() int) *poolUse {
	if size == 0 {
		return nil
	}
	return &poolUse{size: size, inUse: inUse, counts: make([]int64, size+1)}
}

// sample takes one. A nil poolUse takes none.
func (p *poolUse) sample() {
	if p != nil {
		p.counts[min(p.inUse(), p.size)]++
	}
}

// result is what the samples come to; ok is false where there are none.
func (p *poolUse) result() (c results.Connections, ok bool) {
	if p == nil {
		return c, false
	}
	c.Pool = p.size
	for n, count := range p.counts {
		c.Samples += count
		c.Mean += float64(n) * float64(count)
		if count > 0 {
			c.Max = n
		}
	}
	if c.Samples == 0 {
		return c, false
	}
	c.Mean /= float64(c.Samples)
	c.P50 = p.quantile(results.P50, c.Samples)
	if c.Samples >= results.SamplesFor(results.P999) {
		high := p.quantile(results.P999, c.Samples)
		c.P999 = &high
	}
	return c, true
}

// quantile is the least number that covers the share of the samples.
func (p *poolUse) quantile(q results.Percentile, samples int64) int {
	need, seen := int64(math.Ceil(q.Quantile()*float64(samples))), int64(0)
	for n, count := range p.counts {
		if seen += count; seen >= need {
			return n
		}
	}
	return p.size
}

// connections are the pools of an open path.
type connections struct{ lock, ledger *poolUse }

func newConnections(r *ready) connections {
	s := r.session
	return connections{newPoolUse(s.PoolSize, s.LockInUse), newPoolUse(s.LedgerPoolSize, s.LedgerInUse)}
}

func (c connections) sample() {
	c.lock.sample()
	c.ledger.sample()
}

func (c connections) results() map[string]results.Connections {
	all := map[string]results.Connections{}
	for name, p := range map[string]*poolUse{results.LockPool: c.lock, results.LedgerPool: c.ledger} {
		if r, ok := p.result(); ok {
			all[name] = r
		}
	}
	return all
}

// Held locks: as many as can be taken in heldFor, after as many have been
// taken and released that connections' buffers have their size. Connections
// are few, as what their buffers gain or lose meanwhile passes for locks.
const (
	heldMost    = 2000
	heldLeast   = 100
	heldWarm    = 50 // locks for each worker
	heldFor     = 700 * time.Millisecond
	heldWorkers = 4
)

// heldBytes is the memory, by server, that one lock of the variant takes while
// it is held; nil where that cannot be known.
func (s *site) heldBytes(ctx context.Context, v Variant) (map[string]float64, error) {
	if v.Path.Service() == "" || v.Path.Floor || s.plan.TTL < 4*heldFor {
		return nil, nil
	}
	if err := s.arrange(ctx, v); err != nil {
		return nil, err
	}
	settings := s.settings
	settings.AcquireTimeout, settings.Workers = 0, heldWorkers
	session, err := v.Path.Open(ctx, s.stack, settings)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	t, err := s.task(ctx, session, heldMost+heldWarm*heldWorkers)
	if err != nil {
		return nil, err
	}
	t.distinct, t.popular = 0, nil // each a lock of its own
	t.release(ctx, t.take(ctx, heldMost, heldWarm*heldWorkers))
	before := s.meter.Read(ctx)
	held := t.take(ctx, 0, heldMost)
	after := s.meter.Read(ctx)
	n := float64(len(held))
	t.release(ctx, held)
	if n < heldLeast {
		return nil, nil
	}
	bytes := map[string]float64{}
	for name, reading := range after {
		now, okNow := reading.Values[usage.Held]
		then, okThen := before[name].Values[usage.Held]
		if okNow && okThen && now > then && holds(v.Path, name) {
			bytes[name] = (now - then) / n
		}
	}
	return bytes, nil
}

// holds tells whether locks of the path are on the server.
func holds(p workloads.Path, server string) bool {
	role, _, _ := strings.Cut(server, "-")
	switch p.Service() {
	case workloads.Redis:
		return role == "primary" || role == "replica"
	case workloads.Independents:
		return role == "independent"
	}
	return role == string(p.Service())
}

// take takes the locks of up to n slots from first on, within heldFor, and
// returns what releases them.
func (t *task) take(ctx context.Context, first, n int64) (held []func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, heldFor)
	defer cancel()
	var next atomic.Int64
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range heldWorkers {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < n && ctx.Err() == nil; i = next.Add(1) - 1 {
				if lease, err := t.session.Locker.TryLock(ctx, t.key(first+i), t.ttl); err == nil {
					mu.Lock()
					held = append(held, lease.Unlock)
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	return held
}

// release undoes locks that were held for their memory.
func (t *task) release(ctx context.Context, held []func(context.Context) error) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range heldWorkers {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(held)); i = next.Add(1) - 1 {
				_ = held[i](ctx) // it expires
			}
		})
	}
	workers.Wait()
}
