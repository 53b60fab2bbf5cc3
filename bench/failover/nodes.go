package failover

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/env"
)

// The names of nodes.
const (
	primaryNode = "primary"
	replicaOne  = "replica-1"
	replicaTwo  = "replica-2"
)

// addr is the address of a node, by which this process reaches it.
func (t *trial) addr(node string) string {
	i := slices.IndexFunc(t.stack.Nodes, func(n env.Node) bool { return n.Name == node })
	if i < 0 {
		return ""
	}
	return t.stack.Nodes[i].Addr
}

// redis is a client of one node for the experimenter's own use: it goes by no
// link.
func (t *trial) redis(addr string) *redis.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.admins[addr]
	if c == nil {
		c = redis.NewClient(t.stack.Redis.Options(addr))
		t.admins[addr] = c
	}
	return c
}

// node is redis for a node by its name.
func (t *trial) node(name string) *redis.Client { return t.redis(t.addr(name)) }

func (t *trial) closeAdmins() {
	for _, c := range t.admins {
		_ = c.Close()
	}
}

// kill kills nodes at once, and makes that the fault unless there was one.
func (t *trial) kill(nodes ...string) error {
	t.fault()
	t.crashNS.Store(t.now())
	errs := make(chan error, len(nodes))
	for _, node := range nodes {
		go func() { errs <- t.stack.Faults.Kill(node) }()
	}
	for range nodes {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// info is a section of a node's INFO.
func (t *trial) info(ctx context.Context, addr, section string) (map[string]string, error) {
	text, err := t.redis(addr).Info(ctx, section).Result()
	if err != nil {
		return nil, fmt.Errorf("INFO of %s: %w", addr, err)
	}
	return env.ParseInfo(text), nil
}

// replicasOnline waits until the primary counts n replicas as online.
func (t *trial) replicasOnline(ctx context.Context, n int, within time.Duration) error {
	return t.until(ctx, within, func() error {
		info, err := t.info(ctx, t.primary(), "replication")
		if err != nil {
			return err
		}
		if online := env.OnlineReplicas(info); online < n {
			return fmt.Errorf("%d of %d replicas are online", online, n)
		}
		return nil
	})
}

// fed waits until replicas acknowledge what is written. A primary calls one
// online whose copy has just been sent, and feeds it only once it has
// acknowledged that, up to a second later.
func fed(ctx context.Context, stack *env.Stack, prefix string, replicas int) error {
	c := redis.NewClient(stack.Redis.Options(stack.Redis.Primary))
	defer c.Close()
	conn := c.Conn()
	defer conn.Close()
	if err := conn.Set(ctx, prefix+"fed", 1, time.Minute).Err(); err != nil {
		return fmt.Errorf("writing to the primary: %w", err)
	}
	n, err := conn.Wait(ctx, replicas, 2*time.Second).Result()
	if err == nil && n < int64(replicas) {
		err = fmt.Errorf("%d of %d replicas acknowledge what is written", n, replicas)
	}
	return err
}

// agreed checks that every Sentinel names the present primary.
func (t *trial) agreed(ctx context.Context) error {
	for _, addr := range t.stack.Redis.Sentinels {
		err := t.until(ctx, patience, func() error {
			c := redis.NewSentinelClient(t.stack.Redis.SentinelOptions(addr))
			defer c.Close()
			at, err := c.GetMasterAddrByName(ctx, t.stack.Redis.MasterName).Result()
			if err != nil {
				return fmt.Errorf("the Sentinel on %s: %w", addr, err)
			}
			if named := t.reach(net.JoinHostPort(at[0], at[1])); named != t.primary() {
				return fmt.Errorf("the Sentinel on %s names %s as the primary, not %s", addr, named, t.primary())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reach is the address by which we reach what a Sentinel announces.
func (t *trial) reach(announced string) string {
	if via, ok := t.stack.Redis.Via[announced]; ok {
		return via
	}
	return announced
}

// probeEvery is how often the first write is tried, and probeBeside where other
// trials run.
const (
	probeEvery  = 3 * time.Millisecond
	probeBeside = 10 * time.Millisecond
)

// probe tries to write to nodes until one accepts, and keeps when that was.
// It goes on in the background until ctx ends.
func (t *trial) probe(ctx context.Context, nodes ...string) {
	for _, node := range nodes {
		t.background.Go(func() {
			o := t.stack.Redis.Options(t.addr(node))
			o.DialTimeout, o.ReadTimeout, o.WriteTimeout = time.Second, time.Second, time.Second
			c := redis.NewClient(o)
			defer c.Close()
			every := probeEvery
			if !t.alone {
				every = probeBeside
			}
			tick := time.NewTicker(every)
			defer tick.Stop()
			for ctx.Err() == nil && t.firstWrite.Load() == 0 {
				if c.Set(ctx, t.settings.Prefix+"probe", 1, time.Second).Err() == nil {
					t.accepted(node)
					return
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
}

// accepted marks the first write that a node accepts which accepted none
// before.
func (t *trial) accepted(node string) {
	if t.firstWrite.CompareAndSwap(0, t.now()) {
		t.setPrimary(t.addr(node))
		close(t.written)
	}
}

// back marks the first write that the lock service accepts after the fault,
// where no node of it is a primary.
func (t *trial) back() {
	if t.firstWrite.CompareAndSwap(0, t.now()) {
		close(t.written)
	}
}

// lackingOn returns those of orders whose locks a Redis server does not have.
func (t *trial) lackingOn(ctx context.Context, addr string, orders []int64) ([]int64, error) {
	pipe := t.redis(addr).Pipeline()
	for _, order := range orders {
		pipe.Exists(ctx, t.key(order))
	}
	if pipe.Len() == 0 {
		return nil, nil
	}
	replies, err := pipe.Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for %d locks on %s: %w", len(orders), addr, err)
	}
	var lacking []int64
	for i, reply := range replies {
		if reply.(*redis.IntCmd).Val() == 0 {
			lacking = append(lacking, orders[i])
		}
	}
	return lacking, nil
}

// leftoverOn is the locks that are in a Redis server, and how long each still
// stays.
func (t *trial) leftoverOn(ctx context.Context, addr string) (map[int64]time.Duration, error) {
	prefix := t.key(0)[:len(t.key(0))-1]
	left := map[int64]time.Duration{}
	c := t.redis(addr)
	for keys := c.Scan(ctx, 0, prefix+"*", 1000).Iterator(); ; {
		if !keys.Next(ctx) {
			return left, keys.Err()
		}
		order, err := strconv.ParseInt(keys.Val()[len(prefix):], 10, 64)
		if err != nil {
			continue
		}
		stays, err := c.PTTL(ctx, keys.Val()).Result()
		if err != nil {
			return nil, err
		}
		if stays > 0 {
			left[order] = stays
		}
	}
}

// fillBytes is the size of a value of what a primary is filled with.
const fillBytes = 1 << 10

// fill writes so many bytes into the primary, beside the locks.
func (t *trial) fill(ctx context.Context, bytes int64) error {
	const batch = 1000
	value := make([]byte, fillBytes)
	c := t.node(primaryNode)
	for written := int64(0); written < bytes; {
		pipe := c.Pipeline()
		for range batch {
			pipe.Set(ctx, t.settings.Prefix+"fill:"+strconv.FormatInt(written, 10), value, 0)
			written += fillBytes
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("filling the primary: %w", err)
		}
	}
	return nil
}

// requireReplicas has every Redis refuse writes without a replica in touch,
// also after a restart.
func (t *trial) requireReplicas(ctx context.Context) error {
	for _, n := range t.stack.Nodes {
		if n.Kind != env.KindRedis {
			continue
		}
		c := t.redis(n.Addr)
		for name, value := range map[string]string{"min-replicas-max-lag": "1", "min-replicas-to-write": "1"} {
			if err := c.ConfigSet(ctx, name, value).Err(); err != nil {
				return fmt.Errorf("%s of %s: %w", name, n.Name, err)
			}
		}
		if err := c.ConfigRewrite(ctx).Err(); err != nil {
			return fmt.Errorf("CONFIG REWRITE on %s: %w", n.Name, err)
		}
	}
	return nil
}
