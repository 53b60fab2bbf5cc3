package external_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"lockcost/env"
	"lockcost/env/envtest"
	"lockcost/env/external"
	"lockcost/env/process/processtest"
)

// services is what a provider is given of a stack's lock services.
func services(s *env.Stack) external.Provider {
	return external.Provider{Independents: s.Independents, Etcd: s.Etcd.Endpoints, ZooKeeper: s.ZooKeeper.Servers}
}

func TestServicesWithoutRedisAreAccepted(t *testing.T) {
	spec := env.Spec{NoRedis: true, Independents: 3, Etcd: 3, ZooKeeper: 3}
	own := processtest.Start(t, spec)
	s, err := services(own).Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if s.Ours || s.Redis.Primary != "" || fmt.Sprint(s.Independents, s.Etcd.Endpoints, s.ZooKeeper) != fmt.Sprint(own.Independents, own.Etcd.Endpoints, own.ZooKeeper) {
		t.Errorf("%+v", s)
	}
	servers, err := env.Inspect(t.Context(), s)
	if err != nil || len(servers) != 9 {
		t.Fatalf("%d servers: %v", len(servers), err)
	}
	for i, v := range servers {
		if v.Version == "" || v.Name != own.Nodes[i].Name {
			t.Errorf("%+v", v)
		}
		if fsync, known := v.Settings["fsync"]; known {
			t.Errorf("%s is somebody else's, and its fsync is said to be %s", v.Name, fsync)
		}
	}
	needed := spec
	needed.NoRedis = false
	refused(t, services(own), needed, "no Redis")
	withoutQuorum(t, own, services(own), spec)
}

// withoutQuorum ends servers of s until there is no majority.
func withoutQuorum(t *testing.T, s *env.Stack, p external.Provider, spec env.Spec) {
	kill := func(nodes ...string) {
		t.Helper()
		for _, n := range nodes {
			if err := s.Faults.Kill(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	kill("etcd-3")
	envtest.Eventually(t, "etcd has a leader, and may have to find another", func() error {
		return errors.Join(s.Etcd.Serves(t.Context(), p.Etcd[0]), s.Etcd.Serves(t.Context(), p.Etcd[1]))
	})
	refused(t, p, spec, "etcd at "+p.Etcd[2], "nothing answers there")
	kill("etcd-2")
	alone := p
	alone.Etcd = p.Etcd[:1]
	envtest.Eventually(t, "etcd has no leader", func() error {
		m, err := s.Etcd.Member(t.Context(), p.Etcd[0])
		if err == nil && m.Leader != "" {
			err = fmt.Errorf("its leader is %s", m.Leader)
		}
		return err
	})
	refused(t, alone, spec, "etcd at "+p.Etcd[0], "no quorum")

	p.Etcd, spec.Etcd = nil, 0
	kill("zookeeper-1")
	refused(t, p, spec, "ZooKeeper at "+p.ZooKeeper[0], "nothing answers there")
	kill("zookeeper-3")
	alone = p
	alone.ZooKeeper = p.ZooKeeper[1:2]
	envtest.Eventually(t, "ZooKeeper does not serve", func() error {
		if _, err := s.ZooKeeper.Mode(t.Context(), alone.ZooKeeper[0]); !env.NoQuorum(err) {
			return fmt.Errorf("it says %v", err)
		}
		return nil
	})
	refused(t, alone, spec, "ZooKeeper at "+alone.ZooKeeper[0], "no quorum")

	p.ZooKeeper, spec.ZooKeeper = nil, 0
	kill("independent-2")
	refused(t, p, spec, "independent Redis at "+p.Independents[1], "nothing answers there")
}

func TestServicesThatDoNotFit(t *testing.T) {
	a := processtest.Start(t, env.Spec{Replicas: 1, Independents: 2, Etcd: 1, ZooKeeper: 1})
	b := processtest.Start(t, env.Spec{NoRedis: true, Etcd: 1, ZooKeeper: 1})
	spec := env.Spec{NoRedis: true}
	for name, c := range map[string]struct {
		p    external.Provider
		want []string
	}{
		"two clusters":          {external.Provider{Etcd: slices.Concat(a.Etcd.Endpoints, b.Etcd.Endpoints)}, []string{b.Etcd.Endpoints[0], "another cluster"}},
		"two ensembles":         {external.Provider{ZooKeeper: slices.Concat(a.ZooKeeper.Servers, b.ZooKeeper.Servers)}, []string{a.ZooKeeper.Servers[0], "standalone"}},
		"a replica":             {external.Provider{Independents: a.Redis.Replicas}, []string{a.Redis.Replicas[0], "is a replica"}},
		"one server twice":      {external.Provider{Independents: []string{a.Independents[0], a.Independents[0]}}, []string{"the same server"}},
		"the primary again":     {external.Provider{Redis: a.Redis.Primary, Independents: []string{a.Redis.Primary}}, []string{"the same server"}},
		"a Redis as etcd":       {external.Provider{Etcd: a.Independents[:1]}, []string{a.Independents[0]}},
		"a Redis for ZooKeeper": {external.Provider{ZooKeeper: a.Independents[:1]}, []string{a.Independents[0]}},
		"etcd as a Redis":       {external.Provider{Independents: a.Etcd.Endpoints}, []string{a.Etcd.Endpoints[0]}},
		"TLS with plain etcd":   {external.Provider{Etcd: []string{"https://" + a.Etcd.Endpoints[0]}}, []string{"http://"}},
		"a user of none":        {external.Provider{Etcd: []string{"http://me:" + escaped + "@" + a.Etcd.Endpoints[0]}}, []string{a.Etcd.Endpoints[0], "has no users"}},
		"a strange scheme":      {external.Provider{Etcd: []string{"ftp://" + a.Etcd.Endpoints[0]}}, []string{"etcd 1", "http://"}},
		"no host":               {external.Provider{ZooKeeper: []string{""}}, []string{"ZooKeeper 1", "host:port"}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.p, spec, c.want...) })
	}
	few := external.Provider{Independents: a.Independents}
	refused(t, few, env.Spec{NoRedis: true, Independents: 3}, "2 independent", "3 are needed")
	refused(t, few, env.Spec{NoRedis: true, Etcd: 1}, "no etcd")
	refused(t, few, env.Spec{NoRedis: true, ZooKeeper: 1}, "no ZooKeeper")
}

func TestEtcdWithUsers(t *testing.T) {
	own := processtest.Start(t, env.Spec{NoRedis: true, Etcd: 1})
	at := own.Etcd.Endpoints[0]
	for _, step := range []struct {
		path    string
		request map[string]string
	}{
		{"/v3/auth/user/add", map[string]string{"name": "root", "password": secret}},
		{"/v3/auth/user/grant", map[string]string{"user": "root", "role": "root"}},
		{"/v3/auth/enable", map[string]string{}},
	} {
		if err := own.Etcd.Ask(t.Context(), at, step.path, step.request, &struct{}{}); err != nil {
			t.Fatalf("%s: %v", step.path, err)
		}
	}
	spec := env.Spec{NoRedis: true, Etcd: 1}
	s, err := external.Provider{Etcd: []string{"http://root:" + escaped + "@" + at}}.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if s.Etcd.Username != "root" || s.Etcd.Password != secret || s.Nodes[0].Addr != at {
		t.Errorf("%+v, %+v", s.Etcd, s.Nodes)
	}
	if _, err := env.Inspect(t.Context(), s); err != nil {
		t.Error(err)
	}
	refused(t, external.Provider{Etcd: []string{"http://root:wrong@" + at}}, spec, at, "refuses the user or the password")
	refused(t, external.Provider{Etcd: []string{at}}, spec, at, "wants a user")
}
