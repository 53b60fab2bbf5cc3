package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockcost/bench"
	"lockcost/bench/capacity"
	"lockcost/env"
	"lockcost/results"
)

// sweepFlags are the flags of `lockcost sweep`: those of run, and its own.
type sweepFlags struct {
	runFlags
	sweep capacity.Plan
	slos  []string
	vary  []string
	down  []string
	args  []string // for a start that goes on
}

func newSweep(stdout, stderr io.Writer) *cobra.Command {
	f := &sweepFlags{sweep: capacity.DefaultPlan()}
	f.plan = f.sweep.Plan
	c := &cobra.Command{
		Use:   "sweep",
		Short: "Find the highest rate that keeps an SLO, and what the cost depends on",
		Long: `Sweep finds, for each path and --slo, the highest rate that keeps it: it doubles
the rate until a step fails, bisects to 5 %, and measures the steps at the
boundary again, those of all paths in shuffled order. A step passes when the
upper bound of its interval meets the SLO, the rate was achieved and the
instrument was valid. A step that the instrument could not drive is reported as
the instrument's limit, never as the system's. At the edge a closed loop is run
beside the open one.

With --vary it measures what the paths cost under each value of a condition, at
--rate, --runs times, beside the floors. What can be varied:
` + capacity.VariationsHelp() + `

An SLO is a percentile (p50, p90, p99 or p99.9) of the acquire response and its
limit, or of total, effect or release: total:p99=20ms.

Everything is kept in a folder: capacity.json, and an HDR interval log for each
path. Ctrl-C keeps what is known; a second start with the same --out goes on.`,
		Example: `  # how much can the four paths take, at a P99 of 5 ms? some ten minutes
  lockcost sweep

  # two SLOs, one of the whole job
  lockcost sweep --paths setnx,setnx-wait --slo p99=5ms --slo total:p99=20ms

  # what WAIT costs at the distances that replicas have
  lockcost sweep --paths setnx,setnx-wait --vary replica-rtt=0,250us,500us,1ms,2ms,5ms,10ms

  # contention: fewer keys, and keys of which some are hot
  lockcost sweep --paths setnx,fencing --vary keys=10,100,1000
  lockcost sweep --paths setnx,fencing --keys 1000 --vary zipf=0,0.8,1.2

  # capacity while a replica is down
  lockcost sweep --replicas 2 --down replica-2

  # go on with a sweep that was ended
  lockcost sweep --out results/20260131T120000Z

  # servers of your own
  lockcost sweep --env external --redis 10.0.0.5:6379 --paths setnx,setnx-wait`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c, stdout, stderr) },
	}
	f.output.flags(c)
	f.flags(c)
	return c
}

func (f *sweepFlags) flags(c *cobra.Command) {
	set := c.Flags()
	set.SortFlags = false
	set.StringArrayVar(&f.slos, "slo", nil, "percentile and limit to search the highest rate for, such as p99=5ms; may be given several times (default p99=5ms, and none with --vary)")
	set.StringArrayVar(&f.vary, "vary", nil, "condition and its values, NAME=v1,v2,…; may be given several times")
	set.Float64Var(&f.sweep.From, "from", f.sweep.From, "rate of the search's first step, per second")
	set.Float64Var(&f.sweep.To, "to", f.sweep.To, "highest rate to try")
	set.Float64Var(&f.sweep.Least, "least", f.sweep.Least, "lowest rate to try, where none higher keeps the SLO")
	set.DurationVar(&f.sweep.Step, "step", f.sweep.Step, "least measured window of a step; longer where its percentile needs it")
	set.IntVar(&f.sweep.Repeat, "repeat", f.sweep.Repeat, "runs of each of the two steps at the boundary; intervals need 6")
	set.StringSliceVar(&f.down, "down", nil, "nodes to end before anything is measured, such as replica-1 or etcd-2")
	f.runFlags.flags(c)
	for name, text := range map[string]string{
		"rate":     "of what is varied, and of the floors, per second",
		"duration": "measured window of each run of what is varied",
		"runs":     "of each value of what is varied, one in every block; intervals need 6",
		"out":      "folder of the sweep (default results/<UTC time>); one that was begun is gone on with",
	} {
		set.Lookup(name).Usage = text
	}
}

// check turns the flags into a plan, or says what is wrong with them.
func (f *sweepFlags) check(c *cobra.Command) error {
	f.sweep.SLOs, f.sweep.Vary, f.sweep.Down = nil, nil, f.down
	if len(f.slos) == 0 && len(f.vary) == 0 {
		f.slos = []string{"p99=5ms"}
	}
	for _, text := range f.slos {
		for one := range strings.SplitSeq(text, ",") {
			slo, err := results.ParseSLO(one)
			if err != nil {
				return usage(fmt.Errorf("--slo: %w", err))
			}
			f.sweep.SLOs = append(f.sweep.SLOs, slo)
		}
	}
	for _, text := range f.vary {
		vary, err := capacity.ParseVariation(text)
		if err != nil {
			return usage(err)
		}
		f.sweep.Vary = append(f.sweep.Vary, vary)
	}
	if err := f.runFlags.check(c, f.spec); err != nil {
		return err
	}
	f.sweep.Plan = f.plan
	if err := f.checkOurs(c); err != nil {
		return usage(err)
	}
	if err := f.sweep.Check(); err != nil {
		return usage(err)
	}
	return nil
}

// spec is the stack that the sweep needs.
func (f *sweepFlags) spec() env.Spec {
	f.sweep.Plan = f.plan
	return f.sweep.Spec()
}

// checkOurs refuses what can be done to servers of ours only, and a condition
// that is given a value and varied.
func (f *sweepFlags) checkOurs(c *cobra.Command) error {
	if f.env == envExternal && len(f.down) > 0 {
		return errors.New("--down: servers of yours are not lockcost's to end")
	}
	for _, node := range f.down {
		if err := f.knows(node); err != nil {
			return err
		}
	}
	for _, v := range f.sweep.Vary {
		if f.env == envExternal && (v.Name == "replica-rtt" || v.Name == "client-rtt") {
			return fmt.Errorf("--vary %s needs servers that lockcost starts: yours have the distance that they have", v.Name)
		}
		if c.Flags().Changed(v.Name) {
			return fmt.Errorf("--%s is given and varied: give only one of them", v.Name)
		}
	}
	return nil
}

// knows refuses a node that the stack will not have.
func (f *sweepFlags) knows(node string) error {
	_, spec := f.source(f.spec(), func(bench.Progress) {})
	there := map[string]int{
		"replica": spec.Replicas, "sentinel": spec.Sentinels, "independent": spec.Independents, "etcd": spec.Etcd, "zookeeper": spec.ZooKeeper,
		"primary": 1, "ledger": 1, // which capacity.Plan refuses with its reason
	}
	role, number, numbered := strings.Cut(node, "-")
	if n, err := strconv.Atoi(number); numbered && (err != nil || n < 1 || n > there[role]) || there[role] == 0 {
		return fmt.Errorf("--down %s: the stack will have no such node", node)
	}
	return nil
}

// notKept are flags that are not those of the sweep, but of its start.
var notKept = []string{"out", "quiet", "format"}

// given are the flags that were given, as arguments.
func given(c *cobra.Command) (args []string) {
	c.Flags().Visit(func(flag *pflag.Flag) {
		if slices.Contains(notKept, flag.Name) {
			return
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			for _, one := range list.GetSlice() {
				args = append(args, "--"+flag.Name+"="+one)
			}
			return
		}
		args = append(args, "--"+flag.Name+"="+flag.Value.String())
	})
	return args
}

// open makes the folder, or opens one that was begun, and has the flags of
// that where none were given.
func (f *sweepFlags) open(c *cobra.Command) (folder *results.CapacityFolder, before *results.Capacity, err error) {
	if f.out != "" && results.IsCapacity(f.out) {
		if folder, before, err = results.OpenCapacity(f.out); err != nil {
			return nil, nil, usage(err)
		}
		if before != nil && len(given(c)) == 0 {
			if err := c.Flags().Parse(before.Arguments); err != nil {
				return nil, nil, errors.Join(fmt.Errorf("%s was begun with flags that this program does not take: %w", f.out, err), folder.Close())
			}
		}
	}
	f.args = given(c)
	if err := f.check(c); err != nil {
		if folder != nil {
			err = errors.Join(err, folder.Close())
		}
		return nil, nil, err
	}
	if folder != nil {
		return folder, before, nil
	}
	if f.out == "" {
		if f.out, err = newFolder(); err != nil {
			return nil, nil, err
		}
	}
	if folder, err = results.CreateCapacity(f.out); err != nil {
		return nil, nil, usage(err)
	}
	return folder, nil, nil
}

func (f *sweepFlags) run(ctx context.Context, c *cobra.Command, stdout, stderr io.Writer) (err error) {
	if err := f.output.check(); err != nil {
		return err
	}
	folder, before, err := f.open(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	progress := newProgress(stderr, f.quiet)
	defer progress.close()
	record, err := f.measure(ctx, folder, before, progress)
	progress.close()
	if record == nil || len(record.Points) == 0 {
		err = errors.Join(err, folder.Discard())
		if ctx.Err() != nil {
			return &statusError{exitInterrupted, errors.New("interrupted before anything was measured")}
		}
		return err
	}
	if err := f.print(stdout, record); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "Kept in %s. Draw it with: lockcost plot %s\n", f.out, f.out)
	return sweepOutcome(ctx, record, f.out, err)
}

// measure starts the stack, does the sweep on it, and stops it again.
func (f *sweepFlags) measure(ctx context.Context, folder *results.CapacityFolder, before *results.Capacity, p *progress) (record *results.Capacity, err error) {
	stack, err := f.start(ctx, f.spec(), p.show)
	if err != nil {
		return before, err
	}
	defer func() { err = errors.Join(err, stack.Close()) }()
	if f.env != envExternal {
		f.sweep.Arguments = f.args
	}
	return capacity.Sweep(ctx, f.sweep, stack, folder, before, p.showSweep)
}

func (f *sweepFlags) print(w io.Writer, record *results.Capacity) error {
	if f.format == "json" {
		return printJSON(w, record)
	}
	return results.WriteCapacityTable(w, record)
}

// sweepOutcome is the exit status that a finished sweep deserves.
func sweepOutcome(ctx context.Context, record *results.Capacity, out string, err error) error {
	switch {
	case ctx.Err() != nil:
		return &statusError{exitInterrupted, errors.Join(fmt.Errorf("interrupted: what is known is kept; go on with: lockcost sweep --out %s", out), err)}
	case err != nil:
		return err
	}
	if doubts := record.Doubts(); len(doubts) > 0 {
		return &statusError{exitDoubtful, errors.New(strings.Join(doubts, "; "))}
	}
	return nil
}

// showSweep tells of a sweep: a line for each run, with what is known so far.
func (p *progress) showSweep(now capacity.Progress) {
	if p.quiet {
		return
	}
	line := now.Step
	if now.Total > 0 {
		if now.Known != "" {
			line += " (" + now.Known + ")"
		}
		line += fmt.Sprintf("; run %d of about %d, %s left", now.Done+1, now.Total, now.Left.Round(time.Second))
	}
	if p.bar != nil {
		if now.P99 > 0 {
			line = fmt.Sprintf("%s: %.0f/s, acquire P99 %s", line, now.PerS, results.FormatDuration(int64(now.P99)))
		}
		p.bar.ChangeMax(max(now.Total, 1))
		p.bar.Describe(line)
		_ = p.bar.Set(now.Done)
		return
	}
	if line != p.last {
		fmt.Fprintln(p.out, line)
	}
	p.last = line
}
