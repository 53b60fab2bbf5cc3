package external

import (
	"context"
	"fmt"

	"lockcost/env"
)

const zooPort = "2181"

// zookeeper takes the addresses of ZooKeeper apart.
func (p Provider) zookeeper() (z env.ZooKeeper, err error) {
	for i, s := range p.ZooKeeper {
		addr := withPort(s, zooPort)
		if err := whole(addr); err != nil {
			return z, fmt.Errorf("the address of ZooKeeper %d: want host:port: %w", i+1, err)
		}
		z.Servers = append(z.Servers, addr)
	}
	return z, nil
}

// checkZooKeeper checks that every server serves, and that they can be of one
// ensemble: it has one leader.
func checkZooKeeper(ctx context.Context, z env.ZooKeeper) error {
	leader := ""
	for _, addr := range z.Servers {
		what := "ZooKeeper at " + addr
		mode, err := z.Mode(ctx, addr)
		switch {
		case err != nil:
			return explainZooKeeper(what, err)
		case mode == "standalone" && len(z.Servers) > 1:
			return fmt.Errorf("%s is in no ensemble (standalone): give it alone, or servers of one ensemble", what)
		case mode == "leader" && leader != "":
			return fmt.Errorf("%s is of another ensemble than the one at %s: both are leaders", what, leader)
		case mode == "leader":
			leader = addr
		}
	}
	return nil
}

func explainZooKeeper(what string, err error) error {
	if env.NoQuorum(err) {
		return fmt.Errorf("%s has no quorum: it does not serve; see that a majority of its ensemble runs", what)
	}
	return unreachable(what, err, nil)
}
