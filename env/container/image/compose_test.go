// Package image_test tests how the local image is made, and the stack of
// env/compose.yaml in containers of it.
package image_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
)

const (
	masterName = "mymaster"
	patience   = 2 * time.Minute // nothing is judged by it
)

// The stack of env/compose.yaml gets ready, survives its primary and leaves
// nothing, on the host's network and on one of its own.
func TestCompose(t *testing.T) {
	for name, settings := range map[string][]string{
		"host":    {"LOCKCOST_NETWORK_MODE=host"},
		"network": {"LOCKCOST_NETWORK_MODE=service:network", "COMPOSE_PROFILES=network"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, settings)
			p.compose(t, "up", "-d")
			p.agree(t)
			p.letsIn(t)
			primary, replica := p.redis(t, p.primary), p.redis(t, p.replica)
			replicated(t, primary, "before")

			docker(t, "kill", p.container(t, "primary"))
			eventually(t, "the replica is promoted", func(ctx context.Context) error { return hasRole(ctx, replica, "master") })
			docker(t, "start", p.container(t, "primary"))
			eventually(t, "the old primary follows", func(ctx context.Context) error { return hasRole(ctx, primary, "slave") })
			replicated(t, replica, "after")
			if got := primary.Get(t.Context(), "before").Val(); got != "1" {
				t.Errorf("what was replicated before the failover: got %q, want 1", got)
			}

			docker(t, "restart", p.container(t, "ledger"))
			p.letsIn(t)
		})
	}
}

// agree waits until each Sentinel knows the replica and the other two, and
// holds all to be up.
func (p *project) agree(t *testing.T) {
	t.Helper()
	for _, port := range p.sentinels {
		c := redis.NewSentinelClient(&redis.Options{Addr: loopback(port)})
		t.Cleanup(func() { c.Close() })
		eventually(t, "Sentinels agree", func(ctx context.Context) error {
			m, err := c.Master(ctx, masterName).Result()
			if err != nil {
				return err
			}
			if m["flags"] != "master" || m["num-slaves"] != "1" || m["num-other-sentinels"] != "2" || m["quorum"] != "2" {
				return fmt.Errorf("Sentinel at port %d: %v", port, m)
			}
			if m["ip"] != "127.0.0.1" || m["port"] != strconv.Itoa(p.primary) {
				return fmt.Errorf("Sentinel at port %d announces %s:%s", port, m["ip"], m["port"])
			}
			return c.CkQuorum(ctx, masterName).Err()
		})
	}
}

// letsIn waits until the ledger lets lockcost make a table.
func (p *project) letsIn(t *testing.T) {
	t.Helper()
	c, err := mysql.ParseDSN(fmt.Sprintf("lockcost:lockcost@tcp(%s)/lockcost?timeout=3s&readTimeout=10s", loopback(p.ledger)))
	if err != nil {
		t.Fatal(err)
	}
	c.Logger = &mysql.NopLogger{} // it tells of each attempt that is too early
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	eventually(t, "the ledger lets lockcost in", db.PingContext)
	for _, query := range []string{"CREATE TABLE let_in (id INT PRIMARY KEY)", "DROP TABLE let_in"} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}

func (p *project) redis(t *testing.T, port int) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: loopback(port), MaxRetries: -1, DialTimeout: time.Second})
	t.Cleanup(func() { c.Close() })
	return c
}

// replicated writes key, and waits until WAIT 1 counts a replica that has it.
func replicated(t *testing.T, c *redis.Client, key string) {
	t.Helper()
	eventually(t, "WAIT 1 counts the replica", func(ctx context.Context) error {
		conn := c.Conn()
		defer conn.Close()
		if err := conn.Set(ctx, key, 1, 0).Err(); err != nil {
			return err
		}
		n, err := conn.Wait(ctx, 1, time.Second).Result()
		if err == nil && n != 1 {
			err = fmt.Errorf("it counted %d", n)
		}
		return err
	})
}

// hasRole checks c's role, and that one which follows is in step.
func hasRole(ctx context.Context, c *redis.Client, role string) error {
	info, err := c.Info(ctx, "replication").Result()
	switch {
	case err != nil:
		return err
	case !strings.Contains(info, "role:"+role):
		return errors.New(info)
	case role == "slave" && !strings.Contains(info, "master_link_status:up"):
		return errors.New(info)
	}
	return nil
}

// eventually tries until it goes well.
func eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not in %v: %v", what, patience, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
