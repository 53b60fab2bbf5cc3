package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockcost/bench"
	"lockcost/bench/load"
	"lockcost/env"
	"lockcost/env/assembly"
	"lockcost/env/external"
	"lockcost/env/placement"
	"lockcost/results"
	"lockcost/workloads"
	"lockcost/workloads/ledger"
)

// runFlags are the flags of `lockcost run`.
type runFlags struct {
	output
	serverFlags
	plan      bench.Plan
	paths     string
	arrivals  string
	replicas  int
	sentinels int
	servers   external.Provider
	ledger    string
	out       string
	distances distanceFlags

	durability    string
	replicasAsked bool // --replicas or --sentinels
}

func newRun(stdout, stderr io.Writer) *cobra.Command {
	f := &runFlags{plan: bench.DefaultPlan()}
	c := &cobra.Command{
		Use:   "run",
		Short: "Measure paths at a rate, on a stack of real servers",
		Long: `Run starts the servers that the paths need (or uses yours), drives each path at
the rate in an open loop, in randomized interleaved blocks beside the floors
null and ping, and keeps every run in a folder: run.json, an HDR interval log
for each path, and bench.txt for benchstat. It prints a table.

An acquire is one attempt, refused at once where the lock is held. With
--acquire-timeout it goes on trying: in the service's own queue where it has one
(etcd, ZooKeeper), else by retries with random, growing pauses.

` + pathsHelp(),
		Example: `  # the four paths at 1000 a second: some six minutes
  lockcost run

  # a quick look at two of them
  lockcost run --paths setnx,setnx-wait --runs 2 --duration 2s

  # WAIT in a second round trip, beside the pipelined form
  lockcost run --paths setnx,setnx-wait,setnx-wait:round-trips=2

  # what WAIT costs where the replica is 1 ms away, beside no distance at all
  lockcost run --paths setnx,setnx-wait --replica-rtt 0,1ms

  # every path there is, on servers that all sync what they are told
  lockcost run --paths all --durability strict

  # ten locks that are fought for, each held for 5 ms: queues against retries
  lockcost run --paths setnx,redlock,etcd,zookeeper --keys 10 --hold 5ms --acquire-timeout 1s

  # keys of which some are much asked for, and transactions of some size
  lockcost run --paths setnx,fencing --keys 1000 --zipf 1.1
  lockcost run --paths setnx,idempotent --tx-rows 20

  # one hot order, fenced and not
  lockcost run --paths setnx,fencing,optimistic --orders 1

  # what it takes to renew locks: leases of 5 s, held for 4 s
  lockcost run --paths setnx,watchdog --ttl 5s --hold 4s --op-timeout 10s --rate 200

  # servers of your own; without --ledger the paths acquire and release only
  lockcost run --env external --redis redis://user:password@10.0.0.5:6379 \
      --paths setnx,setnx-wait
  lockcost run --env external --redis 10.0.0.5:6379 \
      --ledger 'user:password@tcp(10.0.0.6:3306)/lockcost'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c, stdout, stderr) },
	}
	f.output.flags(c)
	f.flags(c)
	c.Flags().IntVar(&f.plan.RepeatInvalid, "repeat-invalid", 0, "blocks to add, at most, while a path has fewer than --runs runs that are not invalid")
	return c
}

// pathsHelp lists the paths and their options.
func pathsHelp() string {
	text := "Paths, options as name:option=value:\n"
	for _, p := range workloads.Catalogue() {
		text += fmt.Sprintf("  %-11s %s\n", p.Name, p.Summary)
		if options := p.OptionsHelp(); options != "" {
			text += "              " + options + "\n"
		}
	}
	return strings.TrimRight(text, "\n")
}

func (f *runFlags) flags(c *cobra.Command) {
	p, set := &f.plan, c.Flags()
	set.SortFlags = false
	set.StringVar(&f.paths, "paths", "setnx,setnx-wait,fencing,idempotent", "paths to measure, or all, of which those are left out that the servers cannot run; the floors null and ping are always run beside them")
	set.Float64Var(&p.Rate, "rate", p.Rate, "arrivals per second")
	set.DurationVar(&p.Duration, "duration", p.Duration, "measured window of each run")
	set.DurationVar(&p.Warmup, "warmup", p.Warmup, "before the window, not in it; at least --hold, which it is where that is longer")
	set.IntVar(&p.Runs, "runs", p.Runs, "runs of each path, one in every block; intervals need 6")
	set.StringVar(&f.arrivals, "arrivals", string(p.Arrivals), "constant or poisson")
	set.IntVar(&p.Workers, "workers", p.Workers, "most operations in flight (0: 2 × rate × (longest timeout + hold), at least 64, at most 4096)")
	set.DurationVar(&p.OpTimeout, "op-timeout", p.OpTimeout, "an operation is given up on this long after its due time; finding out what became of a lost reply may take 2s more")
	set.Uint64Var(&p.Seed, "seed", p.Seed, "of the order of the runs, and of Poisson arrivals (0: drawn, and recorded)")
	set.DurationVar(&p.TTL, "ttl", p.TTL, "of the locks")
	set.DurationVar(&p.Hold, "hold", p.Hold, "how long each lock is held on purpose")
	set.IntVar(&p.Keys, "keys", p.Keys, "number of lock keys to contend for (0: a fresh key each time)")
	set.Float64Var(&p.Zipf, "zipf", p.Zipf, "exponent by which --keys are drawn: the k-th as often as 1/k^zipf (0: by turns)")
	set.IntVar(&p.Orders, "orders", p.Orders, "number of hot orders that operations take by turns, each with its own key (0: a fresh order each time)")
	set.IntVar(&p.TxRows, "tx-rows", p.TxRows, "rows of 100 bytes that each charge's transaction inserts beside its own")
	set.DurationVar(&p.AcquireTimeout, "acquire-timeout", p.AcquireTimeout, "how long to go on trying for a held lock (0: one attempt)")
	set.IntVar(&p.WaitReplicas, "wait-replicas", p.WaitReplicas, "replicas that WAIT waits for; as many are started at least")
	set.DurationVar(&p.WaitTimeout, "wait-timeout", p.WaitTimeout, "of WAIT; whole milliseconds, at least 1ms")
	f.distances.flags(set)
	f.envFlag(set, "where the servers come from: process or container (started here), or external (yours)")
	set.IntVar(&f.replicas, "replicas", 1, "replicas to start")
	set.IntVar(&f.sentinels, "sentinels", 3, "Sentinels to start")
	set.IntVar(&p.RedlockNodes, "redlock-nodes", p.RedlockNodes, "independent Redis servers to start for redlock")
	set.IntVar(&p.EtcdNodes, "etcd-nodes", p.EtcdNodes, "members of etcd to start where a path needs it")
	set.IntVar(&p.ZooKeeperNodes, "zookeeper-nodes", p.ZooKeeperNodes, "ZooKeeper servers to start where a path needs them")
	set.StringVar(&f.durability, "durability", "", "of the servers to start: relaxed (nobody waits for a disk) or strict (everybody does); left out, each as it comes")
	f.programFlag(set)
	f.imageFlags(set)
	set.StringVar(&f.servers.Redis, "redis", "", "external: the primary, host:port or redis[s]://user:password@host:port/db")
	set.StringSliceVar(&f.servers.ReplicasAt, "replicas-at", nil, "external: the replicas, host:port,…")
	set.StringSliceVar(&f.servers.Sentinels, "sentinel", nil, "external: the Sentinels, host:port,…")
	set.StringVar(&f.servers.MasterName, "master-name", "mymaster", "external: the primary's name among the Sentinels")
	set.StringSliceVar(&f.servers.Via, "via", nil, "external: where to dial servers that Sentinels announce elsewhere, ANNOUNCED=DIAL,… as host:port=host:port")
	set.StringVar(&f.servers.TLS.CA, "tls-ca", "", "external: PEM file of the CA that signed the servers' certificates (default: those that this machine trusts); for rediss:// and the ledger's tls=true")
	set.StringVar(&f.servers.TLS.Cert, "tls-cert", "", "external: PEM file of our certificate, for servers that want one")
	set.StringVar(&f.servers.TLS.Key, "tls-key", "", "external: PEM file of its key")
	set.StringSliceVar(&f.servers.Independents, "redlock-at", nil, "external: the independent Redis servers of redlock, host:port,…")
	set.StringSliceVar(&f.servers.Etcd, "etcd", nil, "external: the members of etcd, host:port,…")
	set.StringSliceVar(&f.servers.ZooKeeper, "zookeeper", nil, "external: the servers of ZooKeeper, host:port,…")
	set.StringVar(&f.ledger, "ledger", "", "external: the ledger, user:password@tcp(host:port)/database; none: do without one")
	set.StringVar(&f.out, "out", "", "folder of the run (default results/<UTC time>)")
}

// check turns the flags into a plan, or says what is wrong with them. spec is
// the stack that is needed, once the plan is known.
func (f *runFlags) check(c *cobra.Command, spec func() env.Spec) error {
	if err := f.output.check(); err != nil {
		return err
	}
	p := &f.plan
	p.Arrivals = load.Arrivals(f.arrivals)
	p.Durability = env.Durability(f.durability)
	var err error
	if p.Paths, p.Lenient, err = findPaths(f.paths); err != nil {
		return usage(err)
	}
	if err := f.distances.apply(p); err != nil {
		return usage(err)
	}
	if err := f.checkServers(c, spec); err != nil {
		return usage(err)
	}
	if p.Seed == 0 {
		p.Seed = uint64(time.Now().UnixNano())
	}
	if !c.Flags().Changed("warmup") {
		p.Warmup = max(p.Warmup, p.Hold) // until as many locks are held as will be
	}
	if err := p.Check(); err != nil {
		return usage(err)
	}
	return nil
}

// checkServers holds the flags about servers against each other.
func (f *runFlags) checkServers(c *cobra.Command, spec func() env.Spec) error {
	outside := []string{"redis", "replicas-at", "sentinel", "master-name", "via", "redlock-at", "etcd", "zookeeper", "tls-ca", "tls-cert", "tls-key"}
	started := []string{"replicas", "sentinels", "redlock-nodes", "etcd-nodes", "zookeeper-nodes", "durability"}
	distances := []string{"replica-rtt", "client-rtt", "rtt-jitter"}
	if err := f.serverFlags.check(c, envProcess, envContainer, envExternal); err != nil {
		return err
	}
	f.replicasAsked = firstSet(c, []string{"replicas", "sentinels"}) != ""
	switch f.env {
	case envProcess, envContainer:
		if name := firstSet(c, outside); name != "" {
			return fmt.Errorf("--%s is about servers of yours: add --env external", name)
		}
		if f.ledger != "" && f.ledger != "none" {
			return errors.New("--ledger names a server of yours: add --env external, or use --ledger none")
		}
		if f.replicas < 0 || max(f.replicas, f.plan.WaitReplicas) > assembly.MaxReplicas {
			return fmt.Errorf("--replicas %d, --wait-replicas %d: must be from 0 to %d", f.replicas, f.plan.WaitReplicas, assembly.MaxReplicas)
		}
		if need := spec().Replicas; c.Flags().Changed("replicas") && f.replicas < need {
			return fmt.Errorf("--replicas %d: a path waits for %d: start as many, or leave it out", f.replicas, need)
		}
		if f.sentinels < 0 || f.sentinels > assembly.MaxSentinels {
			return fmt.Errorf("--sentinels %d: must be from 0 to %d", f.sentinels, assembly.MaxSentinels)
		}
		if spec().Links {
			if err := f.links(); err != nil {
				return fmt.Errorf("--replica-rtt and --client-rtt: %w", err)
			}
		}
	case envExternal:
		if name := firstSet(c, distances); name != "" {
			return fmt.Errorf("--%s needs servers that lockcost starts: yours have the distance that they have", name)
		}
		if name := firstSet(c, started); name != "" {
			return fmt.Errorf("--%s is about servers to start: with --env external give the addresses of yours, as they are", name)
		}
		if f.servers.Redis == "" && len(f.servers.Sentinels) == 0 {
			return errors.New("--env external: give --redis, or --sentinel and --master-name: every run measures a PING beside the paths, the floor, whatever they lock with")
		}
	}
	f.plan.Ledger = f.ledger != "none" && (f.env != envExternal || f.ledger != "")
	if f.env == envExternal && f.plan.Ledger {
		if _, err := ledger.Config(f.ledger); err != nil {
			return fmt.Errorf("--ledger: %w", err)
		}
		f.servers.Ledger = f.ledger
	}
	if f.env == envExternal {
		if err := f.checkGiven(); err != nil {
			return err
		}
		return f.servers.Check()
	}
	return nil
}

// checkGiven holds the paths against the servers of the user's that were
// given, and leaves out those of --paths all whose servers were not.
func (f *runFlags) checkGiven() error {
	given := map[workloads.Service]struct {
		flag  string
		addrs []string
	}{
		workloads.Independents: {"--redlock-at", f.servers.Independents},
		workloads.Etcd:         {"--etcd", f.servers.Etcd},
		workloads.ZooKeeper:    {"--zookeeper", f.servers.ZooKeeper},
	}
	var able []workloads.Path
paths:
	for _, path := range f.plan.Paths {
		for _, service := range path.Services() {
			if g, ok := given[service]; ok && len(g.addrs) == 0 {
				if f.plan.Lenient {
					f.plan.NotRun = append(f.plan.NotRun, fmt.Sprintf("path %s: no %s was given", path.Label(), g.flag))
					continue paths
				}
				return fmt.Errorf("--paths %s: give %s host:port,… of your servers, or leave the path out", path.Label(), g.flag)
			}
		}
		if path.Guarded() && !f.plan.Ledger && f.plan.Lenient {
			f.plan.NotRun = append(f.plan.NotRun, fmt.Sprintf("path %s: its guard needs a ledger, and no --ledger was given", path.Label()))
			continue
		}
		able = append(able, path)
	}
	f.plan.Paths = able
	if n := len(f.servers.Independents); n > 0 {
		f.plan.RedlockNodes = n // as many as there are
	}
	return nil
}

// source is where the servers come from, and what to ask of it, given the stack
// that is needed. show is told what takes long.
func (f *runFlags) source(spec env.Spec, show func(bench.Progress)) (env.Provider, env.Spec) {
	if f.env == envExternal {
		return f.servers, spec
	}
	if f.plan.Uses(workloads.Redis) || f.replicasAsked { // else it is there for ping alone
		spec.Replicas = max(spec.Replicas, f.replicas)
		spec.Sentinels = f.sentinels
	}
	spec.Pin = placement.Current().Pin()
	return f.provider(show), spec
}

func (f *runFlags) run(ctx context.Context, c *cobra.Command, stdout, stderr io.Writer) (err error) {
	if err := f.check(c, func() env.Spec { return f.plan.Spec() }); err != nil {
		return err
	}
	if f.out == "" {
		if f.out, err = newFolder(); err != nil {
			return err
		}
	}
	folder, err := results.Create(f.out)
	if err != nil {
		return usage(err)
	}
	progress := newProgress(stderr, f.quiet)
	defer progress.close()
	record, err := f.measure(ctx, folder, progress)
	progress.close()
	if record == nil || record.Count() == 0 {
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
	return outcome(ctx, record, err)
}

// measure starts the stack, runs the plan on it, and stops it again.
func (f *runFlags) measure(ctx context.Context, folder *results.Folder, p *progress) (record *results.Record, err error) {
	stack, err := f.start(ctx, f.plan.Spec(), p.show)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stack.Close()) }()
	return bench.Run(ctx, f.plan, stack, folder, p.show)
}

// start starts the servers, or finds the user's.
func (f *runFlags) start(ctx context.Context, spec env.Spec, show func(bench.Progress)) (*env.Stack, error) {
	provider, spec := f.source(spec, show)
	step := "starting the servers"
	if f.env == envExternal {
		step = "looking for your servers"
	}
	show(bench.Progress{Step: step})
	return provider.Start(ctx, spec)
}

func (f *runFlags) print(w io.Writer, record *results.Record) error {
	if f.format == "json" {
		return printJSON(w, record)
	}
	return results.WriteTable(w, record)
}

// outcome is the exit status that a finished run deserves.
func outcome(ctx context.Context, record *results.Record, err error) error {
	switch {
	case ctx.Err() != nil:
		return &statusError{exitInterrupted, errors.Join(errors.New("interrupted: what was measured is kept"), err)}
	case err != nil:
		return err
	case record.Doubtful() > 0:
		return &statusError{exitDoubtful, fmt.Errorf("%d of %d runs are invalid or saturated: the reasons are in the table and in run.json", record.Doubtful(), record.Count())}
	}
	return nil
}
