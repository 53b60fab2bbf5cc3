package assembly

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"lockcost/env"

	"github.com/redis/go-redis/v9"
)

const probeTimeout = 500 * time.Millisecond

// hasty shortens the wait for a reply, which the client does not break off
// when its context is cancelled. A server that is slower is asked again.
func hasty(o *redis.Options) *redis.Options {
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = probeTimeout, probeTimeout, probeTimeout
	return o
}

// redisAnswers checks that the server answers, and that it is the server we
// started and not a stranger's on the same port.
func (v *server) redisAnswers(ctx context.Context) error {
	if err := v.listens(ctx); err != nil {
		return err
	}
	info, err := v.info(ctx, "server")
	if err != nil {
		return err
	}
	if err := v.isOurs(info); err != nil {
		return err
	}
	// One that still loads its file tells of itself, and answers nothing else.
	c := v.client()
	defer c.Close()
	return c.Ping(ctx).Err()
}

// listens checks that the port is open. The Redis client would say so too,
// but log each refusal.
func (v *server) listens(ctx context.Context) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", v.addr())
	if err != nil {
		return &silentError{err}
	}
	return c.Close()
}

func (v *server) isOurs(info map[string]string) error {
	if file := info["config_file"]; file != v.File() {
		return fmt.Errorf("%s is answered by a server of the configuration %q, not of %s", v.addr(), file, v.File())
	}
	return nil
}

// linkUp checks that a replica has its primary's data.
func (v *server) linkUp(ctx context.Context) error {
	info, err := v.info(ctx, "replication")
	if err != nil {
		return err
	}
	if s := info["master_link_status"]; s != "up" {
		return fmt.Errorf("its link to the primary is %q, not up", s)
	}
	return nil
}

// replicasOnline checks that the primary counts n replicas as online, which
// is when WAIT counts them.
func (v *server) replicasOnline(ctx context.Context, n int) error {
	info, err := v.info(ctx, "replication")
	if err != nil {
		return err
	}
	online := env.OnlineReplicas(info)
	if info["role"] != "master" || online != n {
		return fmt.Errorf("it is a %s with %d of %d replicas online", info["role"], online, n)
	}
	return nil
}

// info returns a section of INFO.
func (v *server) info(ctx context.Context, section string) (map[string]string, error) {
	c := v.client()
	defer c.Close()
	text, err := c.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	return env.ParseInfo(text), nil
}

func (v *server) client() *redis.Client {
	return redis.NewClient(hasty(env.Redis{}.Options(v.addr())))
}

// sentinelAnswers is redisAnswers for a Sentinel.
func (v *server) sentinelAnswers(ctx context.Context) error {
	if err := v.listens(ctx); err != nil {
		return err
	}
	c := redis.NewClient(hasty(env.Redis{}.SentinelOptions(v.addr())))
	defer c.Close()
	text, err := c.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	return v.isOurs(env.ParseInfo(text))
}

// sentinelAgrees checks that a Sentinel holds the primary, which it knows by
// its peer address, to be up and knows the
// replicas and the other Sentinels, all of them up.
func (v *server) sentinelAgrees(ctx context.Context, primary string, replicas, others int) error {
	c := redis.NewSentinelClient(hasty(env.Redis{}.SentinelOptions(v.addr())))
	defer c.Close()
	m, err := c.Master(ctx, masterName).Result()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(primary)
	if err != nil {
		return err
	}
	want := map[string]string{
		"ip": host, "port": port, "flags": "master",
		"num-slaves": strconv.Itoa(replicas), "num-other-sentinels": strconv.Itoa(others),
	}
	for k, w := range want {
		if m[k] != w {
			return fmt.Errorf("its %s of %s is %q, not %q", k, masterName, m[k], w)
		}
	}
	rs, err := c.Replicas(ctx, masterName).Result()
	if err != nil {
		return err
	}
	if err := allAre(rs, "slave"); err != nil {
		return err
	}
	ss, err := c.Sentinels(ctx, masterName).Result()
	if err != nil {
		return err
	}
	return allAre(ss, "sentinel")
}

// allAre checks that each of what a Sentinel lists has these flags and no
// others, such as disconnected or s_down.
func allAre(list []map[string]string, flags string) error {
	for _, m := range list {
		if m["flags"] != flags {
			return fmt.Errorf("it holds %s to be %q, not %q", m["name"], m["flags"], flags)
		}
	}
	return nil
}
