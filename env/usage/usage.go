// Package usage reads what the servers of a stack have used so far: processor
// time, bytes, commands, fsyncs. Readings only grow; what was used meanwhile is
// the difference of two. Each kind of server is asked as it wants to be: Redis
// by INFO, the ledger by SHOW GLOBAL STATUS, etcd by its metrics, ZooKeeper by
// mntr, and this machine's kernel for the time of processes that are ours.
package usage

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"

	"lockcost/env"
)

// Counter names what is counted.
type Counter string

// The counters.
const (
	CPU         Counter = "cpu"         // processor time, user and system, in nanoseconds
	BytesIn     Counter = "bytes_in"    // received from clients
	BytesOut    Counter = "bytes_out"   // sent to them
	Commands    Counter = "commands"    // Redis commands, SQL statements, requests
	Replication Counter = "replication" // bytes that a primary or a member sent to others, or a replica received
	Fsyncs      Counter = "fsyncs"
	// Held is not a counter: the bytes of memory, or of the data, that may be
	// held for locks at the time.
	Held Counter = "held"
	// saves are the snapshots that a Redis has written.
	saves Counter = "saves"
)

// Counters lists those that grow.
var Counters = []Counter{CPU, BytesIn, BytesOut, Commands, Replication, Fsyncs}

// Reading is one server's counters at a time. Unknown says why one is not
// there; one that the server cannot have is in neither.
type Reading struct {
	Values  map[Counter]float64
	Unknown map[Counter]string
}

func newReading() Reading {
	return Reading{Values: map[Counter]float64{}, Unknown: map[Counter]string{}}
}

// since is what was counted between before and r.
func (r Reading) since(before Reading) Reading {
	used := newReading()
	for _, c := range Counters {
		now, okNow := r.Values[c]
		then, okThen := before.Values[c]
		switch {
		case !okNow && r.Unknown[c] != "":
			used.Unknown[c] = r.Unknown[c]
		case okNow && !okThen:
			used.Unknown[c] = cmp.Or(before.Unknown[c], "the server did not tell before")
		case c == Fsyncs && okNow && r.Values[saves] != before.Values[saves]:
			used.Unknown[c] = "Redis does not count those of its snapshots, and wrote one"
		case okNow && now < then:
			used.Unknown[c] = "the server was started anew meanwhile"
		case okNow:
			used.Values[c] = now - then
		}
	}
	return used
}

// Usage is readings by the servers' names.
type Usage map[string]Reading

// Since is what was used between before and u.
func (u Usage) Since(before Usage) Usage {
	used := Usage{}
	for name, reading := range u {
		if then, ok := before[name]; ok {
			used[name] = reading.since(then)
		}
	}
	return used
}

// Meter reads a stack's servers, over connections that it keeps open. It is
// not safe for concurrent use.
type Meter struct {
	nodes   []env.Node
	readers []reader
}

// reader reads one server.
type reader interface {
	read(ctx context.Context) (Reading, error)
	close() error
}

// NewMeter returns a meter of the stack's servers. Nothing is dialled yet.
func NewMeter(s *env.Stack) *Meter {
	m := &Meter{nodes: s.Nodes}
	for _, n := range s.Nodes {
		var r reader
		switch n.Kind {
		case env.KindRedis:
			r = newRedis(s.Redis.Options(n.Addr), true)
		case env.KindSentinel:
			r = newRedis(s.Redis.SentinelOptions(n.Addr), false)
		case env.KindLedger:
			r = newLedger(s.Ledger)
		case env.KindEtcd:
			r = etcd{s.Etcd, n.Addr}
		case env.KindZooKeeper:
			r = zooKeeper{s.ZooKeeper, n.Addr}
		default:
			r = silent{}
		}
		m.readers = append(m.readers, r)
	}
	return m
}

// Read reads every server. What one that does not answer has used is not
// known, but for its processor time where the kernel tells.
func (m *Meter) Read(ctx context.Context) Usage {
	readings := make([]Reading, len(m.nodes))
	var all sync.WaitGroup
	for i, n := range m.nodes {
		all.Go(func() {
			r, err := m.readers[i].read(ctx)
			if err != nil {
				r = newReading()
				for _, c := range Counters {
					r.Unknown[c] = "it did not answer: " + err.Error()
				}
			}
			if used, ok := cpuTime(n); ok {
				r.Values[CPU] = float64(used)
				delete(r.Unknown, CPU)
			}
			readings[i] = r
		})
	}
	all.Wait()
	u := Usage{}
	for i, n := range m.nodes {
		u[n.Name] = readings[i]
	}
	return u
}

// Close ends the connections. A nil Meter is closed.
func (m *Meter) Close() error {
	if m == nil {
		return nil
	}
	var errs []error
	for _, r := range m.readers {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}

// silent is a server that nobody can be asked about.
type silent struct{}

func (silent) read(context.Context) (Reading, error) { return newReading(), nil }
func (silent) close() error                          { return nil }

// take notes a counter that is told as text, which may be absent: the server
// does not count it.
func (r Reading) take(c Counter, text string, scale float64) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		r.Values[c] = v * scale
		return
	}
	r.Unknown[c] = "this server does not count it"
}

// noCPU is why the processor time of a server is not known.
const noCPU = "the server does not tell, and is no process of this machine's that lockcost started"
