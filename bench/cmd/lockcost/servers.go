package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockcost/bench"
	"lockcost/env"
	"lockcost/env/container"
	"lockcost/env/process"
	"lockcost/workloads"
)

// The values of --env.
const (
	envProcess   = "process"
	envContainer = "container"
	envExternal  = "external"
)

// serverFlags are the flags that say how servers are started.
type serverFlags struct {
	env        string
	containers container.Provider
	redis      string // program
}

// containerFlags are those that need --env container.
var containerFlags = []string{"redis-image", "ledger-image", "etcd-image", "zookeeper-image", "docker-network"}

func (s *serverFlags) envFlag(set *pflag.FlagSet, help string) {
	set.StringVar(&s.env, "env", envProcess, help)
}

func (s *serverFlags) programFlag(set *pflag.FlagSet) {
	set.StringVar(&s.redis, "redis-server", "", "process: the program to run, in place of the redis-server on the PATH")
}

func (s *serverFlags) imageFlags(set *pflag.FlagSet) {
	s.redisImageFlags(set)
	set.StringVar(&s.containers.LedgerImage, "ledger-image", "", fmt.Sprintf("container: image of MySQL or MariaDB (default $%s, else %s)", container.LedgerImageVariable, container.DefaultLedgerImage))
	set.StringVar(&s.containers.EtcdImage, "etcd-image", "", fmt.Sprintf("container: image of etcd (default $%s, else %s)", container.EtcdImageVariable, container.DefaultEtcdImage))
	set.StringVar(&s.containers.ZooKeeperImage, "zookeeper-image", "", fmt.Sprintf("container: image of ZooKeeper (default $%s, else %s)", container.ZooKeeperImageVariable, container.DefaultZooKeeperImage))
}

// redisImageFlags are those of a Redis without a ledger.
func (s *serverFlags) redisImageFlags(set *pflag.FlagSet) {
	set.StringVar(&s.containers.RedisImage, "redis-image", "", fmt.Sprintf("container: image of Redis or Valkey (default $%s, else %s)", container.RedisImageVariable, container.DefaultRedisImage))
	set.StringVar(&s.containers.Network, "docker-network", container.NetworkHost, "container: host, or bridge where there is no host networking (published ports, each round trip slower)")
}

// check holds the flags against each other. allowed are the values of --env.
func (s *serverFlags) check(c *cobra.Command, allowed ...string) error {
	if !slices.Contains(allowed, s.env) {
		return fmt.Errorf("--env %q: must be %s", s.env, strings.Join(allowed, " or "))
	}
	if name := firstSet(c, containerFlags); name != "" && s.env != envContainer {
		return fmt.Errorf("--%s is about containers: add --env container", name)
	}
	if s.redis != "" && s.env != envProcess {
		return fmt.Errorf("--redis-server is a program of this machine: it needs --env %s", envProcess)
	}
	if n := s.containers.Network; n != container.NetworkHost && n != container.NetworkBridge {
		return fmt.Errorf("--docker-network %q: must be %s or %s", n, container.NetworkHost, container.NetworkBridge)
	}
	return nil
}

// links tells whether the servers can be put at a distance.
func (s *serverFlags) links() error {
	if s.env == envContainer && s.containers.Network == container.NetworkBridge {
		return fmt.Errorf("not with --docker-network %s: a link listens where containers do not reach it", container.NetworkBridge)
	}
	return nil
}

// provider starts the servers, and shows what takes long.
func (s *serverFlags) provider(show func(bench.Progress)) env.Provider {
	if s.env == envProcess {
		return process.Provider{RedisServer: s.redis}
	}
	p := s.containers
	p.Progress = func(step string) { show(bench.Progress{Step: step}) }
	return p
}

// findPaths reads --paths. Of all, which may stand beside others, those may be
// left out that the servers cannot run: lenient.
func findPaths(list string) (paths []workloads.Path, lenient bool, err error) {
	for name := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(name) == "all" {
			lenient = true
			paths = append(paths, workloads.All()...)
			continue
		}
		path, err := workloads.Find(name)
		if err != nil {
			return nil, false, fmt.Errorf("--paths: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, lenient, nil
}

// firstSet is the first of names that was given; "" for none.
func firstSet(c *cobra.Command, names []string) string {
	if i := slices.IndexFunc(names, c.Flags().Changed); i >= 0 {
		return names[i]
	}
	return ""
}
