package envtest

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockcost/env"

	"github.com/redis/go-redis/v9"
)

// Breakable is a stack whose network can be broken. It has one Sentinel, as
// three may vote for several leaders, and on a busy machine one that is in no
// hurry: a second failover, which nobody made, would be in the way.
var Breakable = env.Spec{Replicas: 2, Sentinels: 1, Network: true, DownAfter: 3 * time.Second}

var (
	hole  = env.WayState{HoldRequests: true, HoldReplies: true}
	whole = env.WayState{}
)

func networks(t *testing.T, start Start) {
	t.Run("of a whole stack", func(t *testing.T) {
		s := start(t, Breakable)
		t.Run("leads to every server", func(t *testing.T) { leadsEverywhere(t, s) })
		t.Run("client cut off", func(t *testing.T) { clientCutOff(t, s) })
		t.Run("held acknowledgements", func(t *testing.T) { heldAcknowledgements(t, s) })
		t.Run("held replication", func(t *testing.T) { heldReplication(t, s) })
		t.Run("faults", func(t *testing.T) { faultsBehindLinks(t, s) })
		t.Run("replica sent around", func(t *testing.T) { sentAround(t, s) })
		t.Run("closed", func(t *testing.T) { closedNetwork(t, s) })
	})
	t.Run("lost write", func(t *testing.T) { losesAWrite(t, start) })
	t.Run("primary that Sentinels do not reach", func(t *testing.T) { unreachedPrimary(t, start) })
	t.Run("none asked for", func(t *testing.T) {
		if s := start(t, env.Spec{}); s.Network != nil {
			t.Error("a stack that was asked for no links has a network")
		}
	})
	t.Run("without Sentinels", func(t *testing.T) {
		s := start(t, env.Spec{Replicas: 1, Network: true})
		SetWay(t, s, env.Clients[0], "primary", hole)
		if err := s.Network.Set(t.Context(), env.Way{From: env.Sentinels, To: "primary"}, hole); err == nil {
			t.Error("a stack without Sentinels has a link from them")
		}
	})
}

// SetWay puts one way into a state.
func SetWay(t testing.TB, s *env.Stack, from, to string, state env.WayState) {
	t.Helper()
	if err := s.Network.Set(t.Context(), env.Way{From: from, To: to}, state); err != nil {
		t.Fatal(err)
	}
}

// mend puts every way back, and waits until both replicas acknowledge again.
func mend(t *testing.T, s *env.Stack) {
	t.Helper()
	if err := s.Network.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	healed(t, s)
}

func healed(t *testing.T, s *env.Stack) {
	t.Helper()
	Eventually(t, "both replicas acknowledge", func() error {
		if n, err := acknowledged(t, s, "healed", time.Second); n != 2 || err != nil {
			return fmt.Errorf("WAIT 2 counted %d: %v", n, err)
		}
		return nil
	})
	if err := s.Network.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// acknowledged writes a key on the primary, and returns how many replicas
// acknowledge it.
func acknowledged(t *testing.T, s *env.Stack, key string, within time.Duration) (int64, error) {
	t.Helper()
	conn := Client(t, s, s.Redis.Primary).Conn()
	defer conn.Close()
	if err := conn.Set(t.Context(), key, "value", 0).Err(); err != nil {
		return 0, err
	}
	return conn.Wait(t.Context(), 2, within).Result()
}

// has tells whether a server has a key.
func has(t *testing.T, s *env.Stack, addr, key string) bool {
	t.Helper()
	n, err := Client(t, s, addr).Exists(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// replication is that section of INFO. A Sentinel that makes a server another
// role ends its clients' connections.
func replication(t *testing.T, s *env.Stack, addr string) (map[string]string, error) {
	t.Helper()
	text, err := Client(t, s, addr).Info(t.Context(), "replication").Result()
	return env.ParseInfo(text), err
}

// announced is where a Sentinel says that the primary is.
func announced(t *testing.T, s *env.Stack, sentinel string) string {
	t.Helper()
	c := redis.NewSentinelClient(s.Redis.SentinelOptions(sentinel))
	defer c.Close()
	at, err := c.GetMasterAddrByName(t.Context(), s.Redis.MasterName).Result()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(at[0], at[1])
}

func leadsEverywhere(t *testing.T, s *env.Stack) {
	if err := s.Network.Check(t.Context()); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, client := range env.Clients {
		r := s.Network.Redis(client)
		for _, addr := range append([]string{r.Primary}, r.Replicas...) {
			leadsTo(t, s, r.Via[addr], addr)
			if seen[r.Via[addr]] {
				t.Errorf("%s has no link of its own to %s", client, addr)
			}
			seen[r.Via[addr]] = true
		}
		for _, sentinel := range s.Redis.Sentinels {
			if at := announced(t, s, sentinel); r.Via[at] != r.Via[r.Primary] || s.Redis.Via[at] != r.Primary {
				t.Errorf("the announced primary %s is reached at %q by %s and at %q without links", at, r.Via[at], client, s.Redis.Via[at])
			}
		}
	}
	if r := s.Network.Redis("third"); len(r.Via) != len(s.Redis.Via) {
		t.Errorf("a client without links goes via %v", r.Via)
	}
	if err := s.Network.Set(t.Context(), env.Way{From: "replica-1", To: "replica-2"}, hole); err == nil || !strings.Contains(err.Error(), "replica-2") {
		t.Errorf("a link that there is not: %v", err)
	}
	if err := s.Network.Set(t.Context(), env.Way{From: "replica-1", To: "primary"}, env.WayState{Delay: -1}); err == nil {
		t.Error("a delay below 0 was set")
	}
}

// leadsTo checks which server a link leads to.
func leadsTo(t *testing.T, s *env.Stack, way, addr string) {
	t.Helper()
	port, err := Client(t, s, way).ConfigGet(t.Context(), "port").Result()
	if err != nil || net.JoinHostPort("127.0.0.1", port["port"]) != addr {
		t.Errorf("the way %q to %s leads to port %q: %v", way, addr, port, err)
	}
}

func clientCutOff(t *testing.T, s *env.Stack) {
	ping := func(client string) error {
		return Client(t, s, s.Network.Redis(client).Via[s.Redis.Primary]).Ping(t.Context()).Err()
	}
	SetWay(t, s, env.Clients[0], "primary", env.WayState{Cut: true})
	if err := ping(env.Clients[0]); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a client that is cut off: %v", err)
	}
	if err := ping(env.Clients[1]); err != nil {
		t.Errorf("the other client: %v", err)
	}
	if n, err := acknowledged(t, s, "key", Patience); n != 2 || err != nil {
		t.Errorf("WAIT 2 beside a client that is cut off: %d, %v", n, err)
	}
	mend(t, s)
	if err := ping(env.Clients[0]); err != nil {
		t.Errorf("a client that was cut off: %v", err)
	}
}

// What a replica sends to the primary is what is held: it has the write.
func heldAcknowledgements(t *testing.T, s *env.Stack) {
	const key = "unacknowledged"
	for _, replica := range []string{"replica-1", "replica-2"} {
		SetWay(t, s, replica, "primary", env.WayState{HoldRequests: true})
	}
	if n, err := acknowledged(t, s, key, 200*time.Millisecond); n != 0 || err != nil {
		t.Errorf("WAIT counts %d acknowledgements that are held: %v", n, err)
	}
	for _, addr := range s.Redis.Replicas {
		Eventually(t, "a replica has the write", func() error {
			if !has(t, s, addr, key) {
				return fmt.Errorf("%s has it not", addr)
			}
			return nil
		})
	}
	mend(t, s)
}

func heldReplication(t *testing.T, s *env.Stack) {
	const key = "held"
	SetWay(t, s, "replica-1", "primary", hole)
	if n, err := acknowledged(t, s, key, 200*time.Millisecond); n != 1 || err != nil {
		t.Errorf("WAIT 2 with one of two replicas in a hole: %d, %v", n, err)
	}
	if has(t, s, s.Redis.Replicas[0], key) {
		t.Error("a replica in a hole has a write")
	}
	if err := s.Network.Check(t.Context()); err != nil {
		t.Errorf("a hole is not a way around: %v", err)
	}
	mend(t, s)
	if !has(t, s, s.Redis.Replicas[0], key) {
		t.Error("a replica has acknowledged what it has not")
	}
}

func faultsBehindLinks(t *testing.T, s *env.Stack) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Faults.Pause("replica-1"))
	if n, err := acknowledged(t, s, "key", 200*time.Millisecond); n != 1 || err != nil {
		t.Errorf("WAIT 2 with one of two replicas paused: %d, %v", n, err)
	}
	must(s.Faults.Resume("replica-1"))
	healed(t, s)
	for _, node := range []string{"replica-1", "sentinel-1"} {
		must(s.Faults.Kill(node))
		_, err := s.Faults.Restart(t.Context(), node)
		must(err)
	}
	healed(t, s)
	if at := announced(t, s, s.Redis.Sentinels[0]); s.Redis.Via[at] != s.Redis.Primary {
		t.Errorf("a Sentinel that comes back says that the primary is %s", at)
	}
	// For less time than a Sentinel takes to miss it.
	must(s.Faults.Pause("primary"))
	must(s.Faults.Resume("primary"))
	healed(t, s)
}

func sentAround(t *testing.T, s *env.Stack) {
	astray := s.Redis.Replicas[1]
	info, err := replication(t, s, astray)
	if err != nil {
		t.Fatal(err)
	}
	follow := func(host, port string) {
		t.Helper()
		if err := Client(t, s, astray).ReplicaOf(t.Context(), host, port).Err(); err != nil {
			t.Fatal(err)
		}
	}
	host, port, err := net.SplitHostPort(s.Redis.Primary)
	if err != nil {
		t.Fatal(err)
	}
	follow(host, port)
	if err := s.Network.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "replica-2") || !strings.Contains(err.Error(), s.Redis.Primary) {
		t.Errorf("Check: %v", err)
	}
	follow(info["master_host"], info["master_port"])
	healed(t, s)
}

func closedNetwork(t *testing.T, s *env.Stack) {
	way := s.Network.Redis(env.Clients[0]).Via[s.Redis.Primary]
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Silent(way); err != nil {
		t.Errorf("a link outlives its stack: %v", err)
	}
	if err := s.Network.Mend(t.Context()); err == nil {
		t.Error("the network of a closed stack was mended")
	}
	if err := s.Network.Check(t.Context()); err == nil {
		t.Error("the network of a closed stack is whole")
	}
}
