package lock

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// A session ends by the clock of when the last confirmed request was sent, and
// not of when it was answered.
func TestSessionEndsByItsClock(t *testing.T) {
	now := time.Now()
	if s := newSession(now.Add(-time.Minute), 30*time.Second); !s.over() || !errors.Is(context.Cause(s.Alive()), ErrLost) {
		t.Errorf("a session that was confirmed too long ago: %v", context.Cause(s.Alive()))
	}
	s := newSession(now.Add(-time.Minute), time.Hour)
	s.confirmed(now)
	s.confirmed(now.Add(-time.Second)) // answers may overtake each other
	if s.over() || !s.since.Equal(now) {
		t.Errorf("over: %v; confirmed at %v, want %v", s.over(), s.since, now)
	}
	s.lasts(time.Nanosecond)
	select {
	case <-s.Alive().Done():
	case <-time.After(30 * time.Second):
		t.Error("a session whose time is over does not end")
	}
	s.confirmed(time.Now().Add(time.Hour))
	if !s.over() {
		t.Error("a session that has ended began again")
	}
	other := newSession(now, time.Hour)
	other.lose(ErrClosed)
	if cause := context.Cause(other.Alive()); !errors.Is(cause, ErrLost) || !errors.Is(cause, ErrClosed) {
		t.Errorf("cause %v", cause)
	}
	if err := other.ended(); Kind(err) != kindSessionLost || errors.Is(err, ErrLost) {
		t.Errorf("%v (%s): an attempt loses no lock", err, Kind(err))
	}
}

// The number at the end of a node's name wraps to its least value.
func TestNodeBefore(t *testing.T) {
	const own = "_c_me-lock-"
	for _, c := range []struct {
		children []string
		own      string
		want     string
	}{
		{[]string{own + "0000000007"}, own + "0000000007", ""},
		{[]string{"_c_x-lock-0000000009", own + "0000000007", "_c_z-lock-0000000005", "_c_y-lock-0000000006"}, own + "0000000007", "_c_y-lock-0000000006"},
		{[]string{"_c_x-lock-2147483646", "_c_y-lock-2147483647", own + "-2147483648"}, own + "-2147483648", "_c_y-lock-2147483647"},
		{[]string{"_c_x-lock--2147483648", own + "2147483647"}, own + "2147483647", ""},
		{[]string{"_c_x-lock--000000001", own + "0000000000"}, own + "0000000000", "_c_x-lock--000000001"},
		{[]string{"other", "lease-0000000001", own + "0000000002"}, own + "0000000002", ""},
	} {
		if got, err := nodeBefore(c.children, c.own); err != nil || got != c.want {
			t.Errorf("before %s of %v: %q, %v, want %q", c.own, c.children, got, err, c.want)
		}
	}
	if _, err := nodeBefore([]string{"_c_x-lock-0000000001"}, own+"0000000002"); !errors.Is(err, errZooKeeperThrownOut) {
		t.Errorf("our node is gone: %v", err)
	}
}

func TestKindsOfSessionServices(t *testing.T) {
	for want, errs := range map[string][]error{
		"etcd-timeout":          {etcdFailure(context.DeadlineExceeded), etcdFailure(rpctypes.ErrTimeout), etcdFailure(rpctypes.ErrTimeoutDueToLeaderFail)},
		"etcd-no-leader":        {etcdFailure(rpctypes.ErrNoLeader)},
		"etcd-no-space":         {etcdFailure(rpctypes.ErrNoSpace)},
		"etcd-noperm":           {etcdFailure(rpctypes.ErrPermissionDenied)},
		"etcd-noauth":           {etcdFailure(rpctypes.ErrAuthFailed)},
		"etcd-error":            {etcdFailure(rpctypes.ErrCompacted)},
		"session-lost":          {etcdFailure(rpctypes.ErrLeaseNotFound), zooKeeperFailure(zk.ErrSessionExpired), errZooKeeperThrownOut},
		"canceled":              {etcdFailure(context.Canceled), zooKeeperFailure(context.Canceled)},
		"zookeeper-timeout":     {zooKeeperFailure(context.DeadlineExceeded)},
		"zookeeper-unavailable": {zooKeeperFailure(&notConnected{end: context.DeadlineExceeded})},
		"zookeeper-connection":  {zooKeeperFailure(zk.ErrConnectionClosed)},
		"zookeeper-noperm":      {zooKeeperFailure(zk.ErrNoAuth)},
		"zookeeper-error":       {zooKeeperFailure(zk.ErrNotEmpty)},
		"held":                  {after(heldUntil(context.DeadlineExceeded), etcdFailure(rpctypes.ErrTimeout))},
	} {
		for _, err := range errs {
			if got := Kind(fmt.Errorf("locking: %w", err)); got != want {
				t.Errorf("%v: %s, want %s", err, got, want)
			}
		}
		if err := after(errs[0], errors.New("it could not be undone")); Kind(err) != want {
			t.Errorf("%v: %s, want %s", err, Kind(err), want)
		}
	}
}

// sweepItem is something to undo.
type sweepItem struct {
	n    int
	gone bool
}

func (i sweepItem) over() bool { return i.gone }

// What cannot be undone does not keep the others from being undone, and is
// tried again until its session is over.
func TestSweeper(t *testing.T) {
	tries := map[int]int{}
	s := startSweeper(t.Context(), 4, func(_ context.Context, some []sweepItem) []error {
		errs := make([]error, len(some))
		for i, item := range some {
			tries[item.n]++
			if item.n == 0 && tries[0] < 3 {
				errs[i] = errors.New("not yet")
			}
		}
		return errs
	})
	var undone []<-chan struct{}
	for n := range 20 {
		undone = append(undone, s.add(sweepItem{n: n, gone: n == 7}))
	}
	for n, done := range undone {
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatalf("%d is not undone", n)
		}
	}
	if tries[0] != 3 || tries[7] != 0 || tries[19] != 1 {
		t.Errorf("tries %v, want 3 of the first, none of what was over, one of the others", tries)
	}
}
