package failover

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"lockcost/env"
)

func etcdSpec(c *cell) env.Spec {
	return env.Spec{NoRedis: true, LeastSession: c.leastSession()}
}

func beginEtcd(ctx context.Context, t *trial) (service, error) {
	s := &ensemble{trial: t, look: t.etcdStanding, write: t.etcdWrite, reader: t.etcdReader}
	return s, s.begin(ctx)
}

// etcdStanding asks a member who leads, as far as it knows. It needs no
// majority.
func (t *trial) etcdStanding(ctx context.Context, addr string) (standing, error) {
	var status struct {
		Header   struct{ Member_ID string }
		Leader   string
		RaftTerm string
	}
	if err := t.stack.Etcd.Ask(ctx, addr, "/v3/maintenance/status", struct{}{}, &status); err != nil {
		return standing{}, err
	}
	if status.Leader == "" || status.Leader == "0" {
		return standing{}, errNoLeader
	}
	term, err := strconv.ParseUint(status.RaftTerm, 10, 64)
	if err != nil {
		return standing{}, fmt.Errorf("its raft term is %q", status.RaftTerm)
	}
	return standing{leads: status.Leader == status.Header.Member_ID, epoch: term}, nil
}

// etcdWrite puts a key through one member.
func (t *trial) etcdWrite(ctx context.Context, addr string) error {
	put := struct {
		Key []byte `json:"key"`
	}{[]byte(t.settings.Prefix + "probe")}
	var reply struct{}
	return t.stack.Etcd.Ask(ctx, addr, "/v3/kv/put", put, &reply)
}

// etcdReader looks for keys on one member.
type etcdReader struct {
	client *clientv3.Client
	prefix string
}

func (t *trial) etcdReader(addr string) (lockReader, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	return etcdReader{client, t.settings.Prefix}, err
}

func (r etcdReader) close() { _ = r.client.Close() }

// locks reads which orders have a key. A majority agrees to what it reads.
func (r etcdReader) locks(ctx context.Context) (map[int64]bool, error) {
	reply, err := r.client.Get(ctx, r.prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	there := map[int64]bool{}
	for _, kv := range reply.Kvs {
		if order, ok := orderIn(string(kv.Key)); ok {
			there[order] = true
		}
	}
	return there, nil
}

// orderIn is the order whose lock a name has in it: see trial.key.
func orderIn(name string) (order int64, ok bool) {
	_, rest, found := strings.Cut(name, "order:")
	if !found {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	order, err := strconv.ParseInt(rest[:end], 10, 64)
	return order, err == nil
}
