package external

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"lockcost/env"
)

const etcdPort = "2379"

// etcd takes the addresses of etcd apart: host:port, or http:// or https://
// with user and password, which all of them share.
func (p Provider) etcd() (e env.Etcd, err error) {
	for i, s := range p.Etcd {
		if err := p.addMember(&e, s); err != nil {
			return e, fmt.Errorf("the address of etcd %d: %w", i+1, err)
		}
	}
	return e, nil
}

// addMember's errors quote nothing of s, which may hold a password.
func (p Provider) addMember(e *env.Etcd, s string) error {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return errors.New("want host:port, or http://user:password@host:port, with special characters of the password as %XX")
	}
	secure := u.Scheme == "https"
	if !secure && u.Scheme != "http" {
		return errors.New("etcd is reached by http:// or https://")
	}
	if len(e.Endpoints) > 0 && secure != (e.TLS != nil) {
		return errors.New("TLS must be used with every etcd or with none: https:// for all, or http://")
	}
	if secure && e.TLS == nil {
		if e.TLS, err = p.TLS.load(); err != nil {
			return err
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		if e.Username != "" && (e.Username != u.User.Username() || e.Password != password) {
			return errors.New("all etcds must have the same user and password")
		}
		e.Username, e.Password = u.User.Username(), password
	}
	e.Endpoints = append(e.Endpoints, withPort(u.Host, etcdPort))
	return nil
}

// checkEtcd checks that every member answers, with a leader, and that they are
// of one cluster.
func checkEtcd(ctx context.Context, e env.Etcd) error {
	cluster, first := "", ""
	for _, addr := range e.Endpoints {
		what := "etcd at " + addr
		m, err := e.Member(ctx, addr)
		switch {
		case err != nil:
			return explainEtcd(what, e, err)
		case m.Leader == "":
			return fmt.Errorf("%s has no quorum: it knows of no leader (%s); see that a majority of its cluster runs", what, strings.Join(m.Errors, ", "))
		case cluster != "" && m.Cluster != cluster:
			return fmt.Errorf("%s is of another cluster than the one at %s", what, first)
		}
		if cluster == "" {
			cluster, first = m.Cluster, addr
		}
		if err := e.Serves(ctx, addr); err != nil {
			return fmt.Errorf("%s does not serve: %s", what, firstLine(err.Error()))
		}
	}
	return nil
}

// etcdReplies is how etcd refuses somebody, and what to try.
var etcdReplies = []struct{ contains, advice string }{
	{"user name is empty", "wants a user: give its address as http://user:password@host:port"},
	{"authentication failed", "refuses the user or the password that was given"},
	{"authentication is not enabled", "has no users: give its address without one"},
	{"permission denied", "does not allow the user that was given to look at its cluster"},
	{"server gave HTTP response to HTTPS client", "does not speak TLS: give its address as http://"},
	{"Client sent an HTTP request to an HTTPS server", "wants TLS: give its address as https://"},
	{"404 Not Found", "is no etcd, or one before 3.4: it has no JSON gateway"},
	{"malformed HTTP", "is no etcd: it does not speak HTTP"},
}

func explainEtcd(what string, e env.Etcd, err error) error {
	for _, r := range etcdReplies {
		if strings.Contains(err.Error(), r.contains) {
			return fmt.Errorf("%s %s", what, r.advice)
		}
	}
	if isTimeout(err) {
		return fmt.Errorf("%s does not answer (timed out): see that it runs, that a majority of its cluster does, and that no firewall is between", what)
	}
	switch {
	case closed(err) && e.TLS != nil:
		return fmt.Errorf("%s closes the connection: if it has no TLS, give its address as http://", what)
	case closed(err):
		return fmt.Errorf("%s closes the connection: is it an etcd? If it wants TLS, give its address as https://", what)
	}
	return unreachable(what, err, e.TLS)
}
