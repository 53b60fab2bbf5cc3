package env

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// replyBytes bounds what is read of one reply of a node that is looked at.
const replyBytes = 8 << 20

// Ask asks one member of the cluster, at addr, through its JSON gateway: path
// is that of a call, such as /v3/maintenance/status, and reply is filled with
// what it answers. A nil request is a GET, as /version and /health want it. It
// is meant for looking at a member, not for what is measured. ctx bounds it,
// and so does 3 s.
//
// Source: etcd's documentation, "gRPC gateway".
func (e Etcd) Ask(ctx context.Context, addr, path string, request, reply any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: e.TLS.Clone(), DisableKeepAlives: true}
	c := &http.Client{Transport: transport}
	token := ""
	if e.Username != "" && request != nil {
		var granted struct{ Token string }
		login := map[string]string{"name": e.Username, "password": e.Password}
		if err := e.ask(ctx, c, addr, "/v3/auth/authenticate", "", login, &granted); err != nil {
			return fmt.Errorf("logging in as %s: %w", e.Username, err)
		}
		token = granted.Token
	}
	return e.ask(ctx, c, addr, path, token, request, reply)
}

func (e Etcd) ask(ctx context.Context, c *http.Client, addr, path, token string, request, reply any) error {
	method, body := http.MethodGet, []byte(nil)
	if request != nil {
		method = http.MethodPost
		var err error
		if body, err = json.Marshal(request); err != nil {
			return err
		}
	}
	q, err := http.NewRequestWithContext(ctx, method, e.url(addr)+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if token != "" {
		q.Header.Set("Authorization", token)
	}
	answer, err := c.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, replyBytes))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", path, answer.Status, strings.TrimSpace(string(text)))
	}
	if err := json.Unmarshal(text, reply); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Metrics is what the member at addr counts, in Prometheus's text format. ctx
// bounds it, and so does 3 s.
func (e Etcd) Metrics(ctx context.Context, addr string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: e.TLS.Clone(), DisableKeepAlives: true}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url(addr)+"/metrics", nil)
	if err != nil {
		return "", err
	}
	answer, err := (&http.Client{Transport: transport}).Do(q)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, replyBytes))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("/metrics: %s", answer.Status)
	}
	return string(text), err
}

func (e Etcd) url(addr string) string {
	if e.TLS != nil {
		return "https://" + addr
	}
	return "http://" + addr
}

// EtcdMember is one member of a cluster, as it tells of itself.
type EtcdMember struct {
	ID       string
	Cluster  string // the ID of its cluster
	Name     string // "" until the cluster knows it
	PeerURLs []string
	Leader   string // the ID of the leader, "" where it knows of none
	Version  string
	Errors   []string // what it says is wrong with it
}

// Member asks the member at addr who it is. It needs no quorum.
func (e Etcd) Member(ctx context.Context, addr string) (EtcdMember, error) {
	var status struct {
		Header  struct{ Member_ID, Cluster_ID string }
		Version string
		Leader  string
		Errors  []string
	}
	nothing := struct{}{}
	if err := e.Ask(ctx, addr, "/v3/maintenance/status", nothing, &status); err != nil {
		return EtcdMember{}, err
	}
	m := EtcdMember{
		ID: status.Header.Member_ID, Cluster: status.Header.Cluster_ID,
		Version: status.Version, Leader: status.Leader, Errors: status.Errors,
	}
	if m.Leader == "0" {
		m.Leader = ""
	}
	var list struct {
		Members []struct {
			ID, Name string
			PeerURLs []string
		}
	}
	// Not linearizable: a member without a quorum is to tell too.
	if err := e.Ask(ctx, addr, "/v3/cluster/member/list", nothing, &list); err != nil {
		return m, err
	}
	for _, v := range list.Members {
		if v.ID == m.ID {
			m.Name, m.PeerURLs = v.Name, v.PeerURLs
		}
	}
	return m, nil
}

// Serves checks that the member at addr answers a read that a majority has
// agreed to.
func (e Etcd) Serves(ctx context.Context, addr string) error {
	var health struct{ Health, Reason string }
	if err := e.Ask(ctx, addr, "/health", nil, &health); err != nil {
		return err
	}
	if health.Health != "true" {
		return fmt.Errorf("it is not healthy: %s", health.Reason)
	}
	return nil
}
