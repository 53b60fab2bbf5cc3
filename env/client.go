package env

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// answerTimeout bounds a dial, and each reply, of the clients below.
const answerTimeout = 3 * time.Second

// Options returns a client's options for looking at one Redis server of the
// stack: one connection, no retries, no handshake beyond the password. It is
// not meant for what is measured.
func (r Redis) Options(addr string) *redis.Options {
	o := quiet(addr)
	o.Username, o.Password, o.DB = r.Username, r.Password, r.DB
	o.TLSConfig = r.tls(addr)
	return o
}

// SentinelOptions is Options for one of the stack's Sentinels.
func (r Redis) SentinelOptions(addr string) *redis.Options {
	o := quiet(addr)
	o.Username, o.Password = r.SentinelUsername, r.SentinelPassword
	o.TLSConfig = r.tls(addr)
	return o
}

func quiet(addr string) *redis.Options {
	return &redis.Options{
		Addr:                  addr,
		Protocol:              2,
		MaxRetries:            -1,
		DialerRetries:         1,
		DialTimeout:           answerTimeout,
		ReadTimeout:           answerTimeout,
		WriteTimeout:          answerTimeout,
		ContextTimeoutEnabled: true,
		PoolSize:              1,
		PipelinePoolSize:      -1,
		DisableIdentity:       true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
}

// tls is r.TLS for one server; nil for none.
func (r Redis) tls(addr string) *tls.Config {
	if r.TLS == nil {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	c := r.TLS.Clone()
	c.ServerName = host
	return c
}
