package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"lockcost/env"

	"github.com/redis/go-redis/v9"
)

// presentPrimary returns the address of the primary of now: of the one that
// was given, unless that is gone or a replica since a failover and there are
// Sentinels that tell another.
func presentPrimary(ctx context.Context, r env.Redis) (string, error) {
	if r.Primary == "" {
		return askForPrimary(ctx, r)
	}
	if len(r.Sentinels) == 0 {
		return r.Primary, nil
	}
	what := "Redis at " + r.Primary
	var given map[string]string
	if reach(ctx, what, r.Options(r.Primary)) == nil {
		var err error
		if given, err = describe(ctx, r, what, r.Primary); err != nil || given["role"] == "master" {
			return r.Primary, nil // its check tells what is wrong, if anything
		}
	}
	now, err := askForPrimary(ctx, r)
	if err != nil {
		return r.Primary, nil
	}
	if given == nil {
		return now, nil
	}
	found, err := describe(ctx, r, "Redis at "+now, now)
	if err != nil || found["master_replid"] != given["master_replid"] {
		return r.Primary, nil // a replica of another's
	}
	return now, nil
}

// askForPrimary asks the Sentinels, one after the other, where the primary
// is, and returns the address to dial. It fails when none of them tells, with
// the reason of each, and when what the first announces is not reached.
func askForPrimary(ctx context.Context, r env.Redis) (string, error) {
	var errs []error
	for _, addr := range r.Sentinels {
		m, err := master(ctx, r, addr)
		if err == nil {
			announced := net.JoinHostPort(m["ip"], m["port"])
			at := dialled(r, announced)
			if err := reach(ctx, "Redis at "+at, r.Options(at)); err != nil {
				return "", announcedAs(err, r, addr, announced)
			}
			return at, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// checkSentinel checks that a Sentinel watches primary and holds it to be
// up. The two are compared by the process's run id: the address by which a
// Sentinel reaches it need not be the one we have.
func checkSentinel(ctx context.Context, r env.Redis, addr string, primary identity) error {
	m, err := master(ctx, r, addr)
	if err != nil {
		return err
	}
	what := "Sentinel at " + addr
	if m["runid"] != primary.runID {
		return fmt.Errorf("%s watches %s as %s, which is another primary than %s",
			what, net.JoinHostPort(m["ip"], m["port"]), r.MasterName, primary.addr)
	}
	if m["flags"] != "master" {
		return fmt.Errorf("%s holds %s to be %q: wait until it holds it to be up", what, r.MasterName, m["flags"])
	}
	if err := checkWatcher(ctx, r, addr); err != nil {
		return err
	}
	return checkAnnounced(ctx, r, addr, net.JoinHostPort(m["ip"], m["port"]), primary)
}

// master returns what a Sentinel knows of the primary.
func master(ctx context.Context, r env.Redis, addr string) (map[string]string, error) {
	what := "Sentinel at " + addr
	o := r.SentinelOptions(addr)
	if err := reach(ctx, what, o); err != nil {
		return nil, err
	}
	c := redis.NewSentinelClient(o)
	defer c.Close()
	m, err := c.Master(ctx, r.MasterName).Result()
	switch {
	case err == nil:
		return m, nil
	case strings.Contains(err.Error(), "No such master"):
		return nil, fmt.Errorf("%s watches no primary called %s%s", what, r.MasterName, watched(ctx, c))
	case strings.Contains(err.Error(), "unknown command"):
		return nil, fmt.Errorf("%s is no Sentinel: give the address of one (their port is %s by default)", what, sentinelPort)
	}
	return nil, explain(what, lastWords(ctx, o, err), r.TLS)
}

// watched tells what a Sentinel watches instead; "" where that is nothing.
func watched(ctx context.Context, c *redis.SentinelClient) string {
	list, err := c.Masters(ctx).Result()
	if err != nil {
		return ""
	}
	var names []string
	for _, m := range list {
		if pairs, ok := m.([]any); ok && len(pairs) > 1 && pairs[0] == "name" {
			names = append(names, fmt.Sprint(pairs[1]))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; it watches " + strings.Join(names, ", ")
}
