package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"lockcost/env"
	"lockcost/results"
)

// timerLag records how late n sleeps to absolute times end, with
// clock_nanosleep(2).
func timerLag(ctx context.Context, lag *results.Histogram, n int) error {
	return onThread(func() error {
		return paced(ctx, n, func(late int64) error {
			lag.Record(late)
			return nil
		})
	})
}

// interruptions records every stretch of busy time in which the CPU was taken
// from a thread that does nothing but read the clock: by the kernel's ticks,
// by other threads, and by the host of a virtual machine.
func interruptions(ctx context.Context, into *results.Histogram, busy time.Duration) error {
	return onThread(func() error {
		began := monotonic()
		for last := began; last-began < int64(busy); {
			now := monotonic()
			if gap := now - last; gap > int64(interruption) {
				into.Record(gap)
			}
			last = now
		}
		return context.Cause(ctx)
	})
}

// onThread runs f on a thread of its own whose timer slack is 1 ns
// (prctl(2), PR_SET_TIMERSLACK).
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends here, and its slack with it
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
			done <- fmt.Errorf("prctl(PR_SET_TIMERSLACK): %w", err)
			return
		}
		done <- f()
	}()
	return <-done
}

// paced calls f n times, at absolute times that are 1/pace apart, and tells
// it how many nanoseconds late it is.
func paced(ctx context.Context, n int, f func(late int64) error) error {
	const gap = int64(time.Second) / pace
	due := monotonic()
	for range n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		due += gap
		if err := sleepUntil(due); err != nil {
			return err
		}
		late := monotonic() - due
		if err := f(late); err != nil {
			return err
		}
		if late > gap {
			due = monotonic() // a tick that was missed is one late tick, not many
		}
	}
	return nil
}

func sleepUntil(due int64) error {
	until := unix.NsecToTimespec(due)
	for {
		err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("clock_nanosleep: %w", err)
		}
	}
}

func monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // cannot fail for this clock
	return now.Nano()
}

// raw measures round trips by blocking write(2) and read(2).
func (e *examination) raw(into *results.Histogram, command func() [][]byte) func(context.Context) error {
	return func(ctx context.Context) error {
		return onThread(func() error {
			c, err := dialRaw(e.Redis)
			if err != nil {
				return err
			}
			defer unix.Close(c.fd)
			return paced(ctx, e.trips, func(int64) error {
				c.prepare(command()...)
				began := monotonic()
				err := c.exchange()
				into.Record(monotonic() - began)
				return err
			})
		})
	}
}

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
