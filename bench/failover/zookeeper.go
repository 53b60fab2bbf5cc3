package failover

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"lockcost/env"
)

func zooKeeperSpec(c *cell) env.Spec {
	least := c.leastSession()
	if tick := c.scenario.Needs.ZooTick; tick > 0 && least == 0 {
		least = 2 * tick // which makes the tick what it is
	}
	return env.Spec{NoRedis: true, LeastSession: least}
}

func beginZooKeeper(ctx context.Context, t *trial) (service, error) {
	s := &ensemble{trial: t, look: t.zooStanding, write: zooWrite, reader: t.zooReader}
	return s, s.begin(ctx)
}

// zooAdminSession is the experimenter's own.
const zooAdminSession = 30 * time.Second

// zooConn connects to a server, in the background.
func zooConn(addr string) *zk.Conn {
	// It only fails without an address.
	conn, _, _ := zk.Connect([]string{addr}, zooAdminSession, zk.WithLogInfo(false), zk.WithLogger(zooSilence{}))
	return conn
}

type zooSilence struct{}

func (zooSilence) Printf(string, ...any) {}

// zooStanding asks a server what it is. The first half of the last zxid that
// it knows is the leader's epoch; that of a follower may be from before.
func (t *trial) zooStanding(ctx context.Context, addr string) (standing, error) {
	text, err := t.stack.ZooKeeper.Ask(ctx, addr, "srvr")
	if err != nil {
		return standing{}, err
	}
	var st standing
	mode := ""
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Mode":
			mode = value
		case "Zxid":
			zxid, err := strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64)
			if err != nil {
				return st, fmt.Errorf("its zxid is %q", value)
			}
			st.epoch = zxid >> 32
		}
	}
	switch mode {
	case "":
		return st, errNoLeader
	case "leader":
		st.leads = true
	default:
		st.epoch = 0
	}
	return st, nil
}

// within waits for what takes no context, and leaves it behind when ctx ends.
func within(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// zooWrite opens a session with one server, and makes a node that ends with it.
func zooWrite(ctx context.Context, addr string) error {
	conn := zooConn(addr)
	defer func() { go conn.Close() }()
	return within(ctx, func() error {
		_, err := conn.Create("/lockcost-probe-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		return err
	})
}

// zooReader looks for nodes on one server.
type zooReader struct {
	conn *zk.Conn
	root string // of the paths' nodes
}

func (t *trial) zooReader(addr string) (lockReader, error) {
	return &zooReader{conn: zooConn(addr), root: "/" + strings.TrimSuffix(t.settings.Prefix, ":")}, nil
}

// close is not waited for: a server that is silent takes a second.
func (r *zooReader) close() { go r.conn.Close() }

// zooReadersMost is how many nodes are asked for at once.
const zooReadersMost = 32

// locks reads which orders have a node below theirs: a lock's own node stays
// for a while when nobody is below it any more.
func (r *zooReader) locks(ctx context.Context) (map[int64]bool, error) {
	var names []string
	err := within(ctx, func() (err error) {
		if _, err = r.conn.Sync(r.root); err != nil { // else it may be what a follower knew a while ago
			return err
		}
		names, _, err = r.conn.Children(r.root)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil // nobody has asked for any yet
	}
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	there := map[int64]bool{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(zooReadersMost)
	for _, name := range names {
		order, ok := orderIn(name)
		if !ok {
			continue
		}
		g.Go(func() error {
			return within(ctx, func() error {
				children, _, err := r.conn.Children(r.root + "/" + name)
				if errors.Is(err, zk.ErrNoNode) {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				there[order] = len(children) > 0
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return there, nil
}
