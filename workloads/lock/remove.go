package lock

import (
	"context"
	"fmt"
	"iter"

	"github.com/redis/go-redis/v9"
)

// How Remove goes about it: one command with all keys would keep others
// waiting, and a round trip for each command would take minutes to a server
// that is far away.
const (
	keysPerCommand       = 500
	commandsPerRoundTrip = 20
)

// Remove deletes those of keys that are there, whatever their values, and
// returns how many there were. It looks at no other key, so that it takes no
// longer on a server with millions of others. What was deleted before an
// error stays deleted.
func (c *Client) Remove(ctx context.Context, keys iter.Seq[string]) (int64, error) {
	if err := c.enter(ctx); err != nil {
		return 0, err
	}
	defer c.leave()
	var deleted int64
	pipe := c.redis.Pipeline()
	for some := range chunks(keys, keysPerCommand) {
		pipe.Unlink(ctx, some...)
		if pipe.Len() < commandsPerRoundTrip {
			continue
		}
		n, err := c.unlink(ctx, pipe)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
	n, err := c.unlink(ctx, pipe)
	return deleted + n, err
}

// unlink sends the pipeline's commands, if any, and empties it.
func (c *Client) unlink(ctx context.Context, pipe redis.Pipeliner) (deleted int64, err error) {
	cmds, err := pipe.Exec(ctx)
	for _, cmd := range cmds {
		deleted += cmd.(*redis.IntCmd).Val() // 0 where it failed
	}
	if err != nil {
		err = fmt.Errorf("removing keys from %s: %w", c.name, c.explain(err, "UNLINK"))
	}
	return deleted, err
}

// chunks hands out n keys at a time, in a new slice each time; the last may
// have fewer.
func chunks(keys iter.Seq[string], n int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		var chunk []string
		for key := range keys {
			if chunk = append(chunk, key); len(chunk) < n {
				continue
			}
			if !yield(chunk) {
				return
			}
			chunk = make([]string, 0, n)
		}
		if len(chunk) > 0 {
			yield(chunk)
		}
	}
}
