package link

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// door is where the clients of a target connect to.
type door struct {
	relay  *relay
	fd     int
	name   string
	target unix.Sockaddr
	state  State
	conns  map[*conn]struct{} // those that are open
}

// ready is part of watcher.
func (d *door) ready(uint32, time.Duration) error {
	_, err := d.accept()
	return err
}

// accept takes in one connection, if there is one.
func (d *door) accept() (bool, error) {
	client, _, err := unix.Accept4(d.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("accepting a connection to %s: %w (is the limit on open files too low?)", d.name, err)
	}
	if d.state.Cut {
		reset(client)
		return true, nil
	}
	d.forward(client)
	return true, nil
}

// SetState is Process.SetState.
func (r *relay) SetState(target int, s State) error {
	if target < 0 || target >= len(r.addrs) {
		return fmt.Errorf("there is no link %d: they are 0 to %d", target, len(r.addrs)-1)
	}
	if err := s.check(); err != nil {
		return err
	}
	var failed error
	err := r.do(func() { failed = r.doors[target].set(s) })
	return errors.Join(err, failed)
}

// set puts the door into a state. It is the loop's to call.
func (d *door) set(s State) error {
	for d.state.Cut && !s.Cut { // for those that were made meanwhile
		if some, err := d.accept(); !some || err != nil {
			if err != nil {
				return err
			}
			break
		}
	}
	for c := range d.conns { // before what they are ordered by changes
		c.unqueue()
	}
	d.state = s
	for c := range d.conns {
		if s.Cut {
			c.reset()
		} else {
			c.adapt()
		}
	}
	return nil
}
