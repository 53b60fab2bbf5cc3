package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockcost/bench"
	"lockcost/bench/load"
	"lockcost/env/placement"
)

// Exit statuses, a contract with scripts.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDoubtful    = 3 // done, but not valid, or saturated
	exitInterrupted = 130
)

// statusError ends the command with a status of its own.
type statusError struct {
	status int
	error
}

func (e *statusError) Unwrap() error { return e.error }

func usage(err error) error { return &statusError{exitUsage, err} }

// run is the whole command, so that tests can call it. Results go to stdout,
// everything else to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	var status *statusError
	if !errors.As(err, &status) {
		status = &statusError{exitFailed, err}
	}
	if status.error != nil {
		fmt.Fprintf(stderr, "lockcost: %s\n", oneLine(status.error))
	}
	if status.status == exitUsage {
		fmt.Fprintf(stderr, "See %s --help.\n", command.CommandPath())
	}
	return status.status
}

// oneLine joins the lines of a joined error, each once.
func oneLine(err error) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "lockcost",
		Short: "What it costs to make a Redis lock safe",
		Long: `lockcost measures what it costs to make a Redis lock safe: acquire latency and
P99 of plain SETNX, SETNX + WAIT, fencing tokens and idempotent inserts, in an
open loop, against a real replicated Redis and a MySQL-family ledger.`,
		Example: `  # the four paths at 1000 a second, on servers that lockcost starts
  lockcost run

  # what each path lets through when the primary dies
  lockcost failover --quick

  # how much the paths can take, and what their cost depends on
  lockcost sweep --slo p99=5ms

  # can we afford it? from measured runs alone
  lockcost plan --rate 3000 --slo p99=10ms --run results/20260131T120000Z

  # the same figures again, from the folder of a run
  lockcost plot results/20260131T120000Z

  # is the instrument fit, on this machine?
  lockcost doctor

  # a stack that is left running, to try things on
  lockcost env up --detach`,
		Version:       bench.Revision(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			for _, name := range []string{placement.Switch, load.PollSwitch} {
				if v := os.Getenv(name); v != "" && v != "on" && v != "off" {
					return usage(fmt.Errorf("%s=%s in the environment: must be on, off or absent", name, v))
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := c.Help(); err != nil {
				return err
			}
			return usage(errors.New("name a subcommand"))
		},
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newRun(stdout, stderr), newFailover(stdout, stderr), newSweep(stdout, stderr), newPlan(stdout, stderr), newPlot(stdout, stderr), newDoctor(stdout, stderr), newEnv(stdout, stderr))
	return root
}

// noArguments refuses what a subcommand does not take.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.HasSubCommands() {
		return usage(fmt.Errorf("unknown subcommand %q", args[0]))
	}
	return usage(fmt.Errorf("%s takes no argument, got %q", c.CommandPath(), args[0]))
}

// output is what every subcommand has.
type output struct {
	format string
	quiet  bool
}

func (o *output) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.format, "format", "text", "of the results on stdout: text or json")
	c.Flags().BoolVar(&o.quiet, "quiet", false, "no progress on stderr")
}

func (o *output) check() error {
	if o.format != "text" && o.format != "json" {
		return usage(fmt.Errorf("--format %q: must be text or json", o.format))
	}
	return nil
}

func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
