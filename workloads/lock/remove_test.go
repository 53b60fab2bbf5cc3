package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/process/processtest"
	"lockcost/workloads/lock"
)

func TestRemove(t *testing.T) {
	s := start(t, env.Spec{})
	client := s.open(t, lock.Config{PoolSize: 1})
	ctx := t.Context()
	const ours, others = "odd[*]?:", "odd*"
	fencing := lock.NewFencing(client, ours)
	held := 0
	keys := []string{lock.CounterKey(ours)}
	for i := range 10_700 { // more than a round trip takes, and no multiple of a command's
		keys = append(keys, fmt.Sprint(ours, i))
		if i%5 == 0 { // the others were released
			must(fencing.TryLock(ctx, keys[i+1], time.Minute))(t)
			held++
		}
	}
	if err := s.raw.Set(ctx, others, "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n := must(client.Remove(ctx, slices.Values(keys)))(t); n != int64(held)+1 {
		t.Errorf("removed %d keys, want %d locks and the counter", n, held)
	}
	if left := must(s.raw.Keys(ctx, "*").Result())(t); len(left) != 1 || left[0] != others {
		t.Errorf("left %q", left)
	}
	for _, none := range [][]string{nil, keys[:500]} {
		if n := must(client.Remove(ctx, slices.Values(none)))(t); n != 0 {
			t.Errorf("removed %d of %d keys that are not there", n, len(none))
		}
	}
}

// What the server has that is not ours costs nothing: no command looks at it.
func TestRemoveLooksAtNoOtherKey(t *testing.T) {
	s := start(t, env.Spec{})
	client := s.open(t, lock.Config{})
	if err := s.raw.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	must(client.Remove(t.Context(), slices.Values([]string{"a", "b"})))(t)
	if calls := s.infoField(t, "cmdstat_unlink"); calls == "" {
		t.Error("no UNLINK")
	}
	if calls := s.infoField(t, "cmdstat_scan") + s.infoField(t, "cmdstat_keys"); calls != "" {
		t.Errorf("looked for keys: %s", calls)
	}
}

func TestRemoveFails(t *testing.T) {
	addr := processtest.Redis(t, "user app on >secret ~* +@all -unlink")
	client := open(t, lock.Config{Primary: addr, Username: "app", Password: "secret", PoolSize: 1})
	_, err := client.Remove(t.Context(), slices.Values([]string{"a"}))
	refused(t, err, addr, "UNLINK", "+unlink")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Remove(ctx, slices.Values([]string{"a"})); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
