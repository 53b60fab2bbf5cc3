package external

import (
	"context"
	"errors"
	"fmt"

	"lockcost/env"
)

// addIndependent adds one Redis server that knows of nobody. All of them have
// the primary's user, password and TLS; where there is no primary, the first
// one's.
func (p Provider) addIndependent(r *env.Redis, list *[]string, s string) error {
	e, err := parse(s, redisPort)
	if err != nil {
		return err
	}
	if r.Primary == "" && len(p.Sentinels) == 0 && len(*list) == 0 {
		r.Username, r.Password, r.DB = e.username, e.password, e.db
		if e.tls {
			if r.TLS, err = p.TLS.load(); err != nil {
				return err
			}
		}
	}
	switch {
	case e.password != "" && (e.password != r.Password || e.username != r.Username):
		return errors.New("all Redis servers must have the same user and password")
	case e.tls && r.TLS == nil, e.plain && r.TLS != nil:
		return errMixedTLS
	}
	*list = append(*list, e.addr)
	return nil
}

// checkIndependents checks that each is a primary, and none of them another
// one's replica, nor the same server as another: one node's crash is to cost
// one vote.
func checkIndependents(ctx context.Context, s *env.Stack) error {
	seen := map[string]string{} // addresses, by run id
	if s.Redis.Primary != "" {
		info, err := describe(ctx, s.Redis, "Redis at "+s.Redis.Primary, s.Redis.Primary)
		if err != nil {
			return err
		}
		seen[info["run_id"]] = s.Redis.Primary
	}
	for _, addr := range s.Independents {
		what := "independent Redis at " + addr
		info, err := describe(ctx, s.Redis, what, addr)
		if err != nil {
			return err
		}
		if info["role"] != "master" {
			return fmt.Errorf("%s is a replica of %s:%s: give servers that know nothing of each other",
				what, info["master_host"], info["master_port"])
		}
		if other, twice := seen[info["run_id"]]; twice {
			return fmt.Errorf("%s is the same server as the one at %s: give servers of their own", what, other)
		}
		seen[info["run_id"]] = addr
	}
	return nil
}
