package workloads

import (
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/env"
	"lockcost/env/external"
	"lockcost/env/process/processtest"
)

// What README tells to give to a user of Redis and to one of a Sentinel.
const (
	userRights = "~lockcost:* +ping +info +set +setnx +get +del +unlink +pexpire +incr +eval +evalsha +script|load +wait"
	// watcherRights also hold the channels that tell of a failover.
	watcherRights = "+ping +info +subscribe +sentinel|master +sentinel|get-master-addr-by-name +sentinel|sentinels " +
		"&+switch-master &+replica-reconf-done"
)

// Every path on servers of the user's own: Redis and a Sentinel of each
// version, over TLS, with certificates on both sides, and users who may do
// what is needed and no more. The clients follow a failover.
func TestPathsOnServersOfTheUser(t *testing.T) {
	for _, v := range processtest.Versions() {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel() // a Sentinel takes ten seconds to look at its primary again
			given, admin := ownServers(t, v)
			stack := started(t, given)
			settings := Settings{
				Prefix: "lockcost:test:", Workers: 4, OpTimeout: 10 * time.Second,
				WaitReplicas: 1, WaitTimeout: 5 * time.Second,
			}
			everyPath(t, stack, settings)
			if err := Remove(t.Context(), stack, settings, []Service{Redis}, slices.Values([]string{"lockcost:test:fencing-counter"})); err != nil {
				t.Error(err)
			}

			path, err := Find("setnx")
			if err != nil {
				t.Fatal(err)
			}
			session, err := path.Open(t.Context(), stack, settings)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			admin.TLS = stack.Redis.TLS
			failOver(t, admin)
			follows(t, session, admin)
		})
	}
}

// ownServers starts a primary, its replica and a Sentinel, and says how they
// are given to lockcost, and how an administrator reaches them.
func ownServers(t *testing.T, v processtest.Version) (given external.Provider, admin env.Redis) {
	t.Helper()
	ca := processtest.NewAuthority(t, time.Now().Add(time.Hour))
	secure := ca.Redis(t, "yes", "127.0.0.1")
	users := slices.Concat(secure, []string{
		"requirepass of-admin", "masterauth of-admin", "repl-diskless-sync-delay 0", "user app on >of-app " + userRights,
	})
	primary := processtest.RedisOf(t, v, users...)
	replica := processtest.RedisOf(t, v, append(users, "replicaof "+spaced(t, primary))...)
	sentinel := processtest.SentinelOf(t, v, append(slices.Clone(secure), "requirepass of-admin",
		"sentinel monitor mymaster "+spaced(t, primary)+" 1", "sentinel auth-pass mymaster of-admin",
		"user watcher on >of-watcher resetchannels "+watcherRights)...)
	cert, key := ca.Issue(t, time.Now().Add(time.Hour))
	given = external.Provider{
		Redis: "rediss://app:of-app@" + primary, ReplicasAt: []string{replica},
		Sentinels: []string{"rediss://watcher:of-watcher@" + sentinel},
		TLS:       external.TLSFiles{CA: ca.File, Cert: cert, Key: key},
	}
	return given, env.Redis{Sentinels: []string{sentinel}, Replicas: []string{replica}, Password: "of-admin", SentinelPassword: "of-admin"}
}

func spaced(t *testing.T, addr string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return host + " " + port
}

// patience bounds what a test waits for; nothing depends on how long it took.
const patience = time.Minute

// started takes the servers for a stack once they know of each other.
func started(t *testing.T, given external.Provider) *env.Stack {
	t.Helper()
	var stack *env.Stack
	eventually(t, func() (err error) {
		stack, err = given.Start(t.Context(), env.Spec{Replicas: 1, Sentinels: 1})
		return err
	})
	return stack
}

func eventually(t *testing.T, try func() error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// everyPath opens and checks each path, and takes and releases its lock.
func everyPath(t *testing.T, stack *env.Stack, s Settings) {
	t.Helper()
	for _, spec := range []string{
		"null", "ping", "setnx", "setnx:form=script", "setnx-wait", "setnx-wait:round-trips=2", "fencing", "idempotent",
	} {
		path, err := Find(spec)
		if err != nil {
			t.Fatal(err)
		}
		session, err := path.Open(t.Context(), stack, s)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if err := path.Check(t.Context(), session, s); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
		lease, err := session.Locker.TryLock(t.Context(), s.Prefix+spec, time.Minute)
		if err == nil {
			err = lease.Unlock(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", spec, err)
		}
		if err := session.Close(); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// failOver has the Sentinel promote the replica, once it knows of it.
func failOver(t *testing.T, admin env.Redis) {
	t.Helper()
	sentinel := redis.NewSentinelClient(admin.SentinelOptions(admin.Sentinels[0]))
	defer sentinel.Close()
	eventually(t, func() error { return sentinel.Failover(t.Context(), "mymaster").Err() })
}

// follows takes locks until one is on the server that was the replica.
func follows(t *testing.T, session *Session, admin env.Redis) {
	t.Helper()
	const key = "lockcost:test:followed"
	promoted := redis.NewClient(admin.Options(admin.Replicas[0]))
	defer promoted.Close()
	eventually(t, func() error {
		lease, err := session.Locker.TryLock(t.Context(), key, time.Minute)
		if err != nil {
			return err
		}
		there, err := promoted.Exists(t.Context(), key).Result()
		role, roleErr := promoted.Info(t.Context(), "replication").Result()
		if err = errors.Join(err, roleErr, lease.Unlock(t.Context())); err != nil {
			return err
		}
		if there == 0 || env.ParseInfo(role)["role"] != "master" {
			return errors.New("locks are not taken on the promoted replica")
		}
		return nil
	})
}
