package link

import (
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// synRetries bounds how long a server's answer to a connection is waited for,
// to some 7 s. On loopback it comes at once.
const synRetries = 2

// listen listens on a free loopback port.
func listen() (fd int, addr string, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return none, "", fmt.Errorf("socket: %w", err)
	}
	if err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	var at unix.Sockaddr
	if err == nil {
		at, err = unix.Getsockname(fd)
	}
	if err != nil {
		_ = unix.Close(fd)
		return none, "", fmt.Errorf("listening on a loopback port: %w", err)
	}
	return fd, fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port), nil
}

// resolve turns a host:port into what connect needs.
func resolve(target string) (unix.Sockaddr, error) {
	addr, err := net.ResolveTCPAddr("tcp", target)
	if err != nil {
		return nil, err
	}
	if ip := addr.IP.To4(); ip != nil {
		return &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip)}, nil
	}
	if len(addr.IP) != net.IPv6len {
		return &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte{127, 0, 0, 1}}, nil // no host: this one
	}
	return &unix.SockaddrInet6{Port: addr.Port, Addr: [16]byte(addr.IP)}, nil
}

// connect begins a connection. It is there, or has failed, once it can be
// written to: connected tells which.
func connect(to unix.Sockaddr) (fd int, err error) {
	family := unix.AF_INET
	if _, six := to.(*unix.SockaddrInet6); six {
		family = unix.AF_INET6
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return none, err
	}
	if err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_SYNCNT, synRetries); err == nil {
		err = unix.Connect(fd, to)
	}
	if err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return none, err
	}
	return fd, nil
}

// connected tells whether a connection has been made, or why it cannot be.
func connected(fd int) (bool, error) {
	code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err != nil {
		return false, err
	}
	_, err = unix.Getpeername(fd)
	return err == nil, nil
}

// atOnce has every write sent, however little it is.
func atOnce(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) }

// read and write never block, so Go's scheduler need not hear of them.

func read(fd int, into []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&into[0])), uintptr(len(into)))
	return int(n), errno
}

func write(fd int, bytes []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&bytes[0])), uintptr(len(bytes)))
	return int(n), errno
}

// hurry has a connection reset when it is closed.
func hurry(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// reset closes a connection by a reset.
func reset(fd int) {
	hurry(fd)
	_ = unix.Close(fd)
}

// hungUp tells whether the other side of a connection has ended it.
func hungUp(fd int) bool {
	polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(polled, 0)
	return err == nil && n > 0
}
