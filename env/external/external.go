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
	r, err := p.addresses()
	if err != nil {
		return err
	}
	if _, err := p.secureLedger(); err != nil {
		return err
	}
	if p.TLS.given() && r.TLS == nil && !verified(p.Ledger) {
		return errors.New("files for TLS were given and no server uses it: give addresses as rediss://, or the ledger's with tls=true")
	}
	return nil
}

// Start checks every server and returns the stack. spec.Replicas is how many
// replicas the primary must have online, known to the stack or not;
// spec.Sentinels and spec.Ledger whether those must have been given. The
// rest of spec is for servers that are started, and ignored.
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
	if s.Redis, err = p.addresses(); err != nil {
		return nil, err
	}
	if s.Ledger, err = p.secureLedger(); err != nil {
		return nil, err
	}
	if s.Redis.Primary, err = presentPrimary(ctx, s.Redis); err != nil {
		return nil, err
	}
	online, err := checkRedis(ctx, s.Redis, spec.Replicas)
	if err != nil {
		return nil, err
	}
	if online != len(s.Redis.Replicas) {
		s.Notes = append(s.Notes, fmt.Sprintf("The primary had %s online; the record knows of those that --replicas-at names.", replicas(online)))
	}
	s.Nodes = nodes(s.Redis)
	if p.Ledger == "" {
		return s, nil
	}
	addr, err := checkLedger(ctx, s.Ledger)
	if err != nil {
		return nil, err
	}
	s.Nodes = append(s.Nodes, env.Node{Name: "ledger", Kind: env.KindLedger, Addr: addr})
	if overTLS(s.Ledger) {
		s.Notes = append(s.Notes, "The ledger is reached over TLS.")
	}
	return s, nil
}

// lacks tells what spec needs and was not given.
func (p Provider) lacks(spec env.Spec) error {
	switch {
	case p.Redis == "" && len(p.Sentinels) == 0:
		return errors.New("no Redis: give the primary's address, or its Sentinels'")
	case spec.Sentinels > 0 && len(p.Sentinels) == 0:
		return errors.New("no Sentinels: give their addresses")
	case spec.Ledger && p.Ledger == "":
		return errors.New("no ledger: give its data source name, " + dsnForm)
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

// nodes lists the servers by the names they have in every stack.
func nodes(r env.Redis) []env.Node {
	ns := []env.Node{{Name: "primary", Kind: env.KindRedis, Addr: r.Primary}}
	for i, a := range r.Replicas {
		ns = append(ns, env.Node{Name: fmt.Sprintf("replica-%d", i+1), Kind: env.KindRedis, Addr: a})
	}
	for i, a := range r.Sentinels {
		ns = append(ns, env.Node{Name: fmt.Sprintf("sentinel-%d", i+1), Kind: env.KindSentinel, Addr: a})
	}
	return ns
}
