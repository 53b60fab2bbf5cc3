package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"lockcost/env"
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// rawConn is a connection to Redis without a library or a runtime's poller.
type rawConn struct {
	fd      int
	request []byte
	reply   [512]byte
}

func dialRaw(r env.Redis) (*rawConn, error) {
	addr, err := net.ResolveTCPAddr("tcp", r.Primary)
	if err != nil {
		return nil, err
	}
	var to unix.Sockaddr
	family := unix.AF_INET
	if ip := addr.IP.To4(); ip != nil {
		to = &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip)}
	} else {
		family, to = unix.AF_INET6, &unix.SockaddrInet6{Port: addr.Port, Addr: [16]byte(addr.IP.To16())}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	c := &rawConn{fd: fd}
	if err := c.open(to, r); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("raw connection to %s: %w", r.Primary, err)
	}
	return c, nil
}

// open connects, within three seconds for each step, and logs in.
func (c *rawConn) open(to unix.Sockaddr, r env.Redis) error {
	limit := unix.Timeval{Sec: 3}
	for _, err := range []error{
		unix.SetsockoptTimeval(c.fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit),
		unix.SetsockoptTimeval(c.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
		unix.SetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.Connect(c.fd, to),
	} {
		if err != nil {
			return err
		}
	}
	if r.Password != "" {
		user := r.Username
		if user == "" {
			user = "default"
		}
		c.prepare([]byte("AUTH"), []byte(user), []byte(r.Password))
		if err := c.exchange(); err != nil {
			return err
		}
	}
	if r.DB != 0 {
		c.prepare([]byte("SELECT"), strconv.AppendInt(nil, int64(r.DB), 10))
		return c.exchange()
	}
	return nil
}

// prepare encodes a command, so that only calls are timed.
func (c *rawConn) prepare(words ...[]byte) {
	c.request = fmt.Appendf(c.request[:0], "*%d\r\n", len(words))
	for _, word := range words {
		c.request = fmt.Appendf(c.request, "$%d\r\n%s\r\n", len(word), word)
	}
}

// exchange writes the command and reads a reply of one line, which must not
// be an error.
func (c *rawConn) exchange() error {
	if _, err := unix.Write(c.fd, c.request); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	for n := 0; ; {
		more, err := unix.Read(c.fd, c.reply[n:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return errors.New("the server has not answered in time: has it been stopped?")
		case err != nil:
			return fmt.Errorf("read: %w", err)
		case more == 0:
			return errors.New("the server closed the connection")
		}
		n += more
		if line, _, whole := bytes.Cut(c.reply[:n], []byte("\r\n")); whole {
			if line[0] == '-' {
				return fmt.Errorf("the server says %q", line)
			}
			return nil
		}
	}
}
