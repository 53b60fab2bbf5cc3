package process_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/envtest"
	"lockcost/env/process/processtest"

	"github.com/redis/go-redis/v9"
)

func TestRoundTripsAreWatched(t *testing.T) {
	s := processtest.Start(t, envtest.Linked)
	for _, c := range []struct{ replica, client time.Duration }{
		{0, 0}, {10 * time.Millisecond, 0}, {0, 20 * time.Millisecond}, {20 * time.Millisecond, 10 * time.Millisecond},
	} {
		envtest.SetDistance(t, s, c.replica, c.client)
		replica, client := watch(t, s)
		seen(t, "replicas", replica, c.replica)
		seen(t, "clients", client, c.client)
	}
	const jitter = 8 * time.Millisecond
	if err := s.Distance.Set(t.Context(), 0, 10*time.Millisecond, jitter); err != nil {
		t.Fatal(err)
	}
	_, client := watch(t, s)
	seen(t, "clients", client, 10*time.Millisecond)
	if out := client.Out; out.P99-out.P50 < jitter/4 {
		t.Errorf("a jitter of %v: %+v", jitter, client)
	}
}

// watch watches for a while.
func watch(t *testing.T, s *env.Stack) (replica, client env.Trip) {
	t.Helper()
	stop, err := s.Distance.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if replica, client, err = stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	return replica, client
}

// seen checks that a round trip is what was asked for, give or take half.
func seen(t *testing.T, whose string, trip env.Trip, asked time.Duration) {
	t.Helper()
	t.Logf("%s: %+v", whose, trip)
	if asked == 0 {
		if trip != (env.Trip{}) {
			t.Errorf("%s have no link: %+v", whose, trip)
		}
		return
	}
	if trip.Asked != asked || trip.Failed > 0 || trip.Probes == 0 || trip.Out.Chunks < trip.Probes || trip.Back.Chunks < trip.Probes {
		t.Errorf("%s: %+v", whose, trip)
	}
	if trip.P50 < asked/2 || trip.P50 > asked+asked/2 {
		t.Errorf("%s are at %v: %+v", whose, asked, trip)
	}
}

// A Sentinel looks at its replicas every 10 s, and repairs when it looks.
func TestSentinelsLeaveLinksAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("a Sentinel looks at its replicas every 10 s")
	}
	t.Parallel() // it waits most of the time
	s := processtest.Start(t, envtest.Linked)
	envtest.SetDistance(t, s, 5*time.Millisecond, 0)
	for _, addr := range s.Redis.Sentinels {
		sentinel := redis.NewSentinelClient(s.Redis.SentinelOptions(addr))
		defer sentinel.Close()
		envtest.Eventually(t, "Sentinel "+addr+" has looked", func() error {
			replicas, err := sentinel.Replicas(t.Context(), s.Redis.MasterName).Result()
			if err != nil {
				return err
			}
			if len(replicas) != 2 {
				return fmt.Errorf("it knows %d replicas", len(replicas))
			}
			for _, r := range replicas {
				if r["flags"] != "slave" {
					t.Errorf("Sentinel %s holds replica %s to be %q", addr, r["name"], r["flags"])
				}
				if r["master-port"] == port(s.Redis.Primary) {
					return fmt.Errorf("it has not seen the link of replica %s", r["name"])
				}
			}
			return nil
		})
	}
	if err := s.Distance.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSentinelsRepairWhereTheyAreToldTo(t *testing.T) {
	if testing.Short() {
		t.Skip("a Sentinel looks at its replicas every 10 s")
	}
	t.Parallel() // it waits most of the time
	spec := envtest.Linked
	spec.FailoverTimeout = time.Second
	s := processtest.Start(t, spec)
	envtest.SetDistance(t, s, 5*time.Millisecond, 0)
	envtest.Eventually(t, "the replicas go around their links", func() error {
		if err := s.Distance.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "goes around its link") {
			return fmt.Errorf("Check: %v", err)
		}
		return nil
	})
}

func TestDistancesThatThereAreNot(t *testing.T) {
	s := processtest.Start(t, env.Spec{Links: true})
	for name, c := range map[string]struct{ replica, client, jitter time.Duration }{
		"no replicas": {time.Millisecond, 0, 0},
		"below 0":     {0, -1, 0},
		"less than":   {0, 1, 0},
		"cannot vary": {0, 10 * time.Millisecond, time.Second},
	} {
		err := s.Distance.Set(t.Context(), c.replica, c.client, c.jitter)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v, want %q", c, err, name)
		}
		if via := s.Distance.Via(); via != nil {
			t.Errorf("%+v: clients are to go via %v all the same", c, via)
		}
	}
}

func port(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }
