package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"lockcost/bench"
	"lockcost/env"
	"lockcost/env/assembly"
	"lockcost/env/container"
	"lockcost/env/placement"
	"lockcost/env/supervisor"
)

func newEnv(stdout, stderr io.Writer) *cobra.Command {
	c := &cobra.Command{
		Use:   "env",
		Short: "Keep a stack of real servers running, to try things on",
		Long: `Env keeps a replicated Redis with Sentinel, a ledger, and other lock services
where they are asked for, running under a supervisor of its own, for go test -bench again and again, or for redis-cli.
A user has one such stack at most. Its addresses are printed as a shell reads
them, with the password of the ledger.`,
		Example: `  # start it, use it, end it
  eval "$(lockcost env up --detach)"
  go test -run '^$' -bench Acquire -benchtime 6000x ./bench
  lockcost env status
  lockcost env down`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := c.Help(); err != nil {
				return err
			}
			return usage(errors.New("name a subcommand: up, status or down"))
		},
	}
	c.AddCommand(newEnvUp(stdout, stderr), newEnvStatus(stdout), newEnvDown(stdout, stderr))
	return c
}

// envUp are the flags of `lockcost env up`.
type envUp struct {
	output
	serverFlags
	supervisor.Options
	ledger     string
	durability string
}

func newEnvUp(stdout, stderr io.Writer) *cobra.Command {
	f := &envUp{}
	c := &cobra.Command{
		Use:   "up",
		Short: "Start the stack",
		Long: `Up starts the servers, prints their addresses and the environment variables
that go test -bench reads, and waits for Ctrl-C to end them. With --detach it
returns once they are ready, and env down ends them. The servers have the CPUs
that lockcost run gives them. ` + supervisor.Variable + ` names another folder for what is
known of the stack than lockcost-<uid> in the system's temporary folder.`,
		Example: `  # in a terminal of its own, until Ctrl-C
  lockcost env up

  # left running; this shell knows where
  eval "$(lockcost env up --detach)"

  # the replica a millisecond away, which is what WAIT then costs
  lockcost env up --detach --replica-rtt 1ms

  # in containers, which docker kill and docker pause can then do things to
  lockcost env up --detach --env container

  # what redlock, etcd and zookeeper take their locks from, beside it
  lockcost env up --detach --redlock-nodes 5 --etcd-nodes 3 --zookeeper-nodes 3

  # Redis and one replica alone
  lockcost env up --sentinels 0 --ledger none`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c, stdout, stderr) },
	}
	f.output.flags(c)
	set := c.Flags()
	set.SortFlags = false
	set.BoolVar(&f.Detached, "detach", false, "return when the servers are ready, and leave them running")
	f.envFlag(set, "how the servers run: process or container")
	set.IntVar(&f.Spec.Replicas, "replicas", 1, "replicas to start")
	set.IntVar(&f.Spec.Sentinels, "sentinels", 3, "Sentinels to start")
	set.DurationVar(&f.ReplicaRTT, "replica-rtt", 0, "round trip to add between primary and replicas, by a link")
	set.StringVar(&f.ledger, "ledger", "", "none: do without one")
	set.IntVar(&f.Spec.Independents, "redlock-nodes", 0, "independent Redis servers to start, for redlock")
	set.IntVar(&f.Spec.Etcd, "etcd-nodes", 0, "members of etcd to start")
	set.IntVar(&f.Spec.ZooKeeper, "zookeeper-nodes", 0, "ZooKeeper servers to start")
	set.StringVar(&f.durability, "durability", "", "relaxed (nobody waits for a disk) or strict (everybody does); left out, each server as it comes")
	f.programFlag(set)
	f.imageFlags(set)
	return c
}

func (f *envUp) check(c *cobra.Command) error {
	if err := f.output.check(); err != nil {
		return err
	}
	if err := f.serverFlags.check(c, envProcess, envContainer); err != nil {
		return usage(err)
	}
	if f.ReplicaRTT > 0 {
		if err := f.links(); err != nil {
			return usage(fmt.Errorf("--replica-rtt: %w", err))
		}
	}
	switch {
	case f.Spec.Replicas < 0 || f.Spec.Replicas > assembly.MaxReplicas:
		return usage(fmt.Errorf("--replicas %d: must be from 0 to %d", f.Spec.Replicas, assembly.MaxReplicas))
	case f.Spec.Sentinels < 0 || f.Spec.Sentinels > assembly.MaxSentinels:
		return usage(fmt.Errorf("--sentinels %d: must be from 0 to %d", f.Spec.Sentinels, assembly.MaxSentinels))
	case f.ReplicaRTT < 0 || f.ReplicaRTT > 0 && f.Spec.Replicas == 0:
		return usage(fmt.Errorf("--replica-rtt %v: must be from 0, and there must be a replica", f.ReplicaRTT))
	case f.ReplicaRTT > mostRTT:
		return usage(fmt.Errorf("--replica-rtt %v: must be at most %v", f.ReplicaRTT, mostRTT))
	case f.ledger != "" && f.ledger != "none":
		return usage(errors.New("--ledger: the servers are started here, one of yours has no place among them; must be none, or left out"))
	}
	f.Spec.Ledger = f.ledger != "none"
	f.Spec.Durability = env.Durability(f.durability)
	f.RedisServer = f.redis
	for _, part := range []struct {
		flag string
		spec env.Spec
	}{
		{"--redlock-nodes", env.Spec{Independents: f.Spec.Independents}},
		{"--etcd-nodes", env.Spec{Etcd: f.Spec.Etcd}},
		{"--zookeeper-nodes", env.Spec{ZooKeeper: f.Spec.ZooKeeper}},
		{"--durability", env.Spec{Durability: f.Spec.Durability}},
	} {
		if err := assembly.Check(part.spec); err != nil {
			return usage(fmt.Errorf("%s: %w", part.flag, err))
		}
	}
	f.Spec.Pin = placement.Current().Pin()
	if f.env == envContainer {
		f.Container = &f.containers
	}
	return nil
}

// mostRTT is the greatest distance of a stack that is left running.
const mostRTT = time.Second

func (f *envUp) run(c *cobra.Command, stdout, stderr io.Writer) error {
	ctx := c.Context()
	if err := f.check(c); err != nil {
		return err
	}
	home, err := supervisor.Default()
	if err != nil {
		return err
	}
	progress := newProgress(stderr, f.quiet)
	defer progress.close()
	progress.show(bench.Progress{Step: "starting the servers"})
	f.containers.Progress = func(step string) { progress.show(bench.Progress{Step: step}) }
	stack, err := home.Up(ctx, f.Options)
	progress.close()
	if err != nil {
		if ctx.Err() != nil {
			return &statusError{exitInterrupted, errors.New("interrupted before the servers were ready")}
		}
		return err
	}
	f.say(stderr, stack)
	err = printStatus(stdout, f.format, stack.Check(context.WithoutCancel(ctx)))
	if f.Detached {
		if err != nil {
			err = fmt.Errorf("%w; the servers are running: see lockcost env status, or end them with lockcost env down", err)
		}
		return err
	}
	err = errors.Join(err, stack.Wait(ctx))
	if err == nil && ctx.Err() == nil && !f.quiet {
		fmt.Fprintln(stderr, "Ended by lockcost env down.")
	}
	return err
}

// say tells what is not among the results.
func (f *envUp) say(w io.Writer, stack *supervisor.Running) {
	if f.quiet {
		return
	}
	if stack.Cleared != nil {
		fmt.Fprintf(w, "Removed what the supervisor before this one, process %d, left when it was killed.\n", stack.Cleared.PID)
	}
	if f.Detached {
		fmt.Fprintln(w, "Ready. End it with: lockcost env down")
	} else {
		fmt.Fprintln(w, "Ready. Ctrl-C ends it.")
	}
}

func newEnvStatus(stdout io.Writer) *cobra.Command {
	var o output
	c := &cobra.Command{
		Use:   "status",
		Short: "Tell whether the stack is running and which servers answer",
		Long: `Status asks every server, and prints what it found and the environment
variables as env up does. After a failover they name the primary of now.
Exit status: 0 every server answers; 3 one does not; 1 no stack is running.`,
		Example: `  lockcost env status
  eval "$(lockcost env status)"
  lockcost env status --format json | jq -r '.servers[] | select(.answers | not) | .name'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return envStatus(c.Context(), o, stdout) },
	}
	o.flags(c)
	return c
}

func envStatus(ctx context.Context, o output, stdout io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	home, err := supervisor.Default()
	if err != nil {
		return err
	}
	state, err := home.Find(ctx)
	if errors.Is(err, supervisor.ErrNone) && o.format == "json" {
		return errors.Join(err, printJSON(stdout, map[string]bool{"running": false}))
	}
	if err != nil {
		return err
	}
	status := state.Check(ctx)
	if err := printStatus(stdout, o.format, status); err != nil {
		return err
	}
	switch n := status.Down(); {
	case !status.Ready:
		return &statusError{exitDoubtful, errors.New("the servers are not ready yet")}
	case n > 0:
		return &statusError{exitDoubtful, fmt.Errorf("%d of %d servers do not answer: start afresh with lockcost env down and env up", n, len(status.Checks))}
	}
	return nil
}

func newEnvDown(stdout, stderr io.Writer) *cobra.Command {
	var o output
	c := &cobra.Command{
		Use:   "down",
		Short: "End the stack, whichever terminal it was started from",
		Long: `Down ends the servers and their supervisor, and removes their data. It removes
the containers that commands which were killed have left, too.`,
		Example: `  lockcost env down`,
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return envDown(c.Context(), o, stdout, stderr) },
	}
	o.flags(c)
	return c
}

func envDown(ctx context.Context, o output, stdout, stderr io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	home, err := supervisor.Default()
	if err != nil {
		return err
	}
	progress := newProgress(stderr, o.quiet)
	defer progress.close()
	progress.show(bench.Progress{Step: "ending the servers"})
	ended, err := home.Down(ctx)
	crashed, left := container.Clean(ctx)
	var unavailable *container.UnavailableError
	if errors.As(left, &unavailable) {
		left = nil // without an engine there are no containers to remove
	}
	progress.close()
	if err != nil && !errors.Is(err, supervisor.ErrNone) {
		return errors.Join(err, left)
	}
	if left != nil {
		return fmt.Errorf("removing the containers of commands that were killed: %w", left)
	}
	if o.format == "json" {
		return printJSON(stdout, map[string]any{
			"ended": err == nil, "supervisor_pid": ended.PID, "killed": ended.Killed, "crashed_container_stacks": crashed,
		})
	}
	text := fmt.Sprintf("Ended %d servers and their supervisor, process %d.", len(ended.Servers), ended.PID)
	switch {
	case err != nil:
		text = err.Error()
	case ended.Killed:
		text += " It did not end when asked to, and was killed."
	}
	if crashed > 0 {
		text += fmt.Sprintf("\nRemoved the containers of commands that were killed: %d.", crashed)
	}
	_, err = fmt.Fprintln(stdout, text)
	return err
}

func printStatus(w io.Writer, format string, status supervisor.Status) error {
	if format == "json" {
		return printJSON(w, status)
	}
	return status.WriteText(w)
}
