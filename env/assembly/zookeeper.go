package assembly

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"lockcost/env"
)

const (
	// zooTick is the tick of ZooKeeper's own sample configuration. A session
	// is two ticks at least.
	zooTick  = 2 * time.Second
	zooLeast = 2 * zooTick
	// zooInit is how long a follower may take to join: as in that sample,
	// however short the tick.
	zooInit = 20 * time.Second
	// zooSyncTicks is how far behind the leader a follower may be, in ticks,
	// as in that sample: a leader that hears of no majority for so long gives
	// up, and a follower that hears of no leader.
	zooSyncTicks = 5
	// zooMostSession is the longest session that is admitted, ZooKeeper's
	// default of 20 ticks of 2 s, however short the tick.
	zooMostSession = 40 * time.Second
)

// zooTickOf is the tick that admits sessions as short as spec asks for.
func zooTickOf(spec env.Spec) time.Duration {
	if least := spec.LeastSession; least > 0 && least < zooLeast {
		return least / 2
	}
	return zooTick
}

// startZooKeeper starts the servers of the ensemble side by side.
func (b *builder) startZooKeeper(ctx context.Context) error {
	return b.startQuorum(ctx, b.zookeeper, b.zooFile)
}

// zooFile is the configuration of a server.
func (b *builder) zooFile(v *server) string {
	tick := zooTickOf(b.spec)
	f := strings.Builder{}
	f.WriteString(v.Directives())
	set := func(key string, value any) { fmt.Fprintf(&f, "%s=%v\n", key, value) }
	set("tickTime", tick.Milliseconds())
	set("initLimit", int(zooInit/tick))
	set("syncLimit", zooSyncTicks)
	set("maxSessionTimeout", zooMostSession.Milliseconds())
	set("admin.enableServer", false) // it would listen on a port that all servers share
	set("4lw.commands.whitelist", "srvr,conf,mntr")
	set("maxClientCnxns", 0) // all of a driver's sessions come from one address
	if b.spec.Durability == env.Relaxed {
		set("forceSync", "no")
	}
	for _, line := range b.zooMembers() {
		f.WriteString(line + "\n")
	}
	return f.String()
}

// zooMembers is the lines that tell each server of all of them. One alone is
// told of nobody: it would say that it is in no ensemble.
func (b *builder) zooMembers() []string {
	if len(b.zookeeper) == 1 {
		return nil
	}
	var lines []string
	for i, v := range b.zookeeper {
		at := v.Internal()
		lines = append(lines, fmt.Sprintf("server.%d=%s:%s", i+1, at[0], portOf(at[1])))
	}
	return lines
}

// zooAnswers checks that a server serves, as a leader or with one, and that
// it is the one we started.
func (b *builder) zooAnswers(ctx context.Context, v *server) error {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, fmt.Errorf("no reply within %v", probeTimeout))
	defer cancel()
	var z env.ZooKeeper
	// Without a look whether it listens first: a connection on which nothing is
	// asked is a whole stack in its log.
	_, err := z.Mode(ctx, v.addr())
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		return &silentError{err}
	}
	if err != nil {
		return err
	}
	conf, err := z.Conf(ctx, v.addr())
	if err != nil {
		return err
	}
	if dir := zooDataDir(v); conf["dataDir"] != dir {
		return fmt.Errorf("%s is answered by a server of the folder %q, not of %s", v.addr(), conf["dataDir"], dir)
	}
	for _, line := range b.zooMembers() {
		key, at, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(conf[key], at) {
			return fmt.Errorf("%s is answered by a server whose %s is %q, not %s", v.addr(), key, conf[key], at)
		}
	}
	return nil
}

// zooDataDir is the folder of a server as it tells it itself.
func zooDataDir(v *server) string {
	for line := range strings.Lines(v.Directives()) {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "dataDir="); ok {
			return dir + "/version-2"
		}
	}
	return ""
}
