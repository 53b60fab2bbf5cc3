package external_test

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/envtest"
	"lockcost/env/external"
	"lockcost/env/link"
	"lockcost/env/process/processtest"
)

// watcherRights is what a Sentinel's user must have: README's line.
const watcherRights = "+ping +info +subscribe +sentinel|master +sentinel|get-master-addr-by-name +sentinel|sentinels &+switch-master &+replica-reconf-done"

// A primary, a replica and a Sentinel of each version, all over TLS with
// certificates on both sides, each with an ACL user of few rights.
func TestEverythingAtOnce(t *testing.T) {
	forEachVersion(t, func(t *testing.T, v processtest.Version) {
		ca := processtest.NewAuthority(t, soon())
		secure := ca.Redis(t, "yes", "127.0.0.1")
		users := []string{
			"requirepass " + secret, "masterauth " + secret, "repl-diskless-sync-delay 0",
			"user app on >" + secret + " ~lockcost:* -@all +info",
		}
		primary := processtest.RedisOf(t, v, append(secure, users...)...)
		replica := processtest.RedisOf(t, v, slices.Concat(secure, users, []string{"replicaof " + spaced(t, primary)})...)
		watch := append(secure, "sentinel monitor orders "+spaced(t, primary)+" 1", "sentinel auth-pass orders "+secret)
		sentinel := processtest.SentinelOf(t, v, append(watch,
			"user watcher on >sss-Sentinel resetchannels -@all "+watcherRights, "user default off")...)
		cert, key := ca.Issue(t, soon())
		given := external.Provider{
			Redis: "rediss://app:" + escaped + "@" + primary, ReplicasAt: []string{replica},
			Sentinels: []string{"rediss://watcher:sss-Sentinel@" + sentinel}, MasterName: "orders",
			TLS: external.TLSFiles{CA: ca.File, Cert: cert, Key: key},
		}
		s := accepted(t, given, env.Spec{Replicas: 1, Sentinels: 1})
		servers, err := env.Inspect(t.Context(), s)
		if err != nil || len(servers) != 3 {
			t.Fatalf("inspected: %+v, %v", servers, err)
		}
		kind, version, _ := strings.Cut(v.Name, "-")
		for _, server := range servers[:2] {
			if strings.ToLower(server.Kind) != kind || !strings.HasPrefix(server.Version, version) {
				t.Errorf("%s is called %s %s", v.Name, server.Kind, server.Version)
			}
		}
		if servers[2].Settings["quorum"] != "1" {
			t.Errorf("inspected: %+v", servers[2])
		}
		given.MasterName = "bills"
		refused(t, given, env.Spec{}, sentinel, "no primary called bills")
	})
}

// Whatever right the Sentinel's user lacks is named.
func TestEachMissingRightOnASentinelIsNamed(t *testing.T) {
	forEachVersion(t, func(t *testing.T, v processtest.Version) {
		primary := processtest.RedisOf(t, v)
		sentinel := processtest.SentinelOf(t, v, "sentinel monitor mymaster "+spaced(t, primary)+" 1")
		given := external.Provider{Redis: primary, Sentinels: []string{"redis://watcher:sss@" + sentinel}}
		user := func(rights []string) {
			rules := []any{"acl", "setuser", "watcher", "reset", "on", ">sss"}
			for _, right := range rights {
				rules = append(rules, right)
			}
			do(t, sentinel, rules...)
		}
		all := strings.Fields(watcherRights)
		user(all)
		accepted(t, given, env.Spec{})
		for _, right := range all {
			user(slices.DeleteFunc(slices.Clone(all), func(a string) bool { return a == right }))
			refused(t, given, env.Spec{}, "Sentinel at "+sentinel, "ACL SETUSER", right)
		}
		do(t, primary, "acl", "setuser", "app", "on", ">sss", "+ping")
		given.Redis = "redis://app:sss@" + primary
		refused(t, given, env.Spec{}, primary, "ACL SETUSER", "+info")
	})
}

// The primary has another address from here than the one that its Sentinel
// announces.
func TestPrimaryIsDialledElsewhere(t *testing.T) {
	s := processtest.Start(t, env.Spec{Replicas: 1, Sentinels: 1})
	l, err := link.New(s.Redis.Primary)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	given := external.Provider{Sentinels: s.Redis.Sentinels, Via: []string{s.Redis.Primary + "=" + l.Addr()}}
	found, err := given.Start(t.Context(), env.Spec{Replicas: 1, Sentinels: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r := found.Redis; r.Primary != l.Addr() || r.Via[s.Redis.Primary] != l.Addr() || found.Nodes[0].Addr != l.Addr() {
		t.Errorf("found %+v", found)
	}
	given.Redis = l.Addr()
	if _, err := given.Start(t.Context(), env.Spec{}); err != nil {
		t.Errorf("with the primary's address given: %v", err)
	}
	absent := nobody(t)
	given.Via = []string{s.Redis.Primary + "=" + absent}
	refused(t, given, env.Spec{}, absent, s.Redis.Primary, "--via")
	given.Via = []string{s.Redis.Primary + "=" + s.Redis.Replicas[0]}
	refused(t, given, env.Spec{}, s.Redis.Replicas[0], "another server", "--via")
	given.Redis = ""
	refused(t, given, env.Spec{}, s.Redis.Replicas[0], "is a replica of")

	given.Via = nil
	if err := s.Faults.Kill("primary"); err != nil {
		t.Fatal(err)
	}
	refused(t, given, env.Spec{}, "nothing answers there", "announces it there", "--via "+s.Redis.Primary+"=")
}

func TestMisspeltVia(t *testing.T) {
	for _, c := range []struct{ via, want string }{
		{"h:1", "host:port=host:port"}, {"h=h:1", `"h" is no host:port`}, {"h:1=", "no host:port"}, {"h:1=:2", "no host:port"},
		{"h:1=h:0", "no port"}, {"h:1=h:65536", "no port"}, {"h:1=h:x", "no port"},
	} {
		refused(t, external.Provider{Sentinels: []string{"h:1"}, Via: []string{c.via}}, env.Spec{}, "--via", c.want)
	}
	refused(t, external.Provider{Sentinels: []string{"h:1"}, Via: []string{"h:1=h:2", "h:1=h:3"}}, env.Spec{}, "twice")
	refused(t, external.Provider{Redis: "h:1", Via: []string{"h:1=h:2"}}, env.Spec{}, "Sentinels")
	refused(t, external.Provider{Redis: "h:1", Sentinels: []string{"h:1", ""}}, env.Spec{}, "Sentinel 2", "no host")
}

// A Sentinel whose address has no port listens on Sentinel's own.
func TestDefaultPorts(t *testing.T) {
	for _, given := range []string{"127.0.0.9", "127.0.0.9:", "redis://127.0.0.9", "redis://:sss@127.0.0.9"} {
		refused(t, external.Provider{Sentinels: []string{given}}, env.Spec{}, net.JoinHostPort("127.0.0.9", "26379"), "nothing answers")
		refused(t, external.Provider{Redis: given}, env.Spec{}, net.JoinHostPort("127.0.0.9", "6379"), "nothing answers")
	}
}

// --redis carries user and password; which server is the primary the
// Sentinels know better, after a failover.
func TestGivenPrimaryIsNoneAnyMore(t *testing.T) {
	if testing.Short() {
		t.Skip("a failover takes seconds")
	}
	own := processtest.Start(t, env.Spec{Replicas: 2, Sentinels: 3, DownAfter: 500 * time.Millisecond})
	p := external.Provider{Redis: own.Redis.Primary, Sentinels: own.Redis.Sentinels}
	if err := own.Faults.Kill("primary"); err != nil {
		t.Fatal(err)
	}
	another := func() error {
		s, err := p.Start(t.Context(), env.Spec{})
		if err == nil && s.Redis.Primary == own.Redis.Primary {
			err = errors.New("the primary is the one that was given")
		}
		return err
	}
	envtest.Eventually(t, "the primary was killed", another)
	if _, err := own.Faults.Restart(t.Context(), "primary"); err != nil {
		t.Fatal(err)
	}
	envtest.Eventually(t, "the primary is a replica now", another)
}
