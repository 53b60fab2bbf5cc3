package lock

// Whoever adds one of these types for real deletes it here; the file goes with
// the last.

import (
	"context"
	"errors"
	"time"
)

var errPending = errors.New("not there yet")

type ZooKeeperConfig struct {
	Servers                                     []string
	AuthScheme, Auth, Root                      string
	SessionTimeout, DialTimeout, ResolveTimeout time.Duration
}
type ZooKeeperClient struct{}

func OpenZooKeeper(context.Context, ZooKeeperConfig) (*ZooKeeperClient, error) {
	return nil, errPending
}
func NewZooKeeper(*ZooKeeperClient) Locker               { return nil }
func (*ZooKeeperClient) Minter() Minter                  { return nil }
func (*ZooKeeperClient) Check(context.Context) error     { return nil }
func (*ZooKeeperClient) RemoveAll(context.Context) error { return nil }
func (*ZooKeeperClient) Close() error                    { return nil }
