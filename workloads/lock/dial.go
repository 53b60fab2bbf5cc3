package lock

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// directOptions are the library's settings for a server at a fixed address.
//
//   - MaxRetries -1: a retried SET NX finds the key that its first attempt
//     wrote, and reports our own lock as another's.
//   - ContextTimeoutEnabled: without it a context's deadline does not count.
//   - PipelinePoolSize -1: pipelines use the same filled connections as
//     single commands, not a second pool of 10.
//   - No identity, no maintenance notifications: servers before 7.2 answer
//     them with errors, at each new connection.
//   - RESP2: with RESP3 the library looks for push messages around each
//     command, and there are none.
func directOptions(config Config) *redis.Options {
	options := &redis.Options{
		Addr:                  config.Primary,
		Username:              config.Username,
		Password:              config.Password,
		DB:                    config.DB,
		TLSConfig:             config.TLS,
		Protocol:              2,
		MaxRetries:            -1,
		ContextTimeoutEnabled: true,
		PoolSize:              config.PoolSize,
		PipelinePoolSize:      -1,
		ReadBufferSize:        bufferBytes,
		WriteBufferSize:       bufferBytes,
		ReadTimeout:           config.ReadTimeout,
		WriteTimeout:          config.ReadTimeout,
		DialTimeout:           config.DialTimeout,
		DialerRetries:         1,
		ConnMaxIdleTime:       -1,
		DisableIdentity:       true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
	options.Dialer = lateErrors(detour(redis.NewDialer(options), config.Via))
	return options
}

// failoverOptions are the same settings for a primary found by Sentinels.
// The library turns maintenance notifications off by itself here.
func failoverOptions(config Config) *redis.FailoverOptions {
	direct := directOptions(config)
	return &redis.FailoverOptions{
		MasterName:            config.MasterName,
		SentinelAddrs:         config.Sentinels,
		SentinelUsername:      config.SentinelUsername,
		SentinelPassword:      config.SentinelPassword,
		Username:              direct.Username,
		Password:              direct.Password,
		DB:                    direct.DB,
		TLSConfig:             direct.TLSConfig,
		Dialer:                direct.Dialer,
		Protocol:              direct.Protocol,
		MaxRetries:            direct.MaxRetries,
		ContextTimeoutEnabled: direct.ContextTimeoutEnabled,
		PoolSize:              direct.PoolSize,
		PipelinePoolSize:      direct.PipelinePoolSize,
		ReadBufferSize:        direct.ReadBufferSize,
		WriteBufferSize:       direct.WriteBufferSize,
		ReadTimeout:           direct.ReadTimeout,
		WriteTimeout:          direct.WriteTimeout,
		DialTimeout:           direct.DialTimeout,
		DialerRetries:         direct.DialerRetries,
		ConnMaxIdleTime:       direct.ConnMaxIdleTime,
		DisableIdentity:       direct.DisableIdentity,
	}
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// detour dials the addresses in via by those they are mapped to, and makes
// the connections look as if it had not: in a failover the library drops
// those whose remote address is not the announced primary's.
func detour(dial dialer, via map[string]string) dialer {
	if len(via) == 0 {
		return dial
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		other, ok := via[addr]
		if !ok {
			return dial(ctx, network, addr)
		}
		conn, err := dial(ctx, network, other)
		if err != nil {
			return nil, err
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			return detouredTCP{tcp, address{network, addr}}, nil
		}
		return detoured{conn, address{network, addr}}, nil
	}
}

// detouredTCP is a connection that goes by another address than it was
// dialled for. It can do what a TCP connection can: the library looks whether
// the other side has closed an idle one.
type detouredTCP struct {
	*net.TCPConn
	remote address
}

func (d detouredTCP) RemoteAddr() net.Addr { return d.remote }

// detoured is the same for others, such as TLS.
type detoured struct {
	net.Conn
	remote address
}

func (d detoured) RemoteAddr() net.Addr { return d.remote }

// lateErrors makes a failed dial look like a connection whose first write
// fails with the dial's error.
//
// The library counts failed dials, and after PoolSize of them it refuses
// every connection until a dial of its own succeeds, which it tries once a
// second. A server that is back would be found up to a second late, and that
// second would be measured as the failover's.
func lateErrors(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return unconnected{err: &dialError{addr, err}, remote: address{network, addr}}, nil
		}
		return conn, nil
	}
}

// dialError says that there was no connection, hence that nothing was sent.
type dialError struct {
	addr string
	err  error
}

func (e *dialError) Error() string { return "cannot connect to " + e.addr + ": " + e.err.Error() }

// Unwrap returns a list of one: the library takes off one layer of what a
// new connection's greeting failed with, by an errors.Unwrap, which leaves
// lists alone.
func (e *dialError) Unwrap() []error { return []error{e.err} }

// unconnected is a connection that could not be made.
type unconnected struct {
	err    error
	remote address
}

func (u unconnected) Read([]byte) (int, error)         { return 0, u.err }
func (u unconnected) Write([]byte) (int, error)        { return 0, u.err }
func (u unconnected) Close() error                     { return nil }
func (u unconnected) LocalAddr() net.Addr              { return address{u.remote.network, ""} }
func (u unconnected) RemoteAddr() net.Addr             { return u.remote }
func (u unconnected) SetDeadline(time.Time) error      { return nil }
func (u unconnected) SetReadDeadline(time.Time) error  { return nil }
func (u unconnected) SetWriteDeadline(time.Time) error { return nil }

type address struct{ network, addr string }

func (a address) Network() string { return a.network }
func (a address) String() string  { return a.addr }
