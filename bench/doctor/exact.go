package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"lockcost/env/placement"
	"lockcost/env/reexec"
	"lockcost/results"
	"lockcost/workloads/lock"
)

const exactName = "exact-delay server"

// Part is the exact-delay server: a process on the servers' CPUs that
// answers each request a given time after it came, as exactly as a CPU that
// does nothing else can. It has a port for each delay, and logs how late it
// really answered, so that it is judged too.
func Part() reexec.Part {
	return reexec.Part{Name: exactName, Run: func(_ context.Context, c *reexec.Child) error {
		var delays []time.Duration
		if err := c.Config(&delays); err != nil {
			return err
		}
		server, err := listenExact(delays)
		if err != nil {
			return err
		}
		go server.serve()
		if err := c.Ready(server.addrs()); err != nil {
			return err
		}
		return c.Serve(func(json.RawMessage) (any, error) { return server.late(), nil })
	}}
}

// exactServer is such a process, with the driver's connections to it.
type exactServer struct {
	process *reexec.Process
	clients []*lock.Client // by delay
	log     []exactLate    // by delay, known when it has stopped
}

// exactLate is how late answers were at one delay, in nanoseconds.
type exactLate struct{ P50NS, P90NS int64 }

// startExact starts one, and returns nil on systems that have none.
func startExact(ctx context.Context, cpus []int, delays []time.Duration) (_ *exactServer, err error) {
	if !exactOffered {
		return nil, nil
	}
	s := &exactServer{}
	var addrs []string
	// Before ordinary threads: another server's work would delay its answers.
	s.process, err = reexec.Start(ctx, reexec.Options{
		Part: exactName, Config: delays, CPUs: cpus, Policy: placement.Preferred,
	}, &addrs)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	for _, addr := range addrs {
		client, err := lock.Open(ctx, lock.Config{Primary: addr, PoolSize: connections})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", exactName, err)
		}
		s.clients = append(s.clients, client)
		if err := client.Fill(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", exactName, err)
		}
	}
	return s, nil
}

// stop ends the process once it has told how late it was.
func (s *exactServer) stop(ctx context.Context) error {
	if s == nil {
		return nil
	}
	defer s.close()
	return s.process.Call(ctx, nil, &s.log)
}

func (s *exactServer) close() {
	if s == nil {
		return
	}
	for _, c := range s.clients {
		_ = c.Close()
	}
	_ = s.process.Close()
}

// lateOf reads a log of answers.
func lateOf(h *results.Histogram) exactLate {
	return exactLate{h.Quantile(0.5), h.Quantile(0.9)}
}
