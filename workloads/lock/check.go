package lock

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/env"
)

// Needs is what a path needs of the server it locks on.
type Needs struct {
	Path     string // its name, for messages: setnx-wait
	Replicas int    // how many are to acknowledge; 0 for a path that waits for none
	Tokens   bool   // it mints tokens in Redis
	// WaitAOF: it waits by WAITAOF instead of WAIT, for the server's own disk
	// and those of Replicas.
	WaitAOF bool
	Prefix  string // of its keys
}

// Check says, before anything is measured, whether the server can do what is
// needed. Its error is one line that names the server, what is missing and
// what to try. It leaves no key behind, and none for longer than 10 s where
// it is cut off; but it may leave error replies in the server's statistics
// where a right is missing.
func Check(ctx context.Context, client *Client, needs Needs) error {
	fields, err := client.info(ctx)
	if err != nil {
		return client.explain(err, "INFO")
	}
	if fields["cluster_enabled"] == "1" {
		return fmt.Errorf("%s is a node of a Redis Cluster, where a key's lock and its token may be on different nodes; give a server with cluster-enabled no", client.name)
	}
	if fields["role"] != "master" {
		return fmt.Errorf("%s is a replica of %s:%s, and locks are taken on the primary; give that address, or the Sentinels'",
			client.name, fields["master_host"], fields["master_port"])
	}
	if needs.WaitAOF {
		if err := client.checkAOF(needs, fields); err != nil {
			return err
		}
	}
	if err := client.checkRights(ctx, needs); err != nil {
		return err
	}
	return client.checkReplicas(needs, fields)
}

// checkAOF refuses a server that does not have WAITAOF, or the file that it
// waits for. Valkey says which Redis it is like.
func (c *Client) checkAOF(needs Needs, fields map[string]string) error {
	if version := fields["redis_version"]; before(version, 7, 2) {
		return &unsupported{fmt.Sprintf("WAITAOF needs Redis 7.2 or later; %s is %s; try a newer one (--redis-server), or --paths without %s", c.name, version, needs.Path)}
	}
	if fields["aof_enabled"] == "0" {
		return &unsupported{fmt.Sprintf("%s waits for an append-only file, and %s has none: it needs appendonly yes; try CONFIG SET appendonly yes", needs.Path, c.name)}
	}
	return nil
}

// before tells whether a version is known to be older than major.minor.
func before(version string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(version, "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a < major || a == major && b < minor
}

// checkReplicas looks for the replicas that WAIT is to wait for.
func (c *Client) checkReplicas(needs Needs, fields map[string]string) error {
	if online := env.OnlineReplicas(fields); online < needs.Replicas {
		return fmt.Errorf("%s needs %s online, %s has %d; start %s or use --paths without %s",
			needs.Path, replicas(needs.Replicas), c.name, online, missing(needs.Replicas-online), needs.Path)
	}
	return nil
}

func replicas(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

func missing(n int) string {
	if n == 1 {
		return "one"
	}
	return fmt.Sprintf("%d more", n)
}

// checkRights sends each command that the path's lockers send, on a key of
// its own, and names all that are refused.
func (c *Client) checkRights(ctx context.Context, needs Needs) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	key := needs.Prefix + "check"
	set := probeSet(ctx, key)
	first := []redis.Cmder{redis.NewCmd(ctx, "ping"), set}
	if err := c.send(ctx, first); err != nil {
		return err
	}
	if set.Err() != nil && !replied(set.Err()) {
		return c.refused(first, needs)
	}
	rest := probes(ctx, needs, key, set.Err() == nil)
	if err := c.send(ctx, rest); err != nil {
		return err
	}
	return c.refused(append(first, rest...), needs)
}

// probeTTL is when the key of checkRights ends by itself.
const probeTTL = 10 * time.Second

func probeSet(ctx context.Context, key string) redis.Cmder {
	return redis.NewCmd(ctx, "set", key, "1", "px", probeTTL.Milliseconds())
}

// probes are the other commands that lockers of needs send, and that they
// send from within scripts. Those which would make a key that never ends are
// sent only where SET is allowed, behind one that gives the key its end:
// whatever is refused, and wherever the connection breaks, nothing stays.
func probes(ctx context.Context, needs Needs, key string, settable bool) []redis.Cmder {
	var cmds []redis.Cmder
	if settable {
		cmds = append(cmds, probeSet(ctx, key), redis.NewCmd(ctx, "setnx", key, "1"))
	}
	cmds = append(cmds,
		redis.NewCmd(ctx, "get", key),
		redis.NewCmd(ctx, "pexpire", key, probeTTL.Milliseconds()),
		redis.NewCmd(ctx, "script", "load", confirm.source),
		redis.NewCmd(ctx, "eval", confirm.source, 1, key, "1", probeTTL.Milliseconds()),
		redis.NewCmd(ctx, "evalsha", confirm.sha, 1, key, "1", probeTTL.Milliseconds()),
	)
	switch { // nobody has acknowledged already: neither waits
	case needs.WaitAOF:
		cmds = append(cmds, redis.NewCmd(ctx, "waitaof", 0, 0, 1))
	case needs.Replicas > 0:
		cmds = append(cmds, redis.NewCmd(ctx, "wait", 0, 1))
	}
	if needs.Tokens && settable {
		cmds = append(cmds, redis.NewCmd(ctx, "incr", key))
	}
	return append(cmds, redis.NewCmd(ctx, "del", key), redis.NewCmd(ctx, "unlink", key))
}

// send sends commands together, each of which has its own error afterwards.
func (c *Client) send(ctx context.Context, cmds []redis.Cmder) error {
	pipe := c.redis.Pipeline()
	if err := pipe.BatchProcess(ctx, cmds...); err != nil {
		return err
	}
	_, _ = pipe.Exec(ctx)
	return nil
}

// refused names all commands that were refused, or the first that failed.
func (c *Client) refused(cmds []redis.Cmder, needs Needs) error {
	var denied []string
	var failed error
	for _, cmd := range cmds {
		switch err := cmd.Err(); {
		case err == nil || err == redis.Nil:
		case !redis.IsPermissionError(err):
			failed = cmp.Or(failed, c.unserved(cmd, needs))
		case strings.Contains(err.Error(), "key"):
			return fmt.Errorf("user %s may not use keys %s* on %s; try ACL SETUSER %s ~%s*", c.user, needs.Prefix, c.name, c.user, family(needs.Prefix))
		default:
			denied = append(denied, right(cmd))
		}
	}
	if denied != nil { // which a script may have failed for, too
		return c.lacks(denied...)
	}
	return failed
}

// unwilling is why a server that has a command does not execute it, and what
// to try.
var unwilling = map[string]string{
	"OOM":        "has reached its maxmemory: raise that, or free some",
	"NOREPLICAS": "has fewer replicas online than its min-replicas-to-write asks for: start some, or lower that",
	"MISCONF":    "could not save its data and so takes no writes: see its log, or stop-writes-on-bgsave-error",
	"READONLY":   "is a replica that takes no writes: give its primary's address, or the Sentinels'",
	"MASTERDOWN": "is a replica that has lost its primary: give the primary's address, or the Sentinels'",
}

// unserved is the error of a command that was answered with one, or lost.
func (c *Client) unserved(cmd redis.Cmder, needs Needs) error {
	err := cmd.Err()
	if why, ok := unwilling[replyCode(err)]; ok {
		return fmt.Errorf("%s does not serve %s: it %s (%w)", c.name, right(cmd), why, err)
	}
	if !replied(err) || !strings.Contains(err.Error(), "unknown command") {
		return fmt.Errorf("%s does not serve %s: %w", c.name, right(cmd), err)
	}
	return fmt.Errorf("%s needs %s, which %s does not have: it was renamed or taken away in its configuration, "+
		"or is no part of this server; use --paths without %s", needs.Path, right(cmd), c.name, needs.Path)
}

// family is what the prefixes of all runs begin with.
func family(prefix string) string {
	first, _, _ := strings.Cut(prefix, ":")
	return first + ":"
}

// explain makes a refused right plain in an error of the command it names.
func (c *Client) explain(err error, command string) error {
	if redis.IsPermissionError(err) {
		return c.lacks(command)
	}
	return err
}

// lacks is the error of a user without the right to some commands.
func (c *Client) lacks(commands ...string) error {
	grants := make([]string, len(commands))
	for i, command := range commands {
		grants[i] = "+" + strings.ReplaceAll(strings.ToLower(command), " ", "|")
	}
	return fmt.Errorf("user %s lacks the right to %s on %s; try ACL SETUSER %s %s",
		c.user, strings.Join(commands, ", "), c.name, c.user, strings.Join(grants, " "))
}

// right is a command's name as ACL rules have it, with its subcommand.
func right(cmd redis.Cmder) string {
	name := strings.ToUpper(cmd.Name())
	if name == "SCRIPT" {
		name += " LOAD"
	}
	return name
}

// unsupported is an ErrUnsupported that says what the server lacks.
type unsupported struct{ text string }

func (e *unsupported) Error() string        { return e.text }
func (e *unsupported) Is(target error) bool { return target == ErrUnsupported }
