package link

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poller waits for events of file descriptors, or for a time, whichever comes
// first.
type poller struct {
	fd      int
	timer   int // a timerfd where epoll_wait counts in milliseconds, else none
	timeout kernelTimespec
	events  [64]unix.EpollEvent
}

const none = -1

// patience is how long the poller waits without Go's scheduler knowing of it.
// The scheduler holds a wait that it knows to be work for others: while there
// is traffic it would look after it every 20 µs. One that it does not know
// keeps it from stopping the world, so that must not last.
const patience = 5 * time.Millisecond

// kernelTimespec is struct __kernel_timespec, the same on every machine.
type kernelTimespec struct{ sec, nsec int64 }

// newPoller makes a poller on epoll_pwait2, which Linux has since 5.11, or
// else with a timerfd.
func newPoller() (*poller, error) {
	p, err := openPoller()
	if err != nil {
		return nil, err
	}
	if _, errno := p.waitFine(0, true); errno == unix.ENOSYS || errno == unix.EPERM { // EPERM: by a filter of system calls
		err = p.addTimer()
	} else if errno != 0 {
		err = fmt.Errorf("epoll_pwait2: %w", errno)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func openPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	return &poller{fd: fd, timer: none}, nil
}

func (p *poller) addTimer() (err error) {
	if p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return fmt.Errorf("timerfd_create: %w", err)
	}
	return p.watch(p.timer, 0, unix.EPOLLIN)
}

// watch replaces the events that a file descriptor is watched for. For none
// it is not watched at all, lest its hanging up, which nobody can be spared,
// be told again and again.
func (p *poller) watch(fd int, before, events uint32) error {
	op := unix.EPOLL_CTL_MOD
	switch {
	case events == before:
		return nil
	case events == 0:
		op = unix.EPOLL_CTL_DEL
	case before == 0:
		op = unix.EPOLL_CTL_ADD
	}
	if err := unix.EpollCtl(p.fd, op, fd, &unix.EpollEvent{Fd: int32(fd), Events: events}); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// wait returns what has happened, which is nothing when the timeout has
// passed, and maybe before. Below 0 there is no timeout.
func (p *poller) wait(timeout time.Duration) ([]unix.EpollEvent, error) {
	wait := p.waitFine
	if p.timer != none {
		wait = p.waitTimer
	}
	long := timeout < 0 || timeout > patience
	first := timeout
	if long {
		first = patience
	}
	n, errno := wait(first, true)
	if long && n == 0 && errno == 0 {
		if timeout > 0 {
			timeout -= patience
		}
		n, errno = wait(timeout, false)
	}
	switch errno {
	case 0:
		return p.events[:n], nil
	case unix.EINTR:
		return nil, nil
	}
	return nil, fmt.Errorf("waiting for events: %w", errno)
}

// waitFine waits with epoll_pwait2: as an aside, which Go's scheduler does
// not know of, or with its knowledge.
func (p *poller) waitFine(timeout time.Duration, aside bool) (int, unix.Errno) {
	var at unsafe.Pointer
	if timeout >= 0 {
		p.timeout = kernelTimespec{int64(timeout / time.Second), int64(timeout % time.Second)}
		at = unsafe.Pointer(&p.timeout)
	}
	var n uintptr
	var errno unix.Errno
	if aside {
		n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd),
			uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), uintptr(at), 0, 0)
	} else {
		n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd),
			uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), uintptr(at), 0, 0)
	}
	return int(n), errno
}

// waitTimer is waitFine with a timerfd.
func (p *poller) waitTimer(timeout time.Duration, aside bool) (int, unix.Errno) {
	var spec unix.ItimerSpec // zero: never
	if timeout >= 0 {
		spec.Value = unix.NsecToTimespec(int64(max(timeout, 1)))
	}
	// It also takes back that the timer has fired.
	if err := unix.TimerfdSettime(p.timer, 0, &spec, nil); err != nil {
		return 0, err.(unix.Errno)
	}
	var n uintptr
	var errno unix.Errno
	if aside {
		n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd),
			uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), ^uintptr(0), 0, 0)
	} else {
		n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd),
			uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), ^uintptr(0), 0, 0)
	}
	return int(n), errno
}

func (p *poller) close() {
	if p.timer != none {
		_ = unix.Close(p.timer)
	}
	_ = unix.Close(p.fd)
}
