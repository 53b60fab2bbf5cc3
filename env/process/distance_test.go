package process_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/process/processtest"

	"github.com/redis/go-redis/v9"
)

// linked is a stack that can be put at a distance, whose Sentinels look at
// their replicas often enough to repair one during a test.
var linked = env.Spec{Replicas: 2, Sentinels: 3, Links: true, DownAfter: 2 * time.Second}

// waits returns the median time that a write takes to be acknowledged by the
// primary, and by n replicas of it.
func waits(t *testing.T, s *env.Stack, n int) time.Duration {
	t.Helper()
	conn := client(t, s, s.Redis.Primary).Conn()
	defer conn.Close()
	return median(t, func() error {
		if err := conn.Incr(t.Context(), "key").Err(); err != nil {
			return err
		}
		got, err := conn.Wait(t.Context(), n, patience).Result()
		if err == nil && got < int64(n) {
			err = fmt.Errorf("WAIT %d counted %d", n, got)
		}
		return err
	})
}

func TestReplicasAtADistance(t *testing.T) {
	s := processtest.Start(t, linked)
	set(t, s, 0, 0)
	near := waits(t, s, 2)
	const far = 20 * time.Millisecond
	set(t, s, far, 0)
	if d := waits(t, s, 2); d < far || d < 2*near {
		t.Errorf("WAIT 2 takes %v at a round trip of %v, and %v at none", d, far, near)
	}
	if via := s.Distance.Via(); via != nil {
		t.Errorf("clients without a distance are to go via %v", via)
	}
	set(t, s, 0, 0)
	if d := waits(t, s, 2); d > far/2 {
		t.Errorf("WAIT 2 takes %v without a link again, and took %v before", d, near)
	}
}

func TestClientsAtADistance(t *testing.T) {
	s := processtest.Start(t, linked)
	const far = 20 * time.Millisecond
	set(t, s, 0, far)
	via := s.Distance.Via()
	for _, addr := range append(s.Redis.Replicas, s.Redis.Primary) {
		direct, through := client(t, s, addr), client(t, s, via[addr])
		port, err := through.ConfigGet(t.Context(), "port").Result()
		if err != nil || net.JoinHostPort("127.0.0.1", port["port"]) != addr {
			t.Errorf("the way to %s leads to port %q: %v", addr, port, err)
		}
		near := median(t, func() error { return direct.Ping(t.Context()).Err() })
		d := median(t, func() error { return through.Ping(t.Context()).Err() })
		if d < far || d < 2*near {
			t.Errorf("a round trip to %s takes %v at a distance of %v, and %v at none", addr, d, far, near)
		}
	}
	if d := waits(t, s, 2); d > far/2 {
		t.Errorf("replicas without a distance take %v to acknowledge", d)
	}
}

func TestRoundTripsAreWatched(t *testing.T) {
	s := processtest.Start(t, linked)
	for _, c := range []struct{ replica, client time.Duration }{
		{0, 0}, {10 * time.Millisecond, 0}, {0, 20 * time.Millisecond}, {20 * time.Millisecond, 10 * time.Millisecond},
	} {
		set(t, s, c.replica, c.client)
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
	s := processtest.Start(t, linked)
	set(t, s, 5*time.Millisecond, 0)
	for _, addr := range s.Redis.Sentinels {
		sentinel := redis.NewSentinelClient(s.Redis.SentinelOptions(addr))
		defer sentinel.Close()
		eventually(t, "Sentinel "+addr+" has looked", func() error {
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
	spec := linked
	spec.FailoverTimeout = time.Second
	s := processtest.Start(t, spec)
	set(t, s, 5*time.Millisecond, 0)
	eventually(t, "the replicas go around their links", func() error {
		if err := s.Distance.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "goes around its link") {
			return fmt.Errorf("Check: %v", err)
		}
		return nil
	})
}

func TestCheckFindsAReplicaThatGoesAroundItsLink(t *testing.T) {
	s := processtest.Start(t, linked)
	set(t, s, 5*time.Millisecond, 0)
	astray := client(t, s, s.Redis.Replicas[1])
	if err := astray.ReplicaOf(t.Context(), "127.0.0.1", port(s.Redis.Primary)).Err(); err != nil {
		t.Fatal(err)
	}
	err := s.Distance.Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "replica-2") || !strings.Contains(err.Error(), s.Redis.Primary) {
		t.Errorf("Check: %v", err)
	}
	set(t, s, 5*time.Millisecond, 0) // brings it back
	if err := s.Faults.Kill("replica-1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Distance.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "replica-1") {
		t.Errorf("a killed replica: %v", err)
	}
	if _, err := s.Faults.Restart(t.Context(), "replica-1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a restarted replica comes back by its link", func() error { return s.Distance.Check(t.Context()) })
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
	if s := processtest.Start(t, env.Spec{}); s.Distance != nil {
		t.Error("a stack that was asked for no links has a distance")
	}
}

func TestCloseEndsTheLinks(t *testing.T) {
	s := processtest.Start(t, env.Spec{Replicas: 1, Links: true})
	set(t, s, 10*time.Millisecond, 10*time.Millisecond)
	via := s.Distance.Via()[s.Redis.Primary]
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := silent(via); err != nil {
		t.Errorf("a link outlives its stack: %v", err)
	}
	if err := s.Distance.Set(t.Context(), 0, time.Millisecond, 0); err == nil {
		t.Error("a closed stack was put at a distance")
	}
}

// set sets a distance and checks that it is there.
func set(t *testing.T, s *env.Stack, replica, client time.Duration) {
	t.Helper()
	if err := s.Distance.Set(t.Context(), replica, client, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Distance.Check(ctx); err != nil {
		t.Fatalf("right after Set: %v", err)
	}
}

func port(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }
