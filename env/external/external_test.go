package external_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"lockcost/env"
	"lockcost/env/external"
	"lockcost/env/process/processtest"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
)

// secret is every password in these tests, and in no error.
const secret = "Geheim%sss"

// escaped is secret as a URL has it.
const escaped = "Geheim%25sss"

// refused starts p and checks that it fails with one line that has every
// one of want in it and no password.
func refused(t *testing.T, p external.Provider, spec env.Spec, want ...string) {
	t.Helper()
	s, err := p.Start(t.Context(), spec)
	if err == nil {
		t.Fatalf("accepted as %+v", s)
	}
	text := err.Error()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in: %s", w, text)
		}
	}
	if strings.Contains(text, "\n") {
		t.Errorf("more than a line: %s", text)
	}
	if strings.Contains(text, "Geheim") || strings.Contains(text, "sss") {
		t.Errorf("a password is in: %s", text)
	}
}

// nobody returns an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// do runs a command on one Redis.
func do(t *testing.T, addr string, args ...any) {
	t.Helper()
	c := redis.NewClient(env.Redis{}.Options(addr))
	defer c.Close()
	if err := c.Do(t.Context(), args...).Err(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

func TestWholeStackIsAccepted(t *testing.T) {
	own := processtest.Start(t, env.Spec{Replicas: 2, Sentinels: 3, Ledger: true})
	given := external.Provider{
		Redis: own.Redis.Primary, ReplicasAt: own.Redis.Replicas, Sentinels: own.Redis.Sentinels, Ledger: own.Ledger,
	}
	asked := given
	asked.Redis = ""
	for name, p := range map[string]external.Provider{"address given": given, "Sentinels asked": asked} {
		s, err := p.Start(t.Context(), env.Spec{Replicas: 2, Sentinels: 3, Ledger: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, want := fmt.Sprint(s.Redis), fmt.Sprint(own.Redis); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if s.Ledger != own.Ledger || len(s.Nodes) != len(own.Nodes) {
			t.Errorf("%s: %+v", name, s)
		}
		for i, n := range s.Nodes {
			if w := own.Nodes[i]; n.PID != 0 || n.Name != w.Name || n.Kind != w.Kind || n.Addr != w.Addr {
				t.Errorf("%s: node %+v, want %+v without its PID", name, n, w)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsNotGiven(t *testing.T) {
	refused(t, external.Provider{}, env.Spec{}, "no Redis")
	refused(t, external.Provider{Redis: "h:1"}, env.Spec{Sentinels: 1}, "no Sentinels")
	refused(t, external.Provider{Redis: "h:1"}, env.Spec{Ledger: true}, "no ledger")
}

func TestMisspeltAddresses(t *testing.T) {
	for _, p := range []external.Provider{
		{Redis: "user:" + secret + "@h:1"},
		{Redis: "redis://:" + secret + "@h:1"},           // %ss is no escape
		{Redis: "redis://:x" + secret + "/@h:1"},         // a slash ends the host
		{Redis: "http://:" + escaped + "@h:1"},           // another service
		{Redis: "unix://:" + escaped + "@/tmp/r.sock"},   // no host and port
		{Redis: "redis://:" + escaped + "@h:1/first"},    // a database that is no number
		{Redis: "redis://:" + escaped + "@h:1?pool=sss"}, // settings
		{Redis: "h:1", ReplicasAt: []string{"redis://:" + escaped + "@h:2"}},
		{Redis: "h:1", Sentinels: []string{"rediss://h:2"}},
		{Redis: "h:1", Sentinels: []string{"redis://:" + escaped + "@h:2", "redis://:x" + escaped + "@h:3"}},
	} {
		refused(t, p, env.Spec{}, "address")
	}
}

func TestNothingAnswers(t *testing.T) {
	at := nobody(t)
	refused(t, external.Provider{Redis: at}, env.Spec{}, at, "nothing answers there")
	refused(t, external.Provider{Redis: "redis://:" + escaped + "@" + at}, env.Spec{}, at, "nothing answers there")
	refused(t, external.Provider{Sentinels: []string{at}}, env.Spec{}, "Sentinel at "+at, "nothing answers there")
	refused(t, external.Provider{Redis: "no-such-host.invalid:1"}, env.Spec{}, "no-such-host.invalid")
}

func TestPasswords(t *testing.T) {
	s := processtest.Start(t, env.Spec{})
	at := s.Redis.Primary
	do(t, at, "CONFIG", "SET", "requirepass", secret)
	refused(t, external.Provider{Redis: at}, env.Spec{}, at, "wants a password")
	refused(t, external.Provider{Redis: "redis://:x" + escaped + "@" + at}, env.Spec{}, at, "refuses")
	refused(t, external.Provider{Redis: "rediss://:" + escaped + "@" + at}, env.Spec{}, at, "TLS")
	refused(t, external.Provider{Redis: "redis://:" + escaped + "@" + at + "/99"}, env.Spec{}, at, "no database")
	found, err := external.Provider{Redis: "redis://:" + escaped + "@" + at + "/3"}.Start(t.Context(), env.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if r := found.Redis; r.Primary != at || r.Password != secret || r.DB != 3 || found.Nodes[0].Addr != at {
		t.Errorf("found %+v", found)
	}
}

func TestUserWithFewRights(t *testing.T) {
	s := processtest.Start(t, env.Spec{})
	at := s.Redis.Primary
	do(t, at, "ACL", "SETUSER", "clerk", "on", ">"+secret, "~*", "+@all", "-config")
	found, err := external.Provider{Redis: "redis://clerk:" + escaped + "@" + at}.Start(t.Context(), env.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	servers, err := env.Inspect(t.Context(), found)
	if err != nil || len(servers) != 1 || servers[0].Version == "" || len(servers[0].Settings) != 0 {
		t.Errorf("inspected without CONFIG: %+v, %v", servers, err)
	}
	do(t, at, "ACL", "SETUSER", "clerk", "-info")
	refused(t, external.Provider{Redis: "redis://clerk:" + escaped + "@" + at}, env.Spec{}, at, "does not allow")
}

func TestRolesMixedUp(t *testing.T) {
	s := processtest.Start(t, env.Spec{Replicas: 1, Sentinels: 1})
	other := processtest.Start(t, env.Spec{Replicas: 1, Sentinels: 1})
	primary, replica, sentinel := s.Redis.Primary, s.Redis.Replicas[0], s.Redis.Sentinels[0]
	refused(t, external.Provider{Redis: replica}, env.Spec{}, replica, "is a replica of "+primary)
	refused(t, external.Provider{Redis: sentinel}, env.Spec{}, sentinel, "is a Sentinel")
	refused(t, external.Provider{Redis: primary}, env.Spec{Replicas: 2}, primary, "1 replica online", "needs 2")
	refused(t, external.Provider{Redis: primary, ReplicasAt: []string{primary}}, env.Spec{},
		"replica at "+primary, "is no replica")
	refused(t, external.Provider{Redis: primary, ReplicasAt: other.Redis.Replicas}, env.Spec{},
		other.Redis.Replicas[0], other.Redis.Primary, "another primary than "+primary)
	refused(t, external.Provider{Redis: primary, Sentinels: other.Redis.Sentinels}, env.Spec{},
		other.Redis.Sentinels[0], "another primary than "+primary)
	refused(t, external.Provider{Redis: primary, Sentinels: []string{replica}}, env.Spec{}, replica, "is no Sentinel")
	refused(t, external.Provider{Sentinels: []string{sentinel}, MasterName: "orders"}, env.Spec{},
		sentinel, "no primary called orders", "it watches mymaster")
	if err := s.Faults.Kill("primary"); err != nil {
		t.Fatal(err)
	}
	refused(t, external.Provider{Redis: replica}, env.Spec{}, replica, "is a replica of "+primary)
	do(t, other.Redis.Replicas[0], "REPLICAOF", "127.0.0.1", strings.Split(nobody(t), ":")[1])
	refused(t, external.Provider{Redis: other.Redis.Primary, ReplicasAt: other.Redis.Replicas}, env.Spec{},
		other.Redis.Replicas[0], "has lost its primary")
}

func TestLedgers(t *testing.T) {
	s := processtest.Start(t, env.Spec{Ledger: true})
	try := func(change func(*mysql.Config), want ...string) {
		t.Helper()
		c, err := mysql.ParseDSN(s.Ledger)
		if err != nil {
			t.Fatal(err)
		}
		change(c)
		refused(t, external.Provider{Redis: s.Redis.Primary, Ledger: c.FormatDSN()}, env.Spec{Ledger: true}, want...)
	}
	try(func(c *mysql.Config) { c.Passwd = secret }, "refuses user \"lockcost\"")
	try(func(c *mysql.Config) { c.DBName = "" }, "names no database")
	try(func(c *mysql.Config) { c.DBName = "absent" }, "absent")
	at := nobody(t)
	try(func(c *mysql.Config) { c.Addr = at }, "ledger at "+at, "nothing answers there")
	try(func(c *mysql.Config) { c.Addr = "no-such-host.invalid:1" }, "no-such-host.invalid")
	for _, dsn := range []string{"user:" + secret, "user:" + secret + "@h:1/db", "mysql://user:" + secret + "@h:1/db"} {
		refused(t, external.Provider{Redis: s.Redis.Primary, Ledger: dsn}, env.Spec{}, "cannot be read")
	}
	ledger := s.Nodes[len(s.Nodes)-1].Addr
	refused(t, external.Provider{Redis: ledger}, env.Spec{}, ledger)
}

func TestCancelledWhileNothingAnswers(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0") // accepts and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (external.Provider{Redis: l.Addr().String()}).Start(ctx, env.Spec{}); err == nil {
		t.Error("accepted")
	}
}
