package load

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"lockcost/env/timer"
)

// newPoller makes a poller out of an event counter (eventfd(2)) that the
// runtime watches: the poller waits for it right after it has raised it
// itself. While it waits the scheduler runs what can run, and where nothing
// can, asks the network for what is ready, the counter among it.
func newPoller(c *timer.Clock) (*poller, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	file := os.NewFile(uintptr(fd), "eventfd")
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	return &poller{clock: c, close: file.Close, turn: turning(conn)}, nil
}

func turning(conn syscall.RawConn) func() {
	one := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	raised := false
	raise := func(fd uintptr) bool {
		if raised {
			return true
		}
		raised = true
		// Not before Read was called, which forgets what happened until then.
		_, _ = unix.Write(int(fd), one) // 2^64 turns fill it
		return false
	}
	return func() {
		raised = false
		_ = conn.Read(raise) // fails once the file is closed, when nobody turns any more
	}
}
