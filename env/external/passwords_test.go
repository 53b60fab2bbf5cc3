package external_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/external"
	"lockcost/env/process/processtest"
)

// A primary and a replica that ask for secret, and a Sentinel that asks for
// another password, of its default user or of one with a name.
func TestPasswordOnRedisAndOnSentinel(t *testing.T) {
	primary := processtest.Redis(t, "requirepass "+secret, "repl-diskless-sync-delay 0")
	replica := processtest.Redis(t, "requirepass "+secret, "masterauth "+secret, "replicaof "+spaced(t, primary))
	watch := []string{"sentinel monitor mymaster " + spaced(t, primary) + " 1", "sentinel auth-pass mymaster " + secret}
	for name, c := range map[string]struct {
		setting, user string
	}{
		"requirepass": {setting: "requirepass sss-Sentinel"},
		"ACL user":    {setting: "user watcher on >sss-Sentinel allchannels +@all\nuser default off", user: "watcher"},
	} {
		t.Run(name, func(t *testing.T) {
			sentinel := processtest.Sentinel(t, append(watch, c.setting)...)
			given := external.Provider{
				Redis:      "redis://:" + escaped + "@" + primary,
				ReplicasAt: []string{replica},
				Sentinels:  []string{"redis://" + c.user + ":sss-Sentinel@" + sentinel},
			}
			s := accepted(t, given, env.Spec{Replicas: 1, Sentinels: 1})
			if r := s.Redis; r.Password != secret || r.SentinelPassword != "sss-Sentinel" || r.SentinelUsername != c.user {
				t.Errorf("found %+v", r)
			}
			servers, err := env.Inspect(t.Context(), s)
			if err != nil || len(servers) != 3 || servers[2].Settings["quorum"] != "1" {
				t.Errorf("inspected: %+v, %v", servers, err)
			}

			without, wrong := given, given
			without.Sentinels = []string{sentinel}
			refused(t, without, env.Spec{}, "Sentinel at "+sentinel, "wants a password")
			wrong.Sentinels = []string{"redis://" + c.user + ":" + escaped + "@" + sentinel}
			refused(t, wrong, env.Spec{}, "Sentinel at "+sentinel, "refuses the user or the password")
			without = given
			without.Redis = primary
			refused(t, without, env.Spec{}, "Redis at "+primary, "wants a password")
		})
	}
}

// spaced is an address as configuration files have it.
func spaced(t *testing.T, addr string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return host + " " + port
}

// accepted starts p once the servers, which have just been started, know of
// each other.
func accepted(t *testing.T, p external.Provider, spec env.Spec) *env.Stack {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		s, err := p.Start(t.Context(), spec)
		if err == nil {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		if text := fmt.Sprint(err); strings.Contains(text, "sss") {
			t.Fatalf("a password is in: %s", text)
		}
	}
}
