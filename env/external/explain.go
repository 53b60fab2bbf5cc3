package external

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// replies is how Redis and its relatives refuse somebody, and what to try.
var replies = []struct{ contains, advice string }{
	{"NOAUTH", "wants a password: give its address as redis://user:password@host:port"},
	{"WRONGPASS", "refuses the user or the password that was given"},
	{"invalid password", "refuses the password that was given"},
	{"without any password configured", "has no password: give its address without one"},
	{"DB index is out of range", "has no database of that number"},
	{"LOADING", "is still loading its data: wait until it has"},
	{"protected mode", "runs in protected mode and admits only its own machine: give it a password"},
	{"max number of clients", "has as many clients as it admits: see its maxclients"},
}

// reach checks that a connection can be made, over TLS where o says so. The
// Redis client would say so too, but log each failure.
func reach(ctx context.Context, what string, o *redis.Options) error {
	ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", o.Addr)
	if err != nil {
		return unreachable(what, err, nil)
	}
	defer c.Close()
	if o.TLSConfig == nil {
		return nil
	}
	s := tls.Client(c, o.TLSConfig)
	err = s.HandshakeContext(ctx)
	if isTimeout(err) || err != nil && closed(err) {
		return fmt.Errorf("%s does not begin TLS: if it has none, give its address as redis://", what)
	}
	if err != nil {
		return unreachable(what, err, o.TLSConfig)
	}
	return admitted(what, s, o.TLSConfig)
}

// lastWords is what a server says of itself that closed a connection before
// it was asked, as in protected mode; err where it says nothing. The reply is
// lost to who writes first.
func lastWords(ctx context.Context, o *redis.Options, err error) error {
	if !closed(err) || o.TLSConfig != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, failed := (&net.Dialer{}).DialContext(ctx, "tcp", o.Addr)
	if failed != nil {
		return err
	}
	defer c.Close()
	until, _ := ctx.Deadline()
	if c.SetReadDeadline(until) != nil {
		return err
	}
	if line, _ := bufio.NewReader(c).ReadString('\n'); strings.HasPrefix(line, "-") {
		return errors.New(firstLine(line))
	}
	return err
}

// explain turns what a Redis client could not do into a line that says what
// to try. what names the server.
func explain(what string, err error, secure *tls.Config) error {
	for _, r := range replies {
		if strings.Contains(err.Error(), r.contains) {
			return fmt.Errorf("%s %s", what, r.advice)
		}
	}
	if right := missingRight(err); right != "" {
		return fmt.Errorf("%s does not allow the user that was given all that is needed: try ACL SETUSER <user> %s", what, right)
	}
	var reply redis.Error
	if errors.As(err, &reply) && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("%s answers %q", what, firstLine(reply.Error()))
	}
	return unreachable(what, err, secure)
}

// unreachable tells why a server gave no answer that could be understood.
// secure is how TLS was spoken to it; nil for not at all.
func unreachable(what string, err error, secure *tls.Config) error {
	var (
		name  *net.DNSError
		plain tls.RecordHeaderError
		dial  *net.OpError
	)
	if secure != nil {
		if err := distrust(what, err, secure); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", what, err)
	case errors.As(err, &name):
		return fmt.Errorf("%s: no address is known for %s: correct the name", what, name.Name)
	case errors.As(err, &plain):
		return fmt.Errorf("%s does not speak TLS: give its address as redis://", what)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%s: nothing answers there (connection refused): start it, or correct the address", what)
	case isTimeout(err):
		return fmt.Errorf("%s: nothing answers there (timed out): see that it runs, that it is what it is taken for, and that no firewall is between", what)
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Errorf("%s: nothing answers there (%w)", what, dial.Err)
	case closed(err) && secure == nil:
		return fmt.Errorf("%s closes the connection: if it wants TLS, give its address as rediss://; if the port is forwarded, as Docker does, see that a server runs behind it", what)
	case closed(err):
		return fmt.Errorf("%s closes the connection", what)
	}
	return fmt.Errorf("%s does not answer as it should: %s", what, firstLine(err.Error()))
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line)
}
