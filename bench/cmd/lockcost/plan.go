package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"lockcost/bench/capacity/planning"
	"lockcost/results"
)

// planFlags is what plan is asked, as it is written.
type planFlags struct {
	output
	slo                          string
	dirs                         []string
	replicaRTT, clientRTT, holds time.Duration
	question                     planning.Question
}

func newPlan(stdout, stderr io.Writer) *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan --rate N --slo SLO --run DIR…",
		Short: "What the paths will take at a rate, from measured runs alone",
		Long: `Plan interpolates between what was measured: times at a rate and a distance,
headroom, pool sizes, cores, and what a failover lets through. It needs folders
of run, sweep or failover and no server. Where nothing was measured it refuses,
and says what was: exit status 3 if that is so of some paths, 1 if of all.`,
		Example: `  # from a sweep, at 3000 a second
  lockcost plan --rate 3000 --slo p99=10ms --run results/20260131T120000Z

  # with a distance and a hold, and what failovers let through
  lockcost plan --rate 1000 --slo total:p99=20ms --replica-rtt 1ms --hold 40ms --run sweep,failovers`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := f.complete(); err != nil {
				return err
			}
			return makePlan(f, stdout, stderr)
		},
	}
	f.flags(c)
	set := c.Flags()
	set.Float64Var(&f.question.RatePerS, "rate", 1000, "acquisitions per second")
	set.StringVar(&f.slo, "slo", "p99=10ms", "percentile and limit, of the acquire or of another span: p99=5ms, total:p99=20ms")
	set.DurationVar(&f.replicaRTT, "replica-rtt", 0, "round trip between primary and replicas")
	set.DurationVar(&f.clientRTT, "client-rtt", 0, "round trip between the client and Redis")
	set.DurationVar(&f.holds, "hold", 0, "how long each lock is held beside the job")
	set.StringSliceVar(&f.dirs, "run", nil, "folders of run, sweep or failover")
	set.StringSliceVar(&f.question.Paths, "paths", nil, "paths to plan, with their options (default all that were measured)")
	set.StringVar(&f.question.Down, "down", "", "node that is down in the second headroom (default the sweep's, or replica-1)")
	set.BoolVar(&f.question.Mix, "mix", false, "put folders together that were not measured alike, with a warning")
	return c
}

// complete checks the flags, and reads those that are not plain.
func (f *planFlags) complete() error {
	if err := f.check(); err != nil {
		return err
	}
	slo, err := results.ParseSLO(f.slo)
	switch {
	case err != nil:
		return usage(fmt.Errorf("--slo: %w", err))
	case !(f.question.RatePerS > 0) || f.question.RatePerS > 1e9:
		return usage(fmt.Errorf("--rate %g: must be above 0, and at most 1e9", f.question.RatePerS))
	case f.replicaRTT < 0 || f.clientRTT < 0 || f.holds < 0:
		return usage(errors.New("--replica-rtt, --client-rtt and --hold must not be negative"))
	case len(f.dirs) == 0:
		return usage(errors.New("--run: name the folder of at least one run or sweep"))
	}
	f.question.SLO = slo
	f.question.ReplicaRTTNS, f.question.ClientRTTNS, f.question.HoldNS = int64(f.replicaRTT), int64(f.clientRTT), int64(f.holds)
	return nil
}

func makePlan(f planFlags, stdout, stderr io.Writer) error {
	var sources []planning.Source
	for _, dir := range f.dirs {
		if !f.quiet {
			fmt.Fprintln(stderr, "reading", dir)
		}
		source, err := planning.Open(dir)
		if err != nil {
			return usage(err)
		}
		sources = append(sources, source)
	}
	plan, err := planning.Make(f.question, sources)
	if err != nil {
		return usage(err)
	}
	write := func() error { return planning.WriteText(stdout, plan) }
	if f.format == "json" {
		write = func() error { return printJSON(stdout, plan) }
	}
	if err := write(); err != nil {
		return err
	}
	switch refused := plan.Refused(); {
	case refused == len(plan.Paths):
		return &statusError{exitFailed, fmt.Errorf("no path could be planned: %s: %s", plan.Paths[0].Path, plan.Paths[0].Refused)}
	case refused > 0:
		return &statusError{exitDoubtful, fmt.Errorf("%d of %d paths could not be planned, as is said with them", refused, len(plan.Paths))}
	}
	return nil
}
