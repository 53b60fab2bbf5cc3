package lock

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// info is the fields of an INFO reply.
type info map[string]string

func parseInfo(reply string) info {
	fields := make(info)
	for line := range strings.Lines(reply) {
		name, value, found := strings.Cut(strings.TrimSpace(line), ":")
		if found {
			fields[name] = value
		}
	}
	return fields
}

// info asks for all default sections: servers before 7.0 take one section at
// most.
func (c *Client) info(ctx context.Context) (info, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	reply, err := c.redis.Info(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("INFO of %s: %w", c.name, err)
	}
	return parseInfo(reply), nil
}

// onlineReplicas counts the replicas that can acknowledge a write. One that
// still loads its first copy is connected and counts for nothing.
func (i info) onlineReplicas() int {
	online := 0
	for name, value := range i {
		if isReplica(name) && strings.Contains(value+",", "state=online,") {
			online++
		}
	}
	return online
}

// isReplica tells fields named slave0, slave1 and so on from others such as
// slave_repl_offset.
func isReplica(name string) bool {
	number, found := strings.CutPrefix(name, "slave")
	return found && number != "" && strings.Trim(number, "0123456789") == ""
}

// OnlineReplicas is the number of replicas that are ready to acknowledge.
func (c *Client) OnlineReplicas(ctx context.Context) (int, error) {
	fields, err := c.info(ctx)
	if err != nil {
		return 0, err
	}
	return fields.onlineReplicas(), nil
}

// Cleanup deletes every key that begins with prefix, the fencing counter
// included, and returns how many there were. An empty prefix is refused. It
// goes through all keys in steps of 1000, so it is for after a measurement.
func (c *Client) Cleanup(ctx context.Context, prefix string) (int64, error) {
	if prefix == "" {
		return 0, fmt.Errorf("cleaning up %s: an empty prefix would delete every key", c.name)
	}
	if err := c.enter(ctx); err != nil {
		return 0, err
	}
	defer c.leave()
	var deleted int64
	for cursor := uint64(0); ; {
		keys, next, err := c.redis.Scan(ctx, cursor, literal(prefix)+"*", 1000).Result()
		if err != nil {
			return deleted, fmt.Errorf("cleaning up %s: looking for keys %s*: %w", c.name, prefix, err)
		}
		count, err := unlink(ctx, c.redis, keys)
		deleted += count
		if err != nil {
			return deleted, fmt.Errorf("cleaning up %s: %w", c.name, err)
		}
		if cursor = next; cursor == 0 {
			return deleted, nil
		}
	}
}

func unlink(ctx context.Context, r *redis.Client, keys []string) (int64, error) {
	if len(keys) == 0 {
		return 0, nil
	}
	return r.Unlink(ctx, keys...).Result()
}

// literal escapes what a pattern of SCAN would interpret.
func literal(prefix string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(prefix)
}
