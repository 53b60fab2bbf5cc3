package envtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lockcost/env"
)

// servicesNetwork breaks the ways to servers of the kinds beside the
// replicated Redis, in a stack that has none.
func servicesNetwork(t *testing.T, start Start) {
	s := start(t, env.Spec{NoRedis: true, Independents: 1, Etcd: 3, ZooKeeper: 1, Network: true, LeastSession: time.Second})
	first, second := env.Clients[0], env.Clients[1]
	answers := map[string]func(at string) error{
		"independent-1": func(at string) error { return Client(t, s, at).Ping(t.Context()).Err() },
		"etcd-3":        func(at string) error { return s.Etcd.Serves(t.Context(), at) },
		"zookeeper-1": func(at string) error {
			_, err := s.ZooKeeper.Mode(t.Context(), at)
			return err
		},
	}
	for node, ask := range answers {
		for _, client := range env.Clients {
			if err := ask(s.Network.Address(client, node)); err != nil {
				t.Errorf("%s does not reach %s: %v", client, node, err)
			}
		}
		SetWay(t, s, first, node, env.WayState{Cut: true})
		if err := ask(s.Network.Address(first, node)); err == nil {
			t.Errorf("a cut way leads to %s", node)
		}
		if err := ask(s.Network.Address(second, node)); err != nil {
			t.Errorf("another client's cut way to %s: %v", node, err)
		}
	}
	if at := s.Network.Address(first, "etcd-9"); at != "" {
		t.Errorf("a node that there is not is at %q", at)
	}
	if err := s.Network.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	peersCutOff(t, s)
	if err := s.Network.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// peersCutOff cuts every way between members of etcd: then there is no quorum,
// and so they go by their links.
func peersCutOff(t *testing.T, s *env.Stack) {
	for i := range s.Etcd.Endpoints {
		SetWay(t, s, env.Peers, fmt.Sprintf("etcd-%d", i+1), env.WayState{Cut: true})
	}
	Eventually(t, "no member has a leader", func() error {
		for i, at := range s.Etcd.Endpoints {
			m, err := s.Etcd.Member(t.Context(), at)
			if err != nil || m.Leader != "" {
				return fmt.Errorf("etcd-%d: %+v, %v", i+1, m, err)
			}
		}
		return nil
	})
	if err := serve(t, s); err == nil {
		t.Error("members that do not reach each other serve")
	}
	if err := s.Network.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the members have found each other", func() error { return serve(t, s) })
}

// servicesDistance puts clients at a distance from servers of each kind, which
// are asked in a way of their own to find out how long a round trip takes.
func servicesDistance(t *testing.T, start Start) {
	for kind, spec := range map[string]env.Spec{
		"redis":     {Etcd: 1, ZooKeeper: 1, Independents: 1},
		"etcd":      {NoRedis: true, Etcd: 1},
		"zookeeper": {NoRedis: true, ZooKeeper: 1},
	} {
		t.Run(kind, func(t *testing.T) {
			spec.Links = true
			s := start(t, spec)
			SetDistance(t, s, 0, far)
			via := s.Distance.Via()
			for _, n := range s.Nodes {
				ask := func(at string) time.Duration {
					return Median(t, func() error { return knock(t, s, n.Kind, at) })
				}
				near, distant := ask(n.Addr), ask(via[n.Addr])
				if distant < far || distant < 2*near {
					t.Errorf("a round trip to %s takes %v at a distance of %v, and %v at none", n.Name, distant, far, near)
				}
			}
			if err := s.Distance.Set(t.Context(), far, 0, 0); err == nil {
				t.Error("replicas were put at a distance that there are not")
			}
		})
	}
}

// knock makes one round trip, at least.
func knock(t *testing.T, s *env.Stack, kind env.Kind, at string) error {
	switch kind {
	case env.KindEtcd:
		return s.Etcd.Ask(t.Context(), at, "/version", nil, &struct{}{})
	case env.KindZooKeeper:
		_, err := s.ZooKeeper.Ask(t.Context(), at, "srvr")
		return err
	case env.KindRedis:
		return Client(t, s, at).Ping(t.Context()).Err()
	}
	return errors.New("nobody knows how to ask it")
}
