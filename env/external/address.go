package external

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"lockcost/env"

	"github.com/redis/go-redis/v9"
)

const (
	redisPort    = "6379"
	sentinelPort = "26379"
)

// endpoint is an address taken apart.
type endpoint struct {
	addr               string // host:port
	username, password string
	db                 int
	tls, plain         bool // as its URL says; neither where it is host:port
}

// parse takes an address apart. Its errors quote nothing of s, which may
// hold a password in any place once it is misspelt.
func parse(s, defaultPort string) (endpoint, error) {
	if s == "" || s[0] == ':' {
		return endpoint{}, errors.New("there is no host in it: want host:port")
	}
	if !strings.Contains(s, "://") {
		if strings.Contains(s, "@") {
			return endpoint{}, errors.New("an address with a user or password must begin with redis:// or rediss://")
		}
		return endpoint{addr: withPort(s, defaultPort)}, nil
	}
	if strings.Contains(s, "?") {
		return endpoint{}, errors.New("settings after a ? are not supported in a Redis URL")
	}
	o, err := redis.ParseURL(s)
	if err != nil || o.Network != "tcp" {
		return endpoint{}, errors.New("not a Redis URL: want redis://user:password@host:port/db, " +
			"with special characters of the password as %XX")
	}
	e := endpoint{addr: o.Addr, username: o.Username, password: o.Password, db: o.DB, tls: o.TLSConfig != nil, plain: o.TLSConfig == nil}
	if host, ok := strings.CutSuffix(o.Addr, ":"+redisPort); ok && !strings.Contains(s, ":"+redisPort) {
		e.addr = withPort(host, defaultPort) // the parser's default, not the user's word
	}
	return e, nil
}

func withPort(addr, port string) string {
	host, given, err := net.SplitHostPort(addr)
	if err == nil && given != "" {
		return addr
	}
	if err == nil {
		addr = host
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), port)
}

// redis takes the addresses of all Redis servers and Sentinels apart.
func (p Provider) redis() (r env.Redis, independents []string, err error) {
	if r, err = p.addresses(); err != nil {
		return r, nil, err
	}
	for i, s := range p.Independents {
		if err := p.addIndependent(&r, &independents, s); err != nil {
			return r, nil, fmt.Errorf("the address of independent Redis %d: %w", i+1, err)
		}
	}
	return r, independents, nil
}

// addresses takes those of the replicated Redis and its Sentinels apart.
func (p Provider) addresses() (r env.Redis, err error) {
	secure, err := p.TLS.load()
	if err != nil {
		return r, err
	}
	if r.Via, err = p.via(); err != nil {
		return r, fmt.Errorf("--via: %w", err)
	}
	if p.Redis != "" {
		e, err := parse(p.Redis, redisPort)
		if err != nil {
			return r, fmt.Errorf("the primary's address: %w", err)
		}
		r.Primary, r.Username, r.Password, r.DB = e.addr, e.username, e.password, e.db
		if e.tls {
			r.TLS = secure
		}
	}
	for i, s := range p.ReplicasAt {
		if err := addReplica(&r, s); err != nil {
			return r, fmt.Errorf("the address of replica %d: %w", i+1, err)
		}
	}
	for i, s := range p.Sentinels {
		if err := p.addSentinel(&r, s, secure); err != nil {
			return r, fmt.Errorf("the address of Sentinel %d: %w", i+1, err)
		}
	}
	return r, nil
}

// addReplica adds one replica, which has its primary's password and TLS.
func addReplica(r *env.Redis, s string) error {
	e, err := parse(s, redisPort)
	switch {
	case err != nil:
		return err
	case e.password != "" && e.password != r.Password:
		return errors.New("a replica has its primary's password: give it with the primary's address")
	case e.tls && r.TLS == nil, e.plain && r.TLS != nil:
		return errMixedTLS
	}
	r.Replicas = append(r.Replicas, e.addr)
	return nil
}

var errMixedTLS = errors.New("TLS must be used with every server or with none: rediss:// for all, or redis://")

// addSentinel adds one Sentinel. All of them have one password, and TLS is
// used with all servers or with none.
func (p Provider) addSentinel(r *env.Redis, s string, secure *tls.Config) error {
	e, err := parse(s, sentinelPort)
	if err != nil {
		return err
	}
	if e.password != "" {
		if r.SentinelPassword != "" && (r.SentinelPassword != e.password || r.SentinelUsername != e.username) {
			return errors.New("all Sentinels must have the same user and password")
		}
		r.SentinelUsername, r.SentinelPassword = e.username, e.password
	}
	if e.plain && r.TLS != nil {
		return errMixedTLS
	}
	if e.tls && r.TLS == nil {
		if p.Redis != "" || len(r.Sentinels) > 0 {
			return errMixedTLS
		}
		r.TLS = secure
	}
	r.MasterName = p.MasterName
	r.Sentinels = append(r.Sentinels, e.addr)
	return nil
}
