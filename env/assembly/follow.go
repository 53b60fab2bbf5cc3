package assembly

import (
	"context"
	"fmt"
	"net"
)

// follow has a replica reach its primary at addr, if it does not yet.
func (v *server) follow(ctx context.Context, addr string) error {
	info, err := v.info(ctx, "replication")
	if err != nil {
		return fmt.Errorf("%s on %s: %w", v.name(), v.addr(), err)
	}
	if masterOf(info) == addr {
		return nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	c := v.client()
	defer c.Close()
	if err := c.ReplicaOf(ctx, host, port).Err(); err != nil {
		return fmt.Errorf("%s on %s: REPLICAOF %s %s: %w", v.name(), v.addr(), host, port, err)
	}
	// It is to come back from a crash by the same way.
	if err := c.ConfigRewrite(ctx).Err(); err != nil {
		return fmt.Errorf("%s on %s: CONFIG REWRITE: %w", v.name(), v.addr(), err)
	}
	return nil
}

// follows checks that a replica reaches its primary at addr.
func (v *server) follows(ctx context.Context, addr string) error {
	info, err := v.info(ctx, "replication")
	if err != nil {
		return err
	}
	if at := masterOf(info); at != addr {
		return fmt.Errorf("it follows %q, not %s: it goes around its link, or to where there was one; set the distance again", at, addr)
	}
	if s := info["master_link_status"]; s != "up" {
		return fmt.Errorf("its link to the primary is %q, not up", s)
	}
	return nil
}

// masterOf is the address at which a replica reaches its primary; "" for a
// server that is none.
func masterOf(info map[string]string) string {
	if info["role"] != "slave" {
		return ""
	}
	return net.JoinHostPort(info["master_host"], info["master_port"])
}
