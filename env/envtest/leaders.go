package envtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lockcost/env"
)

// etcdLeader is the name of the member that the others hold to be the leader;
// "" where they do not agree, or there is none. Those in without are not
// asked.
func etcdLeader(t testing.TB, s *env.Stack, without ...string) string {
	t.Helper()
	leader, names := "", map[string]string{}
	for i, at := range s.Etcd.Endpoints {
		name := fmt.Sprintf("etcd-%d", i+1)
		if slices.Contains(without, name) {
			continue
		}
		m, err := s.Etcd.Member(t.Context(), at)
		if err != nil || m.Leader == "" || leader != "" && m.Leader != leader {
			return ""
		}
		leader, names[m.ID] = m.Leader, name
	}
	return names[leader]
}

// zooLeader is etcdLeader of ZooKeeper.
func zooLeader(t testing.TB, s *env.Stack, without ...string) string {
	t.Helper()
	leader := ""
	for i, at := range s.ZooKeeper.Servers {
		name := fmt.Sprintf("zookeeper-%d", i+1)
		if slices.Contains(without, name) {
			continue
		}
		mode, err := s.ZooKeeper.Mode(t.Context(), at)
		if err != nil || mode == "leader" && leader != "" {
			return ""
		}
		if mode == "leader" {
			leader = name
		}
	}
	return leader
}

// A leader that is killed, or only paused, is replaced by another.
func leadersFail(t *testing.T, start Start) {
	s := start(t, env.Spec{NoRedis: true, Etcd: 3, ZooKeeper: 3, Durability: env.Relaxed, LeastSession: time.Second})
	if s.Redis.Primary != "" || len(s.Nodes) != 6 {
		t.Errorf("a stack without Redis: %+v, %+v", s.Redis, s.Nodes)
	}
	for kind, leaderOf := range map[string]func(testing.TB, *env.Stack, ...string) string{
		"etcd": etcdLeader, "zookeeper": zooLeader,
	} {
		t.Run(kind, func(t *testing.T) {
			replaced := func(old string) {
				t.Helper()
				Eventually(t, kind+" has another leader", func() error {
					if now := leaderOf(t, s, old); now == "" || now == old {
						return fmt.Errorf("it is %q, and was %q", now, old)
					}
					return nil
				})
			}
			paused := leaderOf(t, s)
			if err := s.Faults.Pause(paused); err != nil {
				t.Fatal(err)
			}
			replaced(paused)
			if err := s.Faults.Resume(paused); err != nil {
				t.Fatal(err)
			}
			var killed string
			Eventually(t, "all serve again, under one leader", func() error {
				if killed = leaderOf(t, s); killed == "" {
					return errors.New("they do not agree on one")
				}
				return serve(t, s)
			})
			if err := s.Faults.Kill(killed); err != nil {
				t.Fatal(err)
			}
			replaced(killed)
			if _, err := s.Faults.Restart(t.Context(), killed); err != nil {
				t.Fatal(err)
			}
			if err := serve(t, s); err != nil {
				t.Errorf("right after the restart: %v", err)
			}
		})
	}
}

func oneOfEach(t *testing.T, start Start) {
	s := start(t, env.Spec{NoRedis: true, Independents: 1, Etcd: 1, ZooKeeper: 1, LeastSession: 400 * time.Millisecond})
	if err := errors.Join(serve(t, s), Client(t, s, s.Independents[0]).Ping(t.Context()).Err()); err != nil {
		t.Error(err)
	}
	servers, err := env.Inspect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	expectSettings(t, s, servers, map[string]map[string]string{
		"etcd":      {"heartbeat-interval": "50", "election-timeout": "500"},
		"zookeeper": {"tickTime": "200", "minSessionTimeout": "400", "maxSessionTimeout": "40000"},
	})
}
