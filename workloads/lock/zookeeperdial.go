package lock

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// zooKeeperServers gives the library the servers one after another, as they
// were given, and dials them.
//
// The library by itself looks names up once, waits a whole second after each
// round, in which a server that is back is not found, and gives a server that
// accepts a connection but does not greet seven times the session's timeout.
type zooKeeperServers struct {
	session *zooKeeperSession
	servers []string
	timeout time.Duration // the session's
	dials   time.Duration

	mu    sync.Mutex
	next  int
	tried int           // since there was a connection
	pause time.Duration // after the round
}

// Pauses between two rounds of all the servers.
const (
	firstRoundPause   = 20 * time.Millisecond
	longestRoundPause = 500 * time.Millisecond
)

func newZooKeeperServers(s *zooKeeperSession, config ZooKeeperConfig) *zooKeeperServers {
	return &zooKeeperServers{
		session: s,
		servers: config.Servers,
		timeout: config.SessionTimeout,
		dials:   config.DialTimeout,
		next:    rand.N(len(config.Servers)),
		pause:   firstRoundPause,
	}
}

// Init is given what we know.
func (h *zooKeeperServers) Init([]string) error { return nil }

// Len is the number of servers.
func (h *zooKeeperServers) Len() int { return len(h.servers) }

// Next returns the next server. The second result has the library fail what
// it has not sent, and look whether it was closed, which it does nowhere
// else while it cannot connect.
func (h *zooKeeperServers) Next() (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	server := h.servers[h.next%len(h.servers)]
	h.next++
	return server, h.session.over()
}

// Connected is called when there is a session.
func (h *zooKeeperServers) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried, h.pause = 0, firstRoundPause
}

// rest is how long to wait before the next server is dialled.
func (h *zooKeeperServers) rest() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried++
	if h.tried <= len(h.servers) {
		return 0
	}
	pause := h.pause
	h.tried, h.pause = 1, min(2*h.pause, longestRoundPause)
	return pause
}

// dial opens a connection.
func (h *zooKeeperServers) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	select {
	case <-time.After(h.rest()):
	case <-h.session.Alive().Done():
		return nil, ErrClosed
	}
	conn, err := net.DialTimeout(network, address, min(timeout, h.dials))
	if err != nil {
		h.session.failed(err)
		return nil, err
	}
	return &zooKeeperConn{Conn: conn, servers: h, session: h.session, silence: h.silence()}, nil
}

// silence is how long a server may be silent before the next one is tried:
// before it has greeted, as long as leaves time for the others, and later
// half the session's timeout. The library would allow ten times, and once,
// two thirds of it; pings go out each third.
func (h *zooKeeperServers) silence() (s struct{ greeting, later time.Duration }) {
	s.greeting = max(h.timeout/time.Duration(len(h.servers)), 100*time.Millisecond)
	s.later = h.timeout / 2
	return s
}

// zooKeeperConn is a connection that looks at the server's greeting, which is
// the first thing that it sends: the length, the protocol's version, the
// session's timeout in ms, and its id, which is 0 where it has expired. The
// library knows that timeout and does not tell.
type zooKeeperConn struct {
	net.Conn
	servers *zooKeeperServers
	session *zooKeeperSession
	silence struct{ greeting, later time.Duration }

	asked    time.Time // the request for a session was sent; by the only writer
	greeting []byte    // what has come of it; by the only reader, who waits for it before all else
}

const greetingBytes = 4 + 4 + 4 + 8

// Write notes when the session was asked for.
func (c *zooKeeperConn) Write(b []byte) (int, error) {
	if c.asked.IsZero() {
		c.asked = time.Now()
	}
	return c.Conn.Write(b)
}

// Read looks at the greeting as it passes.
func (c *zooKeeperConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if missing := greetingBytes - len(c.greeting); missing > 0 {
		c.greeting = append(c.greeting, b[:min(n, missing)]...)
		if len(c.greeting) == greetingBytes {
			c.greeted()
		}
		if err != nil {
			c.session.failed(err)
		}
	}
	return n, err
}

func (c *zooKeeperConn) greeted() {
	timeout := time.Duration(binary.BigEndian.Uint32(c.greeting[8:])) * time.Millisecond
	if binary.BigEndian.Uint64(c.greeting[12:]) == 0 {
		return
	}
	c.session.confirmed(c.asked)
	c.session.lasts(timeout)
	c.silence.later = timeout / 2
}

// SetReadDeadline allows less than the library would.
func (c *zooKeeperConn) SetReadDeadline(t time.Time) error {
	silence := c.silence.later
	if len(c.greeting) < greetingBytes {
		silence = c.silence.greeting
	}
	if latest := time.Now().Add(silence); t.After(latest) {
		t = latest
	}
	return c.Conn.SetReadDeadline(t)
}
