package lock

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// script is a Lua script that replies with an integer, or with nil.
type script struct {
	source string
	sha    string
}

func newScript(source string) script {
	sum := sha1.Sum([]byte(source)) // what EVALSHA calls scripts by
	return script{source: source, sha: hex.EncodeToString(sum[:])}
}

// scripts is every script of the package's lockers.
func scripts() []script {
	return []script{release, confirm, setThenExpire, setAndMint, confirmAndMint, extend, redsyncRelease}
}

// run runs s in one round trip, or in two where the server does not have it
// yet: it was restarted, or is a promoted replica, which has none. args are
// the number of keys, the keys, and the arguments.
func (c *Client) run(ctx context.Context, s script, args ...any) (int64, error) {
	call := make([]any, 0, 8)
	call = append(call, "evalsha", s.sha)
	call = append(call, args...)
	cmd := redis.NewIntCmd(ctx, call...)
	err := c.redis.Process(ctx, cmd)
	if err == nil || !redis.HasErrorPrefix(err, "NOSCRIPT") {
		return cmd.Val(), err
	}
	call[0], call[1] = "eval", s.source
	cmd = redis.NewIntCmd(ctx, call...)
	err = c.redis.Process(ctx, cmd)
	return cmd.Val(), err
}

// LoadScripts puts the lockers' scripts into the server's cache, so that
// none is sent in full while it is being measured.
func (c *Client) LoadScripts(ctx context.Context) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	pipe := c.redis.Pipeline()
	for _, s := range scripts() {
		pipe.ScriptLoad(ctx, s.source)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("loading scripts into %s: %w", c.name, c.explain(err, "SCRIPT LOAD"))
	}
	return nil
}
