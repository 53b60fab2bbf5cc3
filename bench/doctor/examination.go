package doctor

import (
	"context"
	"strconv"
	"time"

	"lockcost/bench/load"
	"lockcost/results"
	"lockcost/workloads/lock"
)

// connections are more than are ever in use at the pace of an examination,
// and as many as the throughput is measured with.
const connections = 50

// A CPU is kept busy for busyTime in each round, and what takes it away for
// longer than interruption is one.
const (
	busyTime     = 200 * time.Millisecond
	interruption = 10 * time.Microsecond
)

// setTTL is how long the keys that are set stay.
const setTTL = time.Second

// examination is what has been measured so far.
type examination struct {
	Options
	extent
	plan   load.Plan // of the driver's slices, but for their length
	client *lock.Client
	set    *lock.SetNX
	keys   int64
	exact  *exactServer // nil where this system has none

	timer, pacer         *results.Histogram
	interrupted          *results.Histogram // how long the CPU was taken away
	busy                 time.Duration      // while it was busy for so long
	rawPing, drivenPing  *results.Histogram
	rawSet, drivenSet    *results.Histogram
	linearity            []*results.Histogram // by delay
	instrument           results.Instrument   // the worst of the driver's slices
	ceilings, benchmarks []throughput
}

func newExamination(ctx context.Context, o Options) (_ *examination, err error) {
	e := &examination{
		Options: o, extent: shortFor(o.Samples),
		plan: load.Plan{
			Rate: pace, Warmup: 20 * time.Millisecond, Workers: connections, Timeout: time.Second, Sleep: o.Shared,
			Stages:   []results.SpanName{results.SpanAcquireService},
			Classify: func(err error) (load.Outcome, string) { return load.Failed, lock.Kind(err) },
		},
		timer: results.NewHistogram(), pacer: results.NewHistogram(), interrupted: results.NewHistogram(),
		rawPing: results.NewHistogram(), drivenPing: results.NewHistogram(),
		rawSet: results.NewHistogram(), drivenSet: results.NewHistogram(),
	}
	if o.Full {
		e.extent = full
	}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	e.exact, err = startExact(ctx, o.CPUs, e.delays)
	if err != nil {
		return nil, err
	}
	if e.exact != nil {
		for range e.delays {
			e.linearity = append(e.linearity, results.NewHistogram())
		}
	}
	if err := e.connect(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// connect opens the driver's connections to Redis.
func (e *examination) connect(ctx context.Context) (err error) {
	r := e.Redis
	if r.Primary == "" || r.TLS != nil {
		return nil
	}
	e.client, err = lock.Open(ctx, lock.Config{
		Primary: r.Primary, Username: r.Username, Password: r.Password, DB: r.DB, PoolSize: connections,
	})
	if err != nil {
		return err
	}
	if err := e.client.Fill(ctx); err != nil {
		return err
	}
	e.set, err = lock.NewSetNX(e.client, lock.FormCommand)
	return err
}

func (e *examination) close() {
	if e.client != nil {
		_ = e.client.Close()
	}
	e.exact.close()
}

// slice is one stretch of measuring one thing.
type slice struct {
	name string
	run  func(context.Context) error
}

// slices are what a round is made of.
func (e *examination) slices() []slice {
	all := []slice{
		{"the kernel's timer", func(ctx context.Context) error { return timerLag(ctx, e.timer, e.lag) }},
		{"the driver's pacer", e.pace},
		{"interruptions", func(ctx context.Context) error {
			e.busy += busyTime
			return interruptions(ctx, e.interrupted, busyTime)
		}},
	}
	if e.client != nil {
		ping := lock.NewPing(e.client)
		all = append(all,
			slice{"PING by raw calls", e.raw(e.rawPing, func() [][]byte { return [][]byte{[]byte("PING")} })},
			slice{"PING through the driver", e.driven(e.drivenPing, ping, e.trips)},
			slice{"SET by raw calls", e.raw(e.rawSet, e.setCommand)},
			slice{"SET through the driver", e.driven(e.drivenSet, e.set, e.trips)})
	}
	for i, histogram := range e.linearity {
		name := "linearity at " + e.delays[i].String()
		all = append(all, slice{name, e.driven(histogram, lock.NewPing(e.exact.clients[i]), int(e.linear.Seconds()*pace))})
	}
	return all
}

// setCommand is SET NX PX as the lock writes it, on a fresh key.
func (e *examination) setCommand() [][]byte {
	return [][]byte{
		[]byte("SET"), []byte(e.key()), []byte("0123456789abcdef-0"),
		[]byte("PX"), strconv.AppendInt(nil, setTTL.Milliseconds(), 10), []byte("NX"),
	}
}

// key returns a key that was not used before. It is called by one goroutine
// at a time, but for the throughput's.
func (e *examination) key() string {
	e.keys++
	return e.Prefix + "doctor:" + strconv.FormatInt(e.keys, 10)
}
