package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
first's hold, so that a lost lock is found out. Every trial has servers of its
own, of the lock service that its path uses, and keeps its history. A scenario is
run for the paths whose lock service it is about: by default the replicated
Redis. optimistic takes no lock, so that of these only a paused holder concerns
it.

` + scenariosHelp(),
		Example: `  # every scenario for the four paths, ten trials each: some 26 minutes
  lockcost failover

  # a look, in under four minutes
  lockcost failover --quick

  # one scenario, or one of its variants
  lockcost failover --scenario crash-unreplicated,partition:min-replicas --trials 20

  # how long a failover takes, and what of that is Sentinel's waiting
  lockcost failover --scenario crash-steady --paths setnx --down-after 500ms,1s,2s,5s

  # every path that the servers can run, each with the faults of its own service
  lockcost failover --paths all --quick

  # who is told, and when, that a lock is lost
  lockcost failover --scenario holder-cut-off \
      --paths setnx,watchdog,watchdog:notify=yes,redlock,etcd,zookeeper

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
		text += fmt.Sprintf("  %-37s %s%s\n", s.Label(), s.Summary, servicesHelp(s))
	}
	return strings.TrimRight(text, "\n")
}

// servicesHelp says which lock services a scenario is for, other than the
// replicated Redis alone.
func servicesHelp(s failover.Scenario) string {
	var names []string
	for _, service := range s.For {
		if service != "" {
			names = append(names, string(service))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func (f *failoverFlags) flags(c *cobra.Command) {
	p, set := &f.plan, c.Flags()
	set.SortFlags = false
	set.StringVar(&f.scenarios, "scenario", "all", "scenarios to make, or all that concern the paths")
	set.StringVar(&f.paths, "paths", "setnx,setnx-wait,fencing,idempotent", "paths to try, options as in lockcost run; or all, of which those are left out that the servers cannot run")
	set.IntVar(&p.Trials, "trials", p.Trials, "trials of each scenario and path")
	set.BoolVar(&p.Quick, "quick", false, fmt.Sprintf("a look: %d trial of each unless --trials is given, and timed ones two at once", quickTrials))
	set.Float64Var(&p.Rate, "rate", p.Rate, "acquisitions per second, of both clients together, in scenarios that are timed; some 30 in the others")
	set.StringVar(&f.downAfter, "down-after", "500ms", "Sentinel's down-after-milliseconds; of several, crash-steady is run at each, the others at the first")
	set.StringVar(&f.replicaRTT, "replica-rtt", "0", "round trips to add between primary and replica: crash-steady is run, and the replication window measured, at each")
	set.DurationVar(&p.Hold, "hold", p.Hold, "how long the first client holds each lock, except where a scenario says (0: down-after and 2s)")
	set.DurationVar(&p.TTL, "ttl", p.TTL, "of the locks, and the length of sessions that hold them, except where a scenario lets them run out")
	set.DurationVar(&p.OpTimeout, "op-timeout", p.OpTimeout, "an acquisition is given up on after this")
	set.DurationVar(&p.WaitTimeout, "wait-timeout", p.WaitTimeout, "of WAIT; whole milliseconds, at least 1ms")
	set.IntVar(&p.Sentinels, "sentinels", p.Sentinels, "Sentinels of each trial")
	set.BoolVar(&f.windows, "windows", true, "measure the replication window too")
	set.IntVar(&p.SideBySide, "side-by-side", p.SideBySide, "trials at once, where nothing is timed (0: 7 a CPU); one of etcd counts for 3, one of ZooKeeper for 10")
	set.Uint64Var(&p.Seed, "seed", p.Seed, "of the order of the trials (0: drawn, and recorded)")
	f.envFlag(set, "where the servers come from: process or container")
	f.programFlag(set)
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
	if err := f.checkNames(); err != nil {
		return usage(err)
	}
	if err := f.checkLists(); err != nil {
		return usage(err)
	}
	p.Windows = f.windows && p.Uses(workloads.Redis)
	if p.Quick && !c.Flags().Changed("trials") {
		p.Trials = quickTrials
	}
	if p.Seed == 0 {
		p.Seed = uint64(time.Now().UnixNano())
	}
	if err := errors.Join(p.Check(), f.checkUse(c)); err != nil {
		return usage(err)
	}
	return nil
}

// checkUse refuses flags that would change nothing.
func (f *failoverFlags) checkUse(c *cobra.Command) error {
	p := &f.plan
	redis := p.Uses(workloads.Redis)
	timed, onlyTimed := p.Timed()
	for _, flag := range []struct {
		name    string
		applies bool
		to      string
	}{
		{"down-after", redis, "a path with a replicated Redis"},
		{"sentinels", redis, "a path with a replicated Redis"},
		{"windows", redis || !f.windows, "a path with a replicated Redis"},
		{"replica-rtt", redis && (p.Varies() || p.Windows), "crash-steady and the replication window"},
		{"wait-timeout", slices.ContainsFunc(p.Paths, workloads.Path.Replicated), "a path that waits for replicas"},
		{"rate", timed || p.Windows || p.Rate < 30, "scenarios that are timed"},
		{"side-by-side", !onlyTimed, "scenarios that are not timed"},
		{"hold", p.Holds(), "scenarios whose locks are held for no time of their own"},
		{"ttl", p.Lasts(), "scenarios whose locks do not run out"},
	} {
		if c.Flags().Changed(flag.name) && !flag.applies {
			return fmt.Errorf("--%s: it is for %s, and there is none among the scenarios and paths", flag.name, flag.to)
		}
	}
	if len(p.DownAfter) > 1 && !p.Varies() {
		return errors.New("--down-after: only crash-steady is run at several, and it is not among the scenarios")
	}
	return nil
}

// checkNames reads the paths, and the scenarios that concern them.
func (f *failoverFlags) checkNames() (err error) {
	p := &f.plan
	if p.Paths, p.Lenient, err = findPaths(f.paths); err != nil {
		return err
	}
	named := map[string]bool{}
	for _, path := range p.Paths {
		if named[path.Label()] {
			return fmt.Errorf("--paths: %s is named twice", path.Label())
		}
		named[path.Label()] = true
	}
	p.Scenarios = failover.For(p.Paths)
	if f.scenarios == "all" {
		return nil
	}
	p.Scenarios = nil
	for name := range strings.SplitSeq(f.scenarios, ",") {
		found, err := failover.FindFor(name, p.Paths)
		if err != nil {
			return fmt.Errorf("--scenario: %w", err)
		}
		for _, s := range found {
			if named[s.Label()] {
				return fmt.Errorf("--scenario: %s is named twice", s.Label())
			}
			named[s.Label()] = true
		}
		p.Scenarios = append(p.Scenarios, found...)
	}
	if p.Lenient {
		p.Paths = slices.DeleteFunc(p.Paths, func(path workloads.Path) bool { return !failover.Concerns(p.Scenarios, path) })
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

func (f *failoverFlags) run(ctx context.Context, c *cobra.Command, stdout, stderr io.Writer) (err error) {
	if err := f.check(c); err != nil {
		return err
	}
	if f.out == "" {
		if f.out, err = newFolder(); err != nil {
			return err
		}
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
