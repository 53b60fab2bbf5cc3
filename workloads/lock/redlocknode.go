package lock

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"

	"lockcost/workloads/pool"
)

// redsyncRelease is the script by which redsync releases a lock, to be loaded
// before it is measured. It is not exported, but shown to who is to run it.
var redsyncRelease = func() script {
	var shown showing
	// There is no lock, and nobody to release it.
	_, _ = redsync.New(&shown).NewMutex("").Unlock()
	return script{source: shown.Src, sha: shown.Hash}
}()

// showing keeps the script that it is asked to run.
type showing struct{ redsyncredis.Script }

func (s *showing) Get(context.Context) (redsyncredis.Conn, error) { return keeping{to: s}, nil }

type keeping struct {
	redsyncredis.Conn // nil: nothing else of it is called
	to                *showing
}

func (k keeping) Close() error { return nil }
func (k keeping) Eval(script *redsyncredis.Script, _ ...any) (any, error) {
	k.to.Script = *script
	return int64(0), nil
}

// redlockNode is a client as redsync takes connections from it.
type redlockNode struct {
	client *Client
	pool   redsyncredis.Pool
}

// Get takes a place among the client's connections.
//
// The nodes are asked at the same time, and a trace is for one goroutine: they
// do not get the caller's, and waits for connections are in Client.PoolWait
// alone. Nor do they end with ctx, but at its deadline: redsync, when it fails
// fast, cancels ctx once it knows enough, and would leave locks behind that
// it was about to release.
func (n redlockNode) Get(ctx context.Context) (redsyncredis.Conn, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(n.client.readTimeout)
	}
	own, cancel := context.WithDeadline(pool.WithTrace(context.WithoutCancel(ctx), new(pool.Trace)), deadline)
	if err := n.client.enter(own); err != nil {
		cancel()
		return nil, err
	}
	conn, err := n.pool.Get(own)
	if err != nil {
		cancel()
		n.client.leave()
		return nil, err
	}
	return redlockConn{Conn: conn, client: n.client, cancel: cancel}, nil
}

// redlockConn gives its place back when it is closed.
type redlockConn struct {
	redsyncredis.Conn
	client *Client
	cancel context.CancelFunc
}

func (c redlockConn) Close() error {
	err := c.Conn.Close()
	c.client.leave()
	c.cancel()
	return err
}
