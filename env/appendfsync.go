package env

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

const (
	// appendTimeout bounds the wait for the first append-only file, into which
	// a server writes all that it has.
	appendTimeout = 30 * time.Second
	appendPoll    = 10 * time.Millisecond
)

// AppendFsync has every server of the replicated Redis sync an append-only
// file before each reply, or with always false be as durable again as the
// stack was started. It returns when the file is complete, on every server,
// and when no server writes one any more. What a server has been told it
// keeps when it is restarted. Independent Redis servers and Sentinels are
// left alone. It takes no time where all is so already.
//
// An error names the server; it is one to ask it of servers that are not
// ours, and of a stack without a replicated Redis.
func AppendFsync(ctx context.Context, s *Stack, always bool) error {
	switch {
	case !s.Ours:
		return errors.New("the append-only file of servers that are not ours is not for us to switch: set appendonly and appendfsync yourself")
	case s.Redis.Primary == "":
		return errors.New("the stack has no replicated Redis that could have an append-only file")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, appendTimeout, fmt.Errorf("not done after %v", appendTimeout))
	defer cancel()
	want := appendSettings(always || s.Durability == Strict)
	g, ctx := errgroup.WithContext(ctx)
	for _, addr := range append([]string{s.Redis.Primary}, s.Redis.Replicas...) {
		g.Go(func() error {
			if err := want.apply(ctx, s.Redis, addr); err != nil {
				return fmt.Errorf("%s: setting appendonly %s, appendfsync %s: %w", s.nameAt(addr), want.only, want.fsync, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// appending is how a server keeps its append-only file.
type appending struct{ only, fsync string }

// appendSettings are those of a strict server, or of one as it comes.
func appendSettings(always bool) appending {
	if always {
		return appending{"yes", "always"}
	}
	return appending{"no", "everysec"}
}

func (a appending) apply(ctx context.Context, r Redis, addr string) error {
	c := redis.NewClient(r.Options(addr))
	defer c.Close()
	if done, err := a.set(ctx, c); done || err != nil {
		return err
	}
	tick := time.NewTicker(appendPoll)
	defer tick.Stop()
	for {
		last := a.inEffect(ctx, c)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}

// set sets what is not so yet, and tells whether nothing was to be done.
func (a appending) set(ctx context.Context, c *redis.Client) (done bool, err error) {
	now := map[string]string{}
	for _, name := range []string{"appendonly", "appendfsync"} { // one at a time works before 7.0 too
		values, err := c.ConfigGet(ctx, name).Result()
		if err != nil {
			return false, err
		}
		now[name] = values[name]
	}
	if now["appendonly"] == a.only && now["appendfsync"] == a.fsync {
		return a.inEffect(ctx, c) == nil, nil
	}
	// First how, so that what is appended first is synced already.
	if err := c.ConfigSet(ctx, "appendfsync", a.fsync).Err(); err != nil {
		return false, err
	}
	if err := c.ConfigSet(ctx, "appendonly", a.only).Err(); err != nil {
		return false, err
	}
	return false, c.ConfigRewrite(ctx).Err()
}

// inEffect checks that the file is complete, or that there is none.
func (a appending) inEffect(ctx context.Context, c *redis.Client) error {
	text, err := c.Info(ctx, "persistence").Result()
	if err != nil {
		return err
	}
	want := map[string]string{"aof_enabled": "0"}
	if a.only == "yes" {
		want = map[string]string{
			"aof_enabled": "1", "aof_rewrite_in_progress": "0", "aof_rewrite_scheduled": "0",
			"aof_last_bgrewrite_status": "ok", "aof_last_write_status": "ok",
		}
	}
	info := ParseInfo(text)
	for name, value := range want {
		if info[name] != value {
			return fmt.Errorf("its %s is %q, not %q", name, info[name], value)
		}
	}
	return nil
}

// nameAt is the name of the node at an address, and the address.
func (s *Stack) nameAt(addr string) string {
	i := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.Addr == addr })
	if i < 0 {
		return addr
	}
	return s.Nodes[i].Name + " on " + addr
}
