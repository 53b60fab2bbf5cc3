// Package link is a TCP link between a client and a server: it holds back
// what passes through it, as a distance does, and can be cut at a chosen
// message. It knows bytes only.
//
// A Link runs in this process. Start runs links in a process of their own,
// away from this one's CPUs, measures how long a round trip through them
// takes, and sets them to a round trip that is asked for.
//
// A fault that tests and experiments need, and that no server offers, is the
// lost reply: a command was sent and executed, and its sender never learns
// of it. A Link in front of a server makes exactly that happen.
package link

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"lockcost/env/timer"
)

// dialTimeout bounds how long a client's connection waits for the server's.
const dialTimeout = 5 * time.Second

// Link forwards connections to one server.
type Link struct {
	listener net.Listener
	target   string
	clock    *timer.Clock
	given    *given
	running  sync.WaitGroup // the accept loop, and one a connection

	mu     sync.Mutex
	closed bool
	pairs  map[*pair]struct{}
	delay  delay
	cuts   []*cut
}

// New listens on a free loopback port and forwards each connection made to
// it to target, a host:port, at once. The server is dialled when a client
// comes, not before; where that fails, the client's connection is closed.
func New(target string) (*Link, error) { return newLink(target, new(given)) }

func newLink(target string, g *given) (*Link, error) {
	if _, _, err := net.SplitHostPort(target); err != nil {
		return nil, fmt.Errorf("link to %q: %w", target, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("link to %s: %w", target, err)
	}
	l := &Link{
		listener: listener, target: target, clock: timer.NewClock(), given: g,
		pairs: make(map[*pair]struct{}),
	}
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
// sending ends both directions, once what it sent has arrived: neither Redis
// nor MySQL half-closes. The connection itself is made without delay.
func (l *Link) serve(client net.Conn) {
	// Go sets TCP_NODELAY on what it dials and accepts: nothing here waits
	// for more bytes.
	server, err := net.DialTimeout("tcp", l.target, dialTimeout)
	if err != nil {
		client.Close()
		return
	}
	p := l.newPair(client, server)
	if !l.add(p) {
		return
	}
	defer l.remove(p)
	var running sync.WaitGroup
	for _, w := range p {
		running.Go(w.read)
		running.Go(w.write)
	}
	running.Wait()
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
