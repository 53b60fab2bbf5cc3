package assembly

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockcost/env"
)

// etcd's own defaults, and those with which it admits leases of a second,
// which is the shortest there is: it makes of each at least one and a half
// election timeouts, in whole seconds.
const (
	etcdHeartbeat      = 100 * time.Millisecond
	etcdElection       = time.Second
	etcdLeast          = 2 * time.Second // the shortest lease with these
	etcdShortHeartbeat = 50 * time.Millisecond
	etcdShortElection  = 500 * time.Millisecond
)

// etcdTimes is the heartbeat interval and the election timeout that admit
// leases as short as spec asks for.
func etcdTimes(spec env.Spec) (heartbeat, election time.Duration) {
	if least := spec.LeastSession; least > 0 && least < etcdLeast {
		return etcdShortHeartbeat, etcdShortElection
	}
	return etcdHeartbeat, etcdElection
}

// startEtcd starts the members of the cluster side by side.
func (b *builder) startEtcd(ctx context.Context) error {
	token := randomHex(8) // members of another cluster are refused by it
	return b.startQuorum(ctx, b.etcd, func(v *server) string { return b.etcdFile(v, token) })
}

// etcdFile is the configuration of a member. What it advertises is where the
// others reach it: by a link, where the network can be broken.
func (b *builder) etcdFile(v *server, token string) string {
	var members []string
	for _, m := range b.etcd {
		members = append(members, m.name()+"="+b.peerURL(m))
	}
	heartbeat, election := etcdTimes(b.spec)
	f := strings.Builder{}
	f.WriteString(v.Directives())
	set := func(key string, value any) { fmt.Fprintf(&f, "%s: %v\n", key, value) }
	set("name", v.name())
	set("advertise-client-urls", "http://"+v.addr())
	set("initial-advertise-peer-urls", b.peerURL(v))
	set("initial-cluster", strings.Join(members, ","))
	set("initial-cluster-token", token)
	set("initial-cluster-state", "new")
	set("heartbeat-interval", heartbeat.Milliseconds())
	set("election-timeout", election.Milliseconds())
	if b.spec.Durability == env.Relaxed {
		set("unsafe-no-fsync", true)
	}
	// A line for each lease that runs out, and the like, would be written in
	// the measured time.
	set("log-level", "warn")
	set("log-outputs", "[stderr]")
	return f.String()
}

// peerURL is where the other members reach one.
func (b *builder) peerURL(v *server) string {
	if b.network != nil {
		return "http://" + b.network.addr(env.Way{From: env.Peers, To: v.name()})
	}
	return "http://" + v.Internal()[0]
}

// etcdAnswers checks that a member serves reads which a majority agrees to,
// and that it is the one we started.
func (b *builder) etcdAnswers(ctx context.Context, v *server) error {
	if err := v.listens(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, fmt.Errorf("no reply within %v", probeTimeout))
	defer cancel()
	var e env.Etcd
	m, err := e.Member(ctx, v.addr())
	if err != nil {
		return fmt.Errorf("it has joined no cluster yet: %w", err)
	}
	if m.Name != "" && m.Name != v.name() || !slices.Contains(m.PeerURLs, b.peerURL(v)) {
		return fmt.Errorf("%s is answered by %q of another cluster, at %q", v.addr(), m.Name, m.PeerURLs)
	}
	if m.Leader == "" {
		return fmt.Errorf("it knows of no leader: %s", strings.Join(m.Errors, ", "))
	}
	return e.Serves(ctx, v.addr())
}
