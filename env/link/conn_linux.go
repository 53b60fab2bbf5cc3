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
	door       *door
	connecting bool // to the server, or still to be: nothing is read yet
	closed     bool
	ends       [2]end // the client's and the server's
	ways       [2]way // request and reply
}

// end is one side of a connection.
type end struct {
	conn    *conn
	fd      int    // none for a server that is not connected to yet, or cannot be
	watched uint32 // the events that it is watched for
	gone    bool   // it has ended, though not all that it sent has been read
	out, in *way   // what begins here, and what leads here
}

// forward forwards a client's connection to the target, once it is connected
// to that.
func (d *door) forward(client int) {
	c := &conn{relay: d.relay, door: d, connecting: true}
	for i, fd := range []int{client, none} {
		c.ways[i] = way{conn: c, direction: direction(i), from: &c.ends[i], to: &c.ends[1-i], place: none}
		c.ends[i] = end{conn: c, fd: fd, out: &c.ways[i], in: &c.ways[1-i]}
	}
	d.relay.enter(client, &c.ends[0])
	d.conns[c] = struct{}{}
	if atOnce(client) != nil {
		c.close()
		return
	}
	c.dial()
}

// pending is whether the server is still to be connected to.
func (c *conn) pending() bool { return c.connecting && c.ends[1].fd == none }

// dial begins to connect to the server, unless nothing passes to it.
func (c *conn) dial() {
	if c.ways[request].held() {
		c.watch()
		return
	}
	fd, err := connect(c.door.target)
	if err == nil {
		c.ends[1].fd = fd
		c.relay.enter(fd, &c.ends[1])
		err = atOnce(fd)
	}
	if err != nil {
		c.refused()
		return
	}
	c.watch()
}

// connected settles whether the connection to the server has been made.
func (c *conn) connected() {
	switch made, err := connected(c.ends[1].fd); {
	case err != nil:
		c.refused()
	case made:
		c.connecting = false
		c.watch()
	}
}

// refused has the client see the end of a connection that cannot be made, as
// if the server had ended it.
func (c *conn) refused() {
	server := &c.ends[1]
	server.close()
	c.connecting = false
	server.in.lost, server.out.ended = true, true
	now := c.relay.clock.Now()
	server.out.chunks.put(chunk{read: now, due: now, last: true})
	server.out.settle()
}

// ready is part of watcher.
func (e *end) ready(events uint32, at time.Duration) error {
	const broken = unix.EPOLLHUP | unix.EPOLLERR // reading and writing tell
	c := e.conn
	if c.connecting && !c.pending() {
		c.connected()
		return nil
	}
	if e.in.blocked && events&(unix.EPOLLOUT|broken) != 0 {
		e.in.blocked = false
		e.in.settle()
	}
	switch {
	case c.closed:
	case e.watched&unix.EPOLLIN != 0 && events&(unix.EPOLLIN|broken) != 0:
		e.out.read(at)
	case e.watched&unix.EPOLLRDHUP != 0 && hungUp(e.fd):
		e.gone = true
		c.abandon()
		c.watch()
	}
	return nil
}

// isGone is whether nothing more is to be expected of an end than what it has
// sent.
func (e *end) isGone() bool { return e.gone || e.out.ended || e.in.lost }

// abandon closes the connection if both its ends are gone and it would not
// be closed by what is on its way.
func (c *conn) abandon() {
	if c.pending() && c.ends[0].gone {
		c.close()
		return
	}
	for i := range c.ends {
		if w := &c.ways[i]; !c.ends[i].isGone() || !w.held() && (!w.ended || w.chunks.length > 0) {
			return
		}
	}
	c.close()
}

// watch has both ends watched for what there is to do.
func (c *conn) watch() {
	for i := range c.ends {
		e := &c.ends[i]
		events := e.needs()
		if events == e.watched || c.closed || e.fd == none {
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
	switch c := e.conn; {
	case c.pending():
		return unix.EPOLLRDHUP
	case c.connecting && e == &c.ends[1]:
		return unix.EPOLLOUT
	case c.connecting:
		return 0
	}
	switch {
	case e.out.ended:
	case e.out.held() && !e.gone: // what it sends may stay where it is
		events |= unix.EPOLLRDHUP
	case !e.out.held() && !e.out.full:
		events |= unix.EPOLLIN
	}
	if e.in.blocked {
		events |= unix.EPOLLOUT
	}
	return events
}

// unqueue has neither way wait for its time: adapt is to follow.
func (c *conn) unqueue() {
	for i := range c.ways {
		if w := &c.ways[i]; w.place != none {
			heap.Remove(&c.relay.waiting, w.place)
		}
	}
}

// adapt does what the door's new state asks for.
func (c *conn) adapt() {
	if c.pending() {
		c.dial()
	}
	for i := range c.ways {
		c.ways[i].free = 0
		c.ways[i].settle()
	}
	c.abandon()
}

// reset ends both sides as a cut connection ends.
func (c *conn) reset() {
	for i := range c.ends {
		if fd := c.ends[i].fd; fd != none {
			hurry(fd)
		}
	}
	c.close()
}

// close ends both sides at once, with what is on its way between them.
// Closing twice is harmless.
func (c *conn) close() {
	if c.closed {
		return
	}
	c.closed = true
	c.unqueue()
	for i := range c.ends {
		c.ends[i].close()
	}
	delete(c.door.conns, c)
}

func (e *end) close() {
	if e.fd == none {
		return
	}
	e.conn.relay.enter(e.fd, nil)
	_ = unix.Close(e.fd)
	e.fd, e.watched = none, 0
}
