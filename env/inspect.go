package env

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Server is what a node is and how it is set, so far as it bears on what a
// lock costs and what it is worth.
type Server struct {
	Name    string // of the node: primary, replica-1, sentinel-1, ledger, independent-1, etcd-1, zookeeper-1
	Kind    string // Redis, Valkey, Sentinel, MariaDB, MySQL, etcd, ZooKeeper
	Version string
	Address string // host:port
	// Settings by the server's own names for them, with its own values.
	// Those that the server lacks, or will not tell us, are left out.
	//
	// Some are ours: fsync, yes or no, is whether an etcd or a ZooKeeper that
	// is ours syncs its log (unsafe-no-fsync, forceSync), and
	// datadir_filesystem where a server on this machine keeps its data: see
	// Filesystem. A Redis has it only with an append-only file. Of etcd,
	// heartbeat-interval and election-timeout, in ms, are known of our own.
	Settings map[string]string
}

var (
	redisSettings = []string{
		"appendonly", "appendfsync", "save", "repl-diskless-sync-delay",
		"min-replicas-to-write", "min-replicas-max-lag", "maxmemory-policy",
	}
	sentinelSettings = []string{"down-after-milliseconds", "quorum", "failover-timeout"}
)

// Inspect asks every node of a stack what it is. It changes nothing. The
// error is of a node that does not answer and names it; a server that
// forbids CONFIG is none.
func Inspect(ctx context.Context, s *Stack) ([]Server, error) {
	var servers []Server
	for _, n := range s.Nodes {
		var v Server
		var err error
		switch n.Kind {
		case KindRedis:
			v, err = inspectRedis(ctx, s.Redis, n)
		case KindSentinel:
			v, err = inspectSentinel(ctx, s.Redis, n.Addr)
		case KindLedger:
			v, err = inspectLedger(ctx, s.Ledger, n)
		case KindEtcd:
			v, err = inspectEtcd(ctx, s, n)
		case KindZooKeeper:
			v, err = inspectZooKeeper(ctx, s, n)
		default:
			err = fmt.Errorf("kind %q is not known", n.Kind)
		}
		if err != nil {
			return nil, fmt.Errorf("inspecting %s at %s: %w", n.Name, n.Addr, err)
		}
		v.Name, v.Address = n.Name, n.Addr
		servers = append(servers, v)
	}
	return servers, nil
}

func inspectRedis(ctx context.Context, r Redis, n Node) (Server, error) {
	c := redis.NewClient(r.Options(n.Addr))
	defer c.Close()
	text, err := c.Info(ctx, "server").Result()
	if err != nil {
		return Server{}, err
	}
	v := Server{Kind: "Redis", Settings: map[string]string{}}
	v.Version = version(ParseInfo(text), &v.Kind)
	for _, name := range redisSettings {
		// One at a time: that works before 7.0 too, and an ACL may allow
		// some and not others.
		values, err := c.ConfigGet(ctx, name).Result()
		if err != nil {
			if redis.HasErrorPrefix(err, "") {
				continue // the server's refusal
			}
			return Server{}, err
		}
		if value, ok := values[name]; ok {
			v.Settings[name] = value
		}
	}
	if v.Settings["appendonly"] == "yes" {
		if values, err := c.ConfigGet(ctx, "dir").Result(); err == nil {
			v.set("datadir_filesystem", n.filesystem(values["dir"]))
		}
	}
	return v, nil
}

// version returns the version that INFO tells, and sets kind to Valkey where
// that answers: for the sake of old clients it gives a redis_version too.
func version(info map[string]string, kind *string) string {
	if valkey := info["valkey_version"]; valkey != "" {
		*kind = "Valkey"
		return valkey
	}
	return info["redis_version"]
}

func inspectSentinel(ctx context.Context, r Redis, addr string) (Server, error) {
	v := Server{Kind: "Sentinel", Settings: map[string]string{}}
	plain := redis.NewClient(r.SentinelOptions(addr))
	defer plain.Close()
	text, err := plain.Info(ctx, "server").Result()
	if err != nil {
		return Server{}, err
	}
	kind := "Redis"
	v.Version = version(ParseInfo(text), &kind)
	if kind == "Valkey" {
		v.Version = "Valkey " + v.Version
	}
	c := redis.NewSentinelClient(r.SentinelOptions(addr))
	defer c.Close()
	m, err := c.Master(ctx, r.MasterName).Result()
	if err != nil {
		return Server{}, err
	}
	for _, name := range sentinelSettings {
		if value, ok := m[name]; ok {
			v.Settings[name] = value
		}
	}
	return v, nil
}
