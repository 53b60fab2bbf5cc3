package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockcost/bench/failover"
	"lockcost/results"
	"lockcost/workloads"
)

// failoverFlags are the flags of `lockcost failover`.
type failoverFlags struct {
	output
	serverFlags
	plan                                    failover.Plan
	scenarios, paths, downAfter, replicaRTT string
	windows                                 bool
	out                                     string
}

// quickTrials is --trials with --quick.
const quickTrials = 1

func newFailover(stdout, stderr io.Writer) *cobra.Command {
	f := &failoverFlags{plan: failover.DefaultPlan()}
	c := &cobra.Command{
		Use:   "failover",
		Short: "Make failovers that lose locks, and count what each path lets through",
		Long: `Failover injects the faults that lose locks, on real servers that it starts, and
counts what follows for every path: locks granted twice, orders charged twice,
tokens repeated, rightful holders refused, locks left behind, and how long each
step of a failover takes. Two clients ask for every order, the second within the
first's hold, so that a lost lock is found out. Every trial has Redis servers and
Sentinels of its own, and keeps its history.

` + scenariosHelp(),
		Example: `  # every scenario for the four paths, ten trials each: some 26 minutes
  lockcost failover

  # a look, in under four minutes
  lockcost failover --quick

  # one scenario, or one of its variants
  lockcost failover --scenario crash-unreplicated,partition:min-replicas --trials 20

  # how long a failover takes, and what of that is Sentinel's waiting
  lockcost failover --scenario crash-steady --paths setnx --down-after 500ms,1s,2s,5s

  # what a crash loses, and the replication window, at several distances
  lockcost failover --scenario crash-steady --replica-rtt 0,1ms,10ms`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c, stdout, stderr) },
	}
	f.output.flags(c)
	f.flags(c)
	return c
}

// scenariosHelp lists the scenarios and their variants.
func scenariosHelp() string {
	text := "Scenarios, variants as name:variant:\n"
	for _, s := range failover.Catalogue() {
		text += fmt.Sprintf("  %-37s %s\n", s.Label(), s.Summary)
	}
	return strings.TrimRight(text, "\n")
}

func (f *failoverFlags) flags(c *cobra.Command) {
	p, set := &f.plan, c.Flags()
	set.SortFlags = false
	set.StringVar(&f.scenarios, "scenario", "all", "scenarios to make, or all")
	set.StringVar(&f.paths, "paths", "setnx,setnx-wait,fencing,idempotent", "paths to try, options as in lockcost run")
	set.IntVar(&p.Trials, "trials", p.Trials, "trials of each scenario and path")
	set.BoolVar(&p.Quick, "quick", false, fmt.Sprintf("a look: %d trial of each unless --trials is given, and timed ones two at once", quickTrials))
	set.Float64Var(&p.Rate, "rate", p.Rate, "acquisitions per second, of both clients together, in scenarios that are timed; some 30 in the others")
	set.StringVar(&f.downAfter, "down-after", "500ms", "Sentinel's down-after-milliseconds; of several, crash-steady is run at each, the others at the first")
	set.StringVar(&f.replicaRTT, "replica-rtt", "0", "round trips to add between primary and replica: crash-steady is run, and the replication window measured, at each")
	set.DurationVar(&p.Hold, "hold", p.Hold, "how long the first client holds each lock (0: down-after and 2s)")
	set.DurationVar(&p.TTL, "ttl", p.TTL, "of the locks, except where a scenario lets them run out")
	set.DurationVar(&p.OpTimeout, "op-timeout", p.OpTimeout, "an acquisition is given up on after this")
	set.DurationVar(&p.WaitTimeout, "wait-timeout", p.WaitTimeout, "of WAIT; whole milliseconds, at least 1ms")
	set.IntVar(&p.Sentinels, "sentinels", p.Sentinels, "Sentinels of each trial")
	set.BoolVar(&f.windows, "windows", true, "measure the replication window too")
	set.IntVar(&p.SideBySide, "side-by-side", p.SideBySide, "trials at once, where nothing is timed (0: 7 a CPU)")
	set.Uint64Var(&p.Seed, "seed", p.Seed, "of the order of the trials (0: drawn, and recorded)")
	f.envFlag(set, "where the servers come from: process or container")
	f.imageFlags(set)
	set.StringVar(&f.out, "out", "", "folder for what comes out (default results/<UTC time>)")
}

// check turns the flags into a plan, or says what is wrong with them.
func (f *failoverFlags) check(c *cobra.Command) error {
	if err := f.output.check(); err != nil {
		return err
	}
	if err := f.serverFlags.check(c, envProcess, envContainer); err != nil {
		return usage(err)
	}
	if err := f.links(); err != nil {
		return usage(fmt.Errorf("failover: %w", err))
	}
	p := &f.plan
	if err := errors.Join(f.checkNames(), f.checkLists()); err != nil {
		return usage(err)
	}
	p.Windows = f.windows
	if p.Quick && !c.Flags().Changed("trials") {
		p.Trials = quickTrials
	}
	if p.Seed == 0 {
		p.Seed = uint64(time.Now().UnixNano())
	}
	if f.out == "" {
		f.out = filepath.Join("results", time.Now().UTC().Format("20060102T150405Z"))
	}
	if err := p.Check(); err != nil {
		return usage(err)
	}
	return nil
}

func (f *failoverFlags) checkNames() error {
	if f.scenarios != "all" {
		f.plan.Scenarios = nil
		named := map[string]bool{}
		for name := range strings.SplitSeq(f.scenarios, ",") {
			found, err := failover.Find(name)
			if err != nil {
				return fmt.Errorf("--scenario: %w", err)
			}
			for _, s := range found {
				if named[s.Label()] {
					return fmt.Errorf("--scenario: %s is named twice", s.Label())
				}
				named[s.Label()] = true
			}
			f.plan.Scenarios = append(f.plan.Scenarios, found...)
		}
	}
	named := map[string]bool{}
	for name := range strings.SplitSeq(f.paths, ",") {
		path, err := workloads.Find(name)
		if err != nil {
			return fmt.Errorf("--paths: %w", err)
		}
		if named[path.Label()] {
			return fmt.Errorf("--paths: %s is named twice", path.Label())
		}
		named[path.Label()] = true
		f.plan.Paths = append(f.plan.Paths, path)
	}
	return nil
}

func (f *failoverFlags) checkLists() (err error) {
	if f.plan.DownAfter, err = roundTrips("down-after", f.downAfter); err != nil {
		return err
	}
	f.plan.ReplicaRTTs, err = roundTrips("replica-rtt", f.replicaRTT)
	return err
}

func (f *failoverFlags) run(ctx context.Context, c *cobra.Command, stdout, stderr io.Writer) error {
	if err := f.check(c); err != nil {
		return err
	}
	folder, err := results.CreateFailover(f.out)
	if err != nil {
		return usage(err)
	}
	progress := newProgress(stderr, f.quiet)
	defer progress.close()
	record, err := failover.Run(ctx, f.plan, f.provider(progress.show), folder, progress.showTrials)
	progress.close()
	if record == nil || record.Count() == 0 && len(record.Windows) == 0 {
		err = errors.Join(err, folder.Discard())
		if ctx.Err() != nil {
			return &statusError{exitInterrupted, errors.New("interrupted before any trial had ended")}
		}
		return err
	}
	if failed := f.print(stdout, record); failed != nil {
		return errors.Join(err, failed)
	}
	fmt.Fprintf(stderr, "Kept in %s. Draw it with: lockcost plot %s\n", f.out, f.out)
	return failoverOutcome(ctx, record, err)
}

func (f *failoverFlags) print(w io.Writer, record *results.Failover) error {
	if f.format == "json" {
		return printJSON(w, record)
	}
	return results.WriteFailoverTable(w, record)
}

// failoverOutcome is the exit status that finished trials deserve.
func failoverOutcome(ctx context.Context, record *results.Failover, err error) error {
	switch {
	case ctx.Err() != nil:
		return &statusError{exitInterrupted, errors.Join(errors.New("interrupted: the trials that had ended are kept"), err)}
	case err != nil:
		return err
	case record.Doubtful() > 0:
		return &statusError{exitDoubtful, fmt.Errorf("in %d of %d rows every trial was void and shows nothing: the reasons are in the table and in failover.json", record.Doubtful(), len(record.Scenarios))}
	}
	return nil
}
