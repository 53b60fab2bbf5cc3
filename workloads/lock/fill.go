package lock

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// fillAtOnce bounds how many connections are being opened at a time. Each of
// a failover client asks a Sentinel first, over as many connections.
const fillAtOnce = 32

// Fill opens every connection of the pool, so that none is opened while it
// is being measured. All are held before the first is given back, since the
// library hands out an idle one before it opens another. It returns the
// first failure.
func (c *Client) Fill(ctx context.Context) error {
	c.filling.Lock() // two that fill would each hold what the other needs
	defer c.filling.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	opening := make(chan struct{}, fillAtOnce)
	var opened, ended sync.WaitGroup
	opened.Add(c.PoolSize())
	for range c.PoolSize() {
		ended.Go(func() {
			conn, err := c.open(ctx, opening)
			if err != nil {
				cancel(err)
			}
			opened.Done()
			opened.Wait()
			if conn != nil {
				conn.Close() // gives it back to the pool
				c.leave()
			}
		})
	}
	ended.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("opening %d connections to %s: %w", c.PoolSize(), c.name, err)
	}
	return nil
}

// open returns an open connection, and keeps its place at the gate.
func (c *Client) open(ctx context.Context, opening chan struct{}) (*redis.Conn, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	opening <- struct{}{}
	defer func() { <-opening }()
	conn := c.redis.Conn()
	if err := conn.Ping(ctx).Err(); err != nil && !redis.IsPermissionError(err) {
		conn.Close()
		c.leave()
		return nil, err
	}
	return conn, nil
}
