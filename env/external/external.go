// Package external takes servers that the user already runs for a stack. It
// starts nothing, changes nothing, and asks nothing that could: INFO of each
// Redis, a Sentinel's view of its primary, a ping of the ledger. What is
// wrong is said in one line that names the server and what to try.
//
// A password is in no error and in no node's address.
package external

import (
	"context"
	"errors"
	"fmt"

	"lockcost/env"
)

// DefaultMasterName is what Sentinels call their primary where nobody named
// it otherwise.
const DefaultMasterName = "mymaster"

// Provider finds a stack at addresses. An address is host:port, or a URL
// redis://user:password@host:port/db, or rediss:// for TLS.
type Provider struct {
	// Redis is the primary. Where it is "" the Sentinels are asked for it.
	Redis string
	// ReplicasAt is those of its replicas that the stack is to know. They
	// have the primary's user, password and TLS.
	ReplicasAt []string
	// Sentinels that watch the primary. Their password, where they have
	// one, is their own: they are given as URLs then.
	Sentinels []string
	// Independents are Redis servers that know nothing of each other, nor of
	// the primary. They have the primary's user, password and TLS; where
	// there is none, those of the first of them.
	Independents []string
	// Etcd is members of an etcd cluster: host:port, or a URL
	// http://user:password@host:port, or https:// for TLS.
	Etcd []string
	// ZooKeeper is servers of a ZooKeeper ensemble, each host:port.
	ZooKeeper []string
	// MasterName is what they call it; "" means DefaultMasterName.
	MasterName string
	// Ledger is a data source name as github.com/go-sql-driver/mysql has
	// it: user:password@tcp(host:port)/database. "" means no ledger.
	Ledger string
	// TLS is what verifies the servers of rediss:// addresses, and a ledger
	// whose data source name says tls=true.
	TLS TLSFiles
	// Via is where to dial servers that Sentinels announce at addresses that
	// are not reached from here, each ANNOUNCED=DIAL, both host:port.
	Via []string
}

var _ env.Provider = Provider{}

// Check checks what can be checked without asking a server: that each address
// can be read, the files of TLS, and that they fit together.
func (p Provider) Check() error {
	r, _, err := p.redis()
	if err != nil {
		return err
	}
	if _, err := p.secureLedger(); err != nil {
		return err
	}
	e, err := p.etcd()
	if err != nil {
		return err
	}
	if _, err := p.zookeeper(); err != nil {
		return err
	}
	if p.TLS.given() && r.TLS == nil && e.TLS == nil && !verified(p.Ledger) {
		return errors.New("files for TLS were given and no server uses it: give addresses as rediss://, etcd's as https://, or the ledger's with tls=true")
	}
	return nil
}

// Start checks every server and returns the stack. spec.Replicas is how many
// replicas the primary must have online, known to the stack or not;
// spec.Independents how many of those must have been given; spec.NoRedis,
// spec.Sentinels, spec.Ledger, spec.Etcd and spec.ZooKeeper whether there must
// be such servers. The rest of spec is for servers that are started, and
// ignored.
func (p Provider) Start(ctx context.Context, spec env.Spec) (*env.Stack, error) {
	if p.MasterName == "" {
		p.MasterName = DefaultMasterName
	}
	if err := p.lacks(spec); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	s := &env.Stack{Provider: "external", Close: func() error { return nil }}
	var err error
	if s.Redis, s.Independents, err = p.redis(); err != nil {
		return nil, err
	}
	if s.Ledger, err = p.secureLedger(); err != nil {
		return nil, err
	}
	if s.Etcd, err = p.etcd(); err != nil {
		return nil, err
	}
	if s.ZooKeeper, err = p.zookeeper(); err != nil {
		return nil, err
	}
	for _, check := range []func(context.Context, *env.Stack, env.Spec) error{
		addReplicated, addLedger, addOthers,
	} {
		if err := check(ctx, s, spec); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// addReplicated checks the replicated Redis, where one was given, and adds its
// nodes.
func addReplicated(ctx context.Context, s *env.Stack, spec env.Spec) (err error) {
	if s.Redis.Primary == "" && len(s.Redis.Sentinels) == 0 {
		return nil
	}
	if s.Redis.Primary, err = presentPrimary(ctx, s.Redis); err != nil {
		return err
	}
	online, err := checkRedis(ctx, s.Redis, spec.Replicas)
	if err != nil {
		return err
	}
	if online != len(s.Redis.Replicas) {
		s.Notes = append(s.Notes, fmt.Sprintf("The primary had %s online; the record knows of those that --replicas-at names.", replicas(online)))
	}
	s.Nodes = append(s.Nodes, env.Node{Name: "primary", Kind: env.KindRedis, Addr: s.Redis.Primary})
	addNodes(s, "replica", env.KindRedis, s.Redis.Replicas)
	addNodes(s, "sentinel", env.KindSentinel, s.Redis.Sentinels)
	return nil
}

// addLedger checks the ledger, where one was given, and adds its node.
func addLedger(ctx context.Context, s *env.Stack, _ env.Spec) error {
	if s.Ledger == "" {
		return nil
	}
	addr, err := checkLedger(ctx, s.Ledger)
	if err != nil {
		return err
	}
	s.Nodes = append(s.Nodes, env.Node{Name: "ledger", Kind: env.KindLedger, Addr: addr})
	if overTLS(s.Ledger) {
		s.Notes = append(s.Notes, "The ledger is reached over TLS.")
	}
	return nil
}

// addOthers checks the lock services beside the replicated Redis, and adds
// their nodes.
func addOthers(ctx context.Context, s *env.Stack, _ env.Spec) error {
	if len(s.Independents) > 0 {
		if err := checkIndependents(ctx, s); err != nil {
			return err
		}
	}
	if err := checkEtcd(ctx, s.Etcd); err != nil {
		return err
	}
	if err := checkZooKeeper(ctx, s.ZooKeeper); err != nil {
		return err
	}
	addNodes(s, "independent", env.KindRedis, s.Independents)
	addNodes(s, "etcd", env.KindEtcd, s.Etcd.Endpoints)
	addNodes(s, "zookeeper", env.KindZooKeeper, s.ZooKeeper.Servers)
	return nil
}

// lacks tells what spec needs and was not given.
func (p Provider) lacks(spec env.Spec) error {
	switch {
	case p.Redis == "" && len(p.Sentinels) == 0 && !spec.NoRedis:
		return errors.New("no Redis: give the primary's address, or its Sentinels'")
	case spec.Sentinels > 0 && len(p.Sentinels) == 0 && !spec.NoRedis:
		return errors.New("no Sentinels: give their addresses")
	case spec.Ledger && p.Ledger == "":
		return errors.New("no ledger: give its data source name, " + dsnForm)
	case spec.Independents > len(p.Independents):
		return fmt.Errorf("%d independent Redis servers and %d are needed: give the addresses of more", len(p.Independents), spec.Independents)
	case spec.Etcd > 0 && len(p.Etcd) == 0:
		return errors.New("no etcd: give the addresses of its members")
	case spec.ZooKeeper > 0 && len(p.ZooKeeper) == 0:
		return errors.New("no ZooKeeper: give the addresses of its servers")
	}
	return nil
}

// checkRedis checks the primary, the replicas and the Sentinels, and returns
// how many replicas the primary has online.
func checkRedis(ctx context.Context, r env.Redis, needed int) (online int, err error) {
	primary, err := checkPrimary(ctx, r, needed)
	if err != nil {
		return 0, err
	}
	for _, addr := range r.Replicas {
		if err := checkReplica(ctx, r, addr, primary); err != nil {
			return 0, err
		}
	}
	for _, addr := range r.Sentinels {
		if err := checkSentinel(ctx, r, addr, primary); err != nil {
			return 0, err
		}
	}
	return primary.online, nil
}

// addNodes adds servers by the names they have in every stack.
func addNodes(s *env.Stack, name string, kind env.Kind, addrs []string) {
	for i, a := range addrs {
		s.Nodes = append(s.Nodes, env.Node{Name: fmt.Sprintf("%s-%d", name, i+1), Kind: kind, Addr: a})
	}
}
