package lock_test

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/workloads/lock"
)

// WAIT in other places than behind the write on its own connection does not
// tell whether that write was acknowledged. This shows what it tells instead,
// with a replica that acknowledges nothing, beside what setnx-wait says then.
func TestWaitInOtherPlacesIsWrong(t *testing.T) {
	s := startWithReplica(t)
	client := s.open(t, lock.Config{})
	ctx := t.Context()
	early := s.raw.Conn()
	defer early.Close()
	if err := early.Set(ctx, prefix+"early", "owner", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.pauseReplicaThatIsUpToDate(t)
	inTransaction := redis.NewIntCmd(ctx, "wait", 1, 20)
	if _, err := early.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.Set(ctx, prefix+"in a transaction", "owner", 0)
		return tx.Process(ctx, inTransaction)
	}); err != nil {
		t.Fatal(err)
	}
	forEachWait(t, client, s.mustBeUnreplicatedIn)

	fresh := waitOnFreshConnection(t, s.Redis.Primary)
	used := s.raw.Conn() // the library has said HELLO on it
	defer used.Close()
	onUsed := must(used.Wait(ctx, 1, 20*time.Millisecond).Result())(t)

	inScript, scriptErr := s.raw.Eval(ctx, "redis.call('SET', KEYS[1], 'owner') return redis.call('WAIT', 1, 20)",
		[]string{prefix + "in a script"}).Result()

	version := s.infoField(t, "redis_version")
	t.Logf("Redis %s, replica stopped: WAIT on a fresh connection %s, on a used one %d, in a transaction %d, in a script %v (%v)",
		version, fresh, onUsed, inTransaction.Val(), inScript, scriptErr)

	// In a transaction it does not wait, and it counts the acknowledgements
	// of what was written before it.
	if inTransaction.Val() != 1 {
		t.Errorf("in a transaction: %d, known is 1", inTransaction.Val())
	}
	// A connection that has written nothing remembers offset 0, which every
	// replica has acknowledged. Up to 7.0 any command moves it, from 7.2 only
	// one that wrote.
	if fresh != "1" {
		t.Errorf("on a fresh connection: %s, known is 1", fresh)
	}
	if want := int64(0); !newer(t, version, 7, 2) && onUsed != want {
		t.Errorf("on a used connection: %d, known of this version is %d", onUsed, want)
	}
	if want := int64(1); newer(t, version, 7, 2) && onUsed != want {
		t.Errorf("on a used connection: %d, known of this version is %d", onUsed, want)
	}
	if !newer(t, version, 7, 2) && scriptErr == nil {
		t.Errorf("in a script: %v, known of this version is an error", inScript)
	}
}

// pauseReplicaThatIsUpToDate pauses the replica when it has acknowledged all
// that was written, the primary's own messages to it included.
func (s *server) pauseReplicaThatIsUpToDate(t *testing.T) {
	t.Helper()
	upToDate := func() bool {
		return strings.Contains(s.infoField(t, "slave0"), ",offset="+s.infoField(t, "master_repl_offset")+",")
	}
	eventually(t, "the replica is stopped while it is up to date", func() bool {
		if !upToDate() {
			return false
		}
		if err := s.Faults.Pause("replica-1"); err != nil {
			t.Fatal(err)
		}
		if upToDate() {
			return true
		}
		if err := s.Faults.Resume("replica-1"); err != nil {
			t.Fatal(err)
		}
		return false
	})
	t.Cleanup(func() {
		if err := s.Faults.Resume("replica-1"); err != nil {
			t.Error(err)
		}
	})
}

// waitOnFreshConnection returns what WAIT says as a connection's very first
// command.
func waitOnFreshConnection(t *testing.T, addr string) string {
	t.Helper()
	conn := must(net.Dial("tcp", addr))(t)
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "WAIT 1 20\r\n"); err != nil {
		t.Fatal(err)
	}
	reply := must(bufio.NewReader(conn).ReadString('\n'))(t)
	return strings.Trim(reply, ":\r\n")
}

func newer(t *testing.T, version string, major, minor int) bool {
	t.Helper()
	parts := strings.Split(version, ".")
	a, b := must(strconv.Atoi(parts[0]))(t), must(strconv.Atoi(parts[1]))(t)
	return a > major || a == major && b >= minor
}
