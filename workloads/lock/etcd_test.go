package lock_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"lockcost/env"
	"lockcost/workloads/lock"
)

// The library's Mutex grants one lock twice to two callers of one session,
// which is why ours names its keys in another way.
func TestEtcdMutexIsNoLockWithinOneSession(t *testing.T) {
	s := startEtcd(t, env.Spec{NoRedis: true, Etcd: 1, Durability: env.Relaxed})
	session := must(concurrency.NewSession(rawEtcd(t, s.servers, "", "")))(t)
	for range 2 {
		if err := concurrency.NewMutex(session, prefix+"mutex").TryLock(within(t)); err != nil {
			t.Fatalf("the library's Mutex excludes within one session now, and ours needs no names of its own: %v", err)
		}
	}
	_, locker := s.open(t, longSession)
	lease := must(locker.TryLock(within(t), t.Name(), 0))(t)
	if _, err := locker.TryLock(within(t), t.Name(), 0); err != lock.ErrHeld {
		t.Errorf("second lock on one session: %v, want ErrHeld", err)
	}
	if err := lease.Unlock(within(t)); err != nil {
		t.Error(err)
	}
}

// What a lock costs is one transaction, and one more to release it.
func TestEtcdRequestsSent(t *testing.T) {
	s := startEtcd(t, env.Spec{NoRedis: true, Durability: env.Relaxed})
	_, locker := s.open(t, longSession)
	count := func() (txns, others int) {
		for _, at := range s.servers {
			a, b := etcdRequests(t, at)
			txns, others = txns+a, others+b
		}
		return txns, others
	}
	var lease lock.Lease
	for _, c := range []struct {
		what string
		txns int
		do   func() error
	}{
		{"a lock", 1, func() (err error) { lease, err = locker.TryLock(within(t), t.Name(), 0); return err }},
		{"a lock that is held", 1, func() error {
			if _, err := locker.TryLock(within(t), t.Name(), 0); err != lock.ErrHeld {
				return err
			}
			return nil
		}},
		{"a release", 1, func() error { return lease.Unlock(within(t)) }},
		{"a lock by the queue", 1, func() (err error) { lease, err = locker.Lock(within(t), t.Name(), 0); return err }},
	} {
		txns, others := count()
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		txnsAfter, othersAfter := count()
		if txnsAfter-txns != c.txns || othersAfter != others {
			t.Errorf("%s: %d transactions and %d other requests, want %d and none", c.what, txnsAfter-txns, othersAfter-others, c.txns)
		}
	}
}

// etcdRequests is how many transactions and other requests on keys a member
// has answered.
func etcdRequests(t *testing.T, addr string) (txns, others int) {
	t.Helper()
	reply := must(http.Get("http://" + addr + "/metrics"))(t)
	defer reply.Body.Close()
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "} ")
		if !strings.HasPrefix(name, "grpc_server_handled_total{") || !strings.Contains(name, `grpc_service="etcdserverpb.KV"`) {
			continue
		}
		n := must(strconv.ParseFloat(value, 64))(t)
		if strings.Contains(name, `grpc_method="Txn"`) {
			txns += int(n)
		} else {
			others += int(n)
		}
	}
	return txns, others
}

// A user who lacks a right is told which one, and a wrong password is told.
func TestEtcdRights(t *testing.T) {
	s := startEtcd(t, env.Spec{NoRedis: true, Etcd: 1, Durability: env.Relaxed})
	raw := rawEtcd(t, s.servers, "", "")
	ctx := within(t)
	for _, do := range []func() error{
		func() error { _, err := raw.UserAdd(ctx, "root", "r00t"); return err },
		func() error { _, err := raw.UserGrantRole(ctx, "root", "root"); return err },
		func() error { return addEtcdUser(ctx, raw, "reader", clientv3.PermissionType(clientv3.PermRead)) },
		func() error { return addEtcdUser(ctx, raw, "locker", clientv3.PermissionType(clientv3.PermReadWrite)) },
		func() error { return addEtcdUser(ctx, raw, "nobody", -1) },
		func() error { _, err := raw.AuthEnable(ctx); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	for user, c := range map[string]struct{ kind, says string }{
		"reader": {"etcd-noperm", "lacks the right to write"},
		"nobody": {"etcd-noperm", "lacks the right to read"},
		"locker": {},
	} {
		client, err := lock.OpenEtcd(ctx, lock.EtcdConfig{Endpoints: s.servers, Username: user, Password: "secret", Prefix: prefix})
		if err != nil {
			t.Errorf("%s: %v", user, err)
			continue
		}
		err = client.Check(ctx)
		if lock.Kind(err) != c.kind || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v (%s), want %q (%s)", user, err, lock.Kind(err), c.says, c.kind)
		}
		if user == "reader" {
			if _, err := lock.NewEtcd(client).TryLock(ctx, "key", 0); lock.Kind(err) != "etcd-noperm" {
				t.Errorf("lock by %s: %v (%s)", user, err, lock.Kind(err))
			}
		}
		if err := client.Close(); err != nil {
			t.Errorf("%s: %v", user, err)
		}
	}
	_, err := lock.OpenEtcd(ctx, lock.EtcdConfig{Endpoints: s.servers, Username: "locker", Password: "wrong", Prefix: prefix})
	if lock.Kind(err) != "etcd-noauth" || !strings.Contains(err.Error(), s.servers[0]) {
		t.Errorf("wrong password: %v (%s)", err, lock.Kind(err))
	}
	if client, err := lock.OpenEtcd(ctx, lock.EtcdConfig{Endpoints: s.servers, Prefix: prefix}); err == nil {
		if err = client.Check(ctx); err == nil || lock.Kind(err) != "etcd-noauth" {
			t.Errorf("without a user: %v (%s)", err, lock.Kind(err))
		}
		client.Close()
	} else if lock.Kind(err) != "etcd-noauth" {
		t.Errorf("without a user: %v (%s)", err, lock.Kind(err))
	}
}

// addEtcdUser adds a user with one right to the tests' keys, or none.
func addEtcdUser(ctx context.Context, raw *clientv3.Client, name string, right clientv3.PermissionType) error {
	_, err := raw.UserAdd(ctx, name, "secret")
	_, err2 := raw.RoleAdd(ctx, name)
	_, err3 := raw.UserGrantRole(ctx, name, name)
	if right >= 0 {
		_, err4 := raw.RoleGrantPermission(ctx, name, prefix, clientv3.GetPrefixRangeEnd(prefix), right)
		err = errors.Join(err, err4)
	}
	return errors.Join(err, err2, err3)
}
