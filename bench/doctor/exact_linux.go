package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"lockcost/env/timer"
	"lockcost/results"
)

const exactOffered = true

// restless is how long the server goes on looking for requests without a
// pause after the last: well beyond the time between two at the pace.
const restless = 10 * time.Millisecond

var (
	exactRequest = []byte("ping\r\n") // as the lock client ends a PING
	exactReply   = []byte("+PONG\r\n")
	exactRefusal = []byte("-ERR this server takes PING only\r\n") // to the greeting that a client begins with
)

// exact is the server's inside. All of serve runs on one thread, which never
// waits for the kernel while there is something to do.
type exact struct {
	clock     *timer.Clock
	poll      int
	listeners []net.Listener
	ports     map[int32]int // which delay a listener or connection belongs to, by descriptor
	doors     map[int32]bool
	delays    []time.Duration
	queues    [][]answer // by delay, the first due first

	mu   sync.Mutex
	logs []*results.Histogram // by delay
}

// answer is one that is owed.
type answer struct {
	fd  int
	due time.Duration
}

func listenExact(delays []time.Duration) (*exact, error) {
	debug.SetGCPercent(-1)
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create: %w", err)
	}
	s := &exact{clock: timer.NewClock(), poll: poll, delays: delays, ports: map[int32]int{}, doors: map[int32]bool{}, queues: make([][]answer, len(delays))}
	for i := range delays {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		s.listeners = append(s.listeners, l)
		s.logs = append(s.logs, results.NewHistogram())
		raw, err := l.(*net.TCPListener).SyscallConn()
		if err != nil {
			return nil, err
		}
		var watched error
		if err := raw.Control(func(fd uintptr) {
			s.doors[int32(fd)] = true
			watched = s.watch(int(fd), i)
		}); err != nil || watched != nil {
			return nil, errors.Join(err, watched)
		}
	}
	return s, nil
}

func (s *exact) addrs() []string {
	var addrs []string
	for _, l := range s.listeners {
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

func (s *exact) watch(fd, delay int) error {
	s.ports[int32(fd)] = delay
	return unix.EpollCtl(s.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// late tells how late answers were, by delay.
func (s *exact) late() []exactLate {
	s.mu.Lock()
	defer s.mu.Unlock()
	var late []exactLate
	for _, h := range s.logs {
		late = append(late, lateOf(h))
	}
	return late
}

// serve answers until the process ends.
func (s *exact) serve() {
	runtime.LockOSThread()
	events := make([]unix.EpollEvent, 64)
	last := s.clock.Now()
	for {
		n := 0
		if s.clock.Now()-last > restless {
			n, _ = unix.EpollWait(s.poll, events, -1) // an error is a signal's
		} else {
			n = look(s.poll, events)
		}
		for _, e := range events[:max(n, 0)] {
			last = s.clock.Now()
			s.handle(e.Fd, last)
		}
		if s.answer() {
			last = s.clock.Now()
		}
	}
}

// look is epoll_wait without waiting, and without the runtime's knowing. It
// would watch a thread that seems to block, and take the CPU to do so.
func look(poll int, events []unix.EpollEvent) int {
	n, _, failed := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(poll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	if failed != 0 {
		return 0
	}
	return int(n)
}

// handle takes a connection or a request.
func (s *exact) handle(fd int32, now time.Duration) {
	delay := s.ports[fd]
	if s.doors[fd] {
		conn, _, err := unix.Accept4(int(fd), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err == nil {
			_ = unix.SetsockoptInt(conn, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
			_ = s.watch(conn, delay)
		}
		return
	}
	var buffer [512]byte
	n, err := unix.Read(int(fd), buffer[:])
	if errors.Is(err, unix.EAGAIN) {
		return
	}
	if err != nil || n == 0 {
		delete(s.ports, fd)
		_ = unix.Close(int(fd))
		return
	}
	if !bytes.HasSuffix(buffer[:n], exactRequest) {
		_, _ = unix.Write(int(fd), exactRefusal)
		return
	}
	s.queues[delay] = append(s.queues[delay], answer{int(fd), now + s.delays[delay]})
}

// answer gives the answers that are due, and tells whether any is owed.
func (s *exact) answer() (owed bool) {
	for i, queue := range s.queues {
		for len(queue) > 0 {
			now := s.clock.Now()
			if now < queue[0].due {
				break
			}
			// Who hung up needs none.
			_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(queue[0].fd), uintptr(unsafe.Pointer(&exactReply[0])), uintptr(len(exactReply)))
			s.log(i, now-queue[0].due)
			queue = queue[:copy(queue, queue[1:])]
		}
		s.queues[i] = queue
		owed = owed || len(queue) > 0
	}
	return owed
}

func (s *exact) log(delay int, late time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs[delay].Record(int64(late))
}
