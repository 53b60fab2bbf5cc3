// Lockcost measures what it costs to make a Redis lock safe, and draws it.
//
//	lockcost run       measure paths on a stack of real servers
//	lockcost failover  make failovers that lose locks, and count what follows
//	lockcost plot      draw a run's figures again, and print its table
//	lockcost doctor    measure the instrument itself
//	lockcost env       leave a stack running, to try things on
//
// Each subcommand has --help with examples. Exit status: 0 done and valid;
// 1 failed; 2 wrong usage; 3 done, but a measurement is not valid or the
// system was saturated; 130 interrupted.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"lockcost/bench"
	"lockcost/bench/failover"
	"lockcost/bench/load"
	"lockcost/env/placement"
	"lockcost/env/reexec"
	"lockcost/env/supervisor"
)

// secondSignal is how long after the first a second signal is another's.
const secondSignal = 500 * time.Millisecond

func main() {
	reexec.Main(parts()...)
	if err := placement.Enter(); err != nil {
		fmt.Fprintf(os.Stderr, "lockcost: %v; going on without\n", err)
	}
	load.HoldGarbage()
	signal.Ignore(syscall.SIGPIPE) // nobody reading on is no reason to lose a run
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second Ctrl-C ends it at once, unless it comes with the first:
	// timeout(1) signals its child, and then the group that the child is in.
	context.AfterFunc(ctx, func() { time.Sleep(secondSignal); stop() })
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// parts are the processes of their own that the command needs.
func parts() []reexec.Part {
	return slices.Concat(bench.Parts(), failover.Parts(), []reexec.Part{supervisor.Part()})
}
