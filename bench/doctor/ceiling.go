package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"lockcost/bench/load"
	"lockcost/workloads/lock"
)

// The throughput is measured in turns of driver and redis-benchmark.
const (
	ceilingRounds  = 4
	ceilingTime    = 1500 * time.Millisecond // of the driver in each
	benchmarkCalls = 60_000                  // of redis-benchmark in each
)

// throughput is what a client did as fast as it could.
type throughput struct {
	operations   int64
	elapsed, cpu time.Duration
}

func total(rounds []throughput) (sum throughput, ok bool) {
	for _, r := range rounds {
		sum.operations += r.operations
		sum.elapsed += r.elapsed
		sum.cpu += r.cpu
	}
	return sum, sum.operations > 0
}

func (t throughput) perS() *float64 {
	rate := float64(t.operations) / t.elapsed.Seconds()
	return &rate
}

func (t throughput) cpuPerOp() *float64 {
	each := float64(t.cpu) / float64(t.operations)
	return &each
}

// ceiling lets the driver and then redis-benchmark go as fast as they can.
func (e *examination) ceiling(ctx context.Context) error {
	driver, err := e.driverCeiling(ctx)
	if err != nil {
		return err
	}
	e.ceilings = append(e.ceilings, driver)
	benchmark, err := e.redisBenchmark(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	e.benchmarks = append(e.benchmarks, benchmark)
	return nil
}

// driverCeiling offers far more than can be done to as many workers as there
// are connections: each then starts its next operation when the one before is
// done. That closes the loop, and all of the driver is in it.
func (e *examination) driverCeiling(ctx context.Context) (throughput, error) {
	plan := e.plan
	plan.Rate, plan.Warmup = load.MaxRate, 0
	plan.Duration, plan.Timeout = time.Minute, time.Minute // ended before by the context
	ping := lock.NewPing(e.client)
	within, cancel := context.WithTimeout(ctx, ceilingTime)
	defer cancel()
	before := cpuTime(syscall.RUSAGE_SELF)
	recording, err := load.Run(within, plan, func(ctx context.Context) (context.Context, load.Operation) {
		return ctx, func(ctx context.Context, o *load.Op) error {
			_, err := ping.TryLock(ctx, "", 0)
			o.End(0)
			return err
		}
	})
	switch {
	case err != nil:
		return throughput{}, err
	case ctx.Err() != nil:
		return throughput{}, context.Cause(ctx)
	case recording.Done < recording.Completed:
		return throughput{}, fmt.Errorf("%d of %d PINGs failed", recording.Completed-recording.Done, recording.Completed)
	}
	return throughput{recording.Done, recording.Window, cpuTime(syscall.RUSAGE_SELF) - before}, nil
}

// redisBenchmark runs Redis's own load generator in our place. It starts as
// our child does, on our CPUs and with our priority.
func (e *examination) redisBenchmark(ctx context.Context) (throughput, error) {
	if e.Redis.Password != "" { // it takes one on its command line, for all to see
		return throughput{}, exec.ErrNotFound
	}
	host, port, err := net.SplitHostPort(e.Redis.Primary)
	if err != nil {
		return throughput{}, err
	}
	cmd := exec.CommandContext(ctx, "redis-benchmark", "-h", host, "-p", port, "-q",
		"-c", strconv.Itoa(connections), "-P", "1", "-n", strconv.Itoa(benchmarkCalls), "PING")
	began := time.Now()
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return throughput{}, err
	case ctx.Err() != nil:
		return throughput{}, context.Cause(ctx)
	case err != nil:
		return throughput{}, fmt.Errorf("redis-benchmark: %w: %s", err, out)
	}
	return throughput{benchmarkCalls, time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// cpuTime is what this process has used (getrusage(2)).
func cpuTime(who int) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(who, &usage); err != nil {
		return 0 // cannot fail for ourselves
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
