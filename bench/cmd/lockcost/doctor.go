package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lockcost/bench"
	"lockcost/bench/doctor"
	"lockcost/env"
	"lockcost/env/placement"
	"lockcost/results"
)

func newDoctor(stdout, stderr io.Writer) *cobra.Command {
	var o output
	var servers serverFlags
	var quick bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Measure the instrument itself, beside the machine's own floor",
		Long: `Doctor measures the driver on this machine, in turns with what the kernel can do
by blocking system calls on one thread, on the same CPUs and at the same pace:
how late operations start, what the driver adds to a PING and to a SET, whether
it adds the same to a slow answer as to a fast one (against a server that
answers after an exact time), and how its throughput compares with
redis-benchmark's, where that is installed. It starts a Redis of its own, with
--env container in a container.

Exit status 3 says that a target is missed. A shorter form runs before each
lockcost run and is stored with it.`,
		Example: `  lockcost doctor                  # some 80 seconds
  lockcost doctor --quick          # 15 seconds: no throughput, fewer samples
  lockcost doctor --format json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if err := servers.check(c, envProcess, envContainer); err != nil {
				return usage(err)
			}
			return examine(c.Context(), !quick, o, &servers, stdout, stderr)
		},
	}
	o.flags(c)
	servers.envFlag(c.Flags(), "where its Redis runs: process or container")
	servers.redisImageFlags(c.Flags())
	c.Flags().BoolVar(&quick, "quick", false, "what lockcost run does before it begins: no throughput, fewer samples and delays")
	return c
}

func examine(ctx context.Context, full bool, o output, servers *serverFlags, stdout, stderr io.Writer) error {
	progress := newProgress(stderr, o.quiet)
	defer progress.close()
	found, err := examineOwn(ctx, full, servers, progress)
	progress.close()
	switch {
	case ctx.Err() != nil:
		return &statusError{exitInterrupted, errors.New("interrupted")}
	case err != nil:
		return err
	}
	if o.format == "json" {
		err = printJSON(stdout, found)
	} else {
		err = results.WriteDoctor(stdout, found)
	}
	if err != nil {
		return err
	}
	for _, target := range found.Targets() {
		if !target.Reached {
			return &statusError{exitDoubtful, errors.New("the instrument misses a target on this machine, at this hour")}
		}
	}
	return nil
}

// examineOwn examines the instrument with a Redis that it starts.
func examineOwn(ctx context.Context, full bool, servers *serverFlags, p *progress) (found results.Doctor, err error) {
	p.show(bench.Progress{Step: "starting a Redis"})
	cpus := placement.Current().Pin()
	stack, err := servers.provider(p.show).Start(ctx, env.Spec{Pin: cpus})
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, stack.Close()) }()
	return doctor.Examine(ctx, doctor.Options{
		Redis: stack.Redis, Prefix: "lockcost:", CPUs: cpus, Full: full,
		Watch: func(_ string, done, total int) {
			p.show(bench.Progress{Step: fmt.Sprintf("measuring the instrument: %d %% done", 100*done/total/10*10), Done: done, Total: total})
		},
	})
}
