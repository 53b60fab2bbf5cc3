package lock

import (
	"context"
	"fmt"

	"lockcost/env"
)

// info returns the fields of INFO's default sections. Servers before 7.0
// take one section at most.
func (c *Client) info(ctx context.Context) (map[string]string, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	reply, err := c.redis.Info(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("INFO of %s: %w", c.name, err)
	}
	return env.ParseInfo(reply), nil
}
