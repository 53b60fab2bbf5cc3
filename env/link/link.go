// Package link holds what stands between a client and a server: it knows
// bytes only.
//
// A Link, in this process, can be cut at a chosen message. A fault that tests
// and experiments need, and that no server offers, is the lost reply: a
// command was sent and executed, and its sender never learns of it. A Link in
// front of a server makes exactly that happen.
//
// A Process relays connections from a process of its own, away from this
// one's CPUs, and holds back what passes, as a distance does. It measures how
// long a round trip through it takes, and is set to one that is asked for.
// Each of its links can also be broken by itself, as a network is: State.
package link

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// dialTimeout bounds how long a client's connection waits for the server's.
const dialTimeout = 5 * time.Second

// bufferBytes is the size of the largest chunk that is forwarded at once.
const bufferBytes = 32 << 10

// Link forwards connections to one server.
type Link struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup // the accept loop, and one a connection and direction

	mu     sync.Mutex
	closed bool
	pairs  map[*pair]struct{}
	cuts   []*cut
}

// New listens on a free loopback port and forwards each connection made to
// it to target, a host:port. The server is dialled when a client comes, not
// before; where that fails, the client's connection is closed.
func New(target string) (*Link, error) {
	if _, _, err := net.SplitHostPort(target); err != nil {
		return nil, fmt.Errorf("link to %q: %w", target, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("link to %s: %w", target, err)
	}
	l := &Link{listener: listener, target: target, pairs: make(map[*pair]struct{})}
	l.running.Go(l.accept)
	return l, nil
}

// Addr is the host:port that clients connect to.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Close cuts every connection, stops listening and returns when nothing of
// the link runs any more. It is safe to call more than once.
func (l *Link) Close() error {
	l.mu.Lock()
	l.closed = true
	for p := range l.pairs {
		p.close()
	}
	l.mu.Unlock()
	err := l.listener.Close()
	l.running.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("closing the link to %s: %w", l.target, err)
	}
	return nil
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // closed: a loopback listener has no passing errors worth a retry
		}
		l.running.Go(func() { l.serve(client) })
	}
}

// serve forwards one connection until either side ends it. A side that stops
// sending ends both directions: neither Redis nor MySQL half-closes.
func (l *Link) serve(client net.Conn) {
	server, err := net.DialTimeout("tcp", l.target, dialTimeout)
	if err != nil {
		client.Close()
		return
	}
	p := &pair{client: client, server: server}
	if !l.add(p) {
		return
	}
	defer l.remove(p)
	var requests sync.WaitGroup
	requests.Go(func() { l.forward(p, request, client, server) })
	l.forward(p, reply, server, client)
	requests.Wait()
}

// forward copies chunks one way, unless one of them is to be cut.
func (l *Link) forward(p *pair, d direction, from, to net.Conn) {
	defer p.close()
	buffer := make([]byte, bufferBytes)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if happened := l.count(d); happened != nil {
				close(happened) // first, so that whoever sees the cut sees this
				p.close()
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *Link) add(p *pair) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		p.close()
		return false
	}
	l.pairs[p] = struct{}{}
	return true
}

func (l *Link) remove(p *pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pairs, p)
}

// pair is the two ends of one forwarded connection.
type pair struct {
	client, server net.Conn
}

// close ends both sides. Closing twice is harmless.
func (p *pair) close() {
	p.client.Close()
	p.server.Close()
}
