package link

import (
	"container/heap"
	"time"

	"golang.org/x/sys/unix"
)

// conn is a connection that is forwarded: its two ends, and a way in each
// direction. A side that stops sending ends both ways, once what it sent has
// arrived: neither Redis nor MySQL half-closes.
type conn struct {
	relay      *relay
	connecting bool // to the server: nothing is read yet
	closed     bool
	ends       [2]end // the client's and the server's
	ways       [2]way // request and reply
}

// end is one side of a connection.
type end struct {
	conn    *conn
	fd      int
	watched uint32 // the events that it is watched for
	out, in *way   // what begins here, and what leads here
}

// forwardTo forwards a client's connection to a server's, once that is there.
func (r *relay) forwardTo(client, server int) {
	c := &conn{relay: r, connecting: true}
	for i, fd := range []int{client, server} {
		c.ways[i] = way{conn: c, direction: direction(i), from: &c.ends[i], to: &c.ends[1-i], place: none}
		c.ends[i] = end{conn: c, fd: fd, out: &c.ways[i], in: &c.ways[1-i]}
		r.enter(fd, &c.ends[i])
	}
	if atOnce(client) != nil || atOnce(server) != nil {
		c.close()
		return
	}
	c.watch()
}

// ready is part of watcher.
func (e *end) ready(events uint32, at time.Duration) error {
	const broken = unix.EPOLLHUP | unix.EPOLLERR // reading and writing tell
	c := e.conn
	if c.connecting {
		c.connected()
		return nil
	}
	if e.in.blocked && events&(unix.EPOLLOUT|broken) != 0 {
		e.in.blocked = false
		e.in.settle()
	}
	if !c.closed && e.watched&unix.EPOLLIN != 0 && events&(unix.EPOLLIN|broken) != 0 {
		e.out.read(at)
	}
	return nil
}

// connected settles whether the connection to the server has been made.
func (c *conn) connected() {
	switch made, err := connected(c.ends[1].fd); {
	case err != nil:
		c.close()
	case made:
		c.connecting = false
		c.watch()
	}
}

// watch has both ends watched for what there is to do.
func (c *conn) watch() {
	for i := range c.ends {
		e := &c.ends[i]
		events := e.needs()
		if events == e.watched || c.closed {
			continue
		}
		if c.relay.poller.watch(e.fd, e.watched, events) != nil {
			c.close()
			return
		}
		e.watched = events
	}
}

// needs is the events that an end is to be watched for.
func (e *end) needs() (events uint32) {
	if e.conn.connecting {
		if e == &e.conn.ends[1] {
			return unix.EPOLLOUT
		}
		return 0
	}
	if !e.out.ended && !e.out.full {
		events |= unix.EPOLLIN
	}
	if e.in.blocked {
		events |= unix.EPOLLOUT
	}
	return events
}

// close ends both sides at once, with what is on its way between them.
// Closing twice is harmless.
func (c *conn) close() {
	if c.closed {
		return
	}
	c.closed = true
	for i := range c.ends {
		c.relay.enter(c.ends[i].fd, nil)
		_ = unix.Close(c.ends[i].fd)
		if w := &c.ways[i]; w.place != none {
			heap.Remove(&c.relay.waiting, w.place)
		}
	}
}
