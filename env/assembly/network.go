package assembly

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"lockcost/env"
	"lockcost/env/link"
)

// network is the links of a stack that can be broken, one for each way, all
// in one process: that is started before the servers, whose configuration
// names its addresses.
//
// Each replica follows the primary by a link of its own, and all Sentinels
// watch it by one that they share. So that one's address is what they
// announce as the primary's until a failover, and as a replica's when the old
// primary has come back after it. Replicas are known to them by their own.
type network struct {
	primary  *server
	replicas []*server
	process  *link.Process
	ways     map[env.Way]int // its targets
	redis    env.Redis       // as it is reached without a client's links
}

var _ env.Network = (*network)(nil)

// primaryName is the primary's node.
const primaryName = "primary"

// startNetwork starts the links, if there are to be any. The servers have
// their places and do not run yet.
func (b *builder) startNetwork(ctx context.Context) error {
	if !b.spec.Network {
		return nil
	}
	n := &network{primary: b.primary, replicas: b.replicas, ways: make(map[env.Way]int)}
	var targets []string
	add := func(from string, to *server, addr string) {
		n.ways[env.Way{From: from, To: to.name()}] = len(targets)
		targets = append(targets, addr)
	}
	for _, v := range b.replicas {
		add(v.name(), b.primary, b.primary.addr())
	}
	if len(b.sentinels) > 0 {
		add(env.Sentinels, b.primary, b.primary.addr())
	}
	for _, v := range b.etcd {
		add(env.Peers, v, v.Internal()[0])
	}
	for _, client := range env.Clients {
		for _, v := range b.served() {
			add(client, v, v.addr())
		}
	}
	if len(targets) == 0 {
		return errors.New("a network that can be broken, of a stack that has nobody to reach: ask for a Redis, etcd or ZooKeeper")
	}
	p, err := link.Start(ctx, link.Options{Targets: targets, CPUs: b.spec.Pin})
	if err != nil {
		return fmt.Errorf("the stack's network: %w", err)
	}
	if err := b.addLinks(p); err != nil {
		return err
	}
	n.process, b.network = p, n
	return nil
}

// served is the servers that clients reach, and not by asking others first.
func (b *builder) served() []*server {
	var all []*server
	if b.primary != nil {
		all = append(all, b.primary)
	}
	return slices.Concat(all, b.replicas, b.independents, b.etcd, b.zookeeper)
}

// primaryOf is the address by which a replica, or the Sentinels, are to reach
// the primary.
func (b *builder) primaryOf(from string) string {
	if b.network == nil {
		return b.primary.Peer()
	}
	return b.network.addr(env.Way{From: from, To: primaryName})
}

// addr is where a way begins.
func (n *network) addr(w env.Way) string { return n.process.Addr(n.ways[w]) }

// Set is part of env.Network.
func (n *network) Set(ctx context.Context, w env.Way, s env.WayState) error {
	target, ok := n.ways[w]
	if !ok {
		return fmt.Errorf("the stack has no link from %q to %q", w.From, w.To)
	}
	if err := n.process.SetState(ctx, target, link.State(s)); err != nil {
		return fmt.Errorf("from %s to %s: %w", w.From, w.To, err)
	}
	return nil
}

// Mend is part of env.Network.
func (n *network) Mend(ctx context.Context) error {
	var errs []error
	for w := range n.ways {
		errs = append(errs, n.Set(ctx, w, env.WayState{}))
	}
	return errors.Join(errs...)
}

// Redis is part of env.Network.
func (n *network) Redis(client string) env.Redis {
	r := n.redis
	if n.primary == nil {
		return r
	}
	via := maps.Clone(r.Via)
	if via == nil {
		via = make(map[string]string)
	}
	for _, v := range append([]*server{n.primary}, n.replicas...) {
		w := env.Way{From: client, To: v.name()}
		if _, ok := n.ways[w]; !ok {
			return r
		}
		via[v.Peer()], via[v.addr()] = n.addr(w), n.addr(w)
	}
	announced := env.Way{From: env.Sentinels, To: n.primary.name()}
	if _, ok := n.ways[announced]; ok {
		via[n.addr(announced)] = via[n.primary.addr()]
	}
	r.Via = via
	return r
}

// Address is part of env.Network.
func (n *network) Address(client, node string) string {
	w := env.Way{From: client, To: node}
	if _, ok := n.ways[w]; !ok {
		return ""
	}
	return n.addr(w)
}

// Check is part of env.Network.
func (n *network) Check(ctx context.Context) error {
	select {
	case <-n.process.Ended():
		return fmt.Errorf("the links of the stack, process %d, have ended", n.process.PID())
	default:
	}
	errs := make([]error, len(n.replicas))
	var running sync.WaitGroup
	for i, v := range n.replicas {
		running.Go(func() {
			if err := n.goesByItsLink(ctx, v); err != nil {
				errs[i] = fmt.Errorf("%s: %w", v.name(), err)
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

func (n *network) goesByItsLink(ctx context.Context, v *server) error {
	info, err := v.info(ctx, "replication")
	if err != nil {
		return err
	}
	way := n.addr(env.Way{From: v.name(), To: n.primary.name()})
	switch at := masterOf(info); at {
	case way:
		return nil
	case "":
		return errors.New("it is no replica any more")
	default:
		return fmt.Errorf("it follows %s, around its link to the primary, %s", at, way)
	}
}
