package link

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Both ways to wait do the same: epoll_pwait2, and a timerfd where it is
// missing.
func TestPollerWaitsForEventsAndForTimes(t *testing.T) {
	for name, timed := range map[string]bool{"epoll_pwait2": false, "timerfd": true} {
		t.Run(name, func(t *testing.T) {
			p, err := openPoller()
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			if timed {
				if err := p.addTimer(); err != nil {
					t.Fatal(err)
				}
			} else if _, errno := p.waitFine(0, true); errno == unix.ENOSYS || errno == unix.EPERM {
				t.Skip(errno)
			}
			event, err := unix.Eventfd(0, unix.EFD_NONBLOCK)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(event)
			if err := p.watch(event, 0, unix.EPOLLIN); err != nil {
				t.Fatal(err)
			}
			for range 3 { // a timer that has fired fires again, and not before its time
				const timeout = 20 * time.Millisecond
				began := time.Now()
				for seen := false; time.Since(began) < timeout; {
					events, err := p.wait(timeout - time.Since(began))
					for _, e := range events {
						seen = seen || int(e.Fd) == event
					}
					if err != nil || seen {
						t.Fatalf("before its time: %v, %v", events, err)
					}
				}
			}
			if _, err := unix.Write(event, []byte{7: 1}); err != nil {
				t.Fatal(err)
			}
			for seen := false; !seen; { // without an end the test would have none
				events, err := p.wait(none)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					seen = seen || int(e.Fd) == event
				}
			}
		})
	}
}
