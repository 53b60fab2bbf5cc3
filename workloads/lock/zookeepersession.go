package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// zooKeeperSession is one session, and the library's connection for it.
//
// The library goes on by itself: cut off, it connects to another server and
// takes its session along; told that the session has expired, it opens the
// next one on the same zk.Conn. But it never says that the session must have
// expired by now, as Curator does (LOST, after SUSPENDED for the session's
// timeout): it learns it once it can connect again. So here the session ends
// by our own clock too, and a zk.Conn is closed when its session has ended,
// so that a request can never reach another session than it was meant for.
type zooKeeperSession struct {
	*session
	conn   *zk.Conn
	closed chan struct{} // when conn is

	link      sync.Mutex    // guards what follows
	connected chan struct{} // closed while there is a connection
	failure   error         // why there is none
}

// openSession opens a session, within the DialTimeout.
func (c *ZooKeeperClient) openSession(ctx context.Context) (*zooKeeperSession, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	s := &zooKeeperSession{
		// Until it is there, there is nothing that could end.
		session:   newSession(time.Now(), c.config.DialTimeout+c.config.SessionTimeout),
		closed:    make(chan struct{}),
		connected: make(chan struct{}),
	}
	servers := newZooKeeperServers(s, c.config)
	conn, _, err := zk.Connect(c.config.Servers, c.config.SessionTimeout,
		zk.WithLogger(quiet{}), zk.WithLogInfo(false),
		zk.WithHostProvider(servers), zk.WithDialer(servers.dial), zk.WithEventCallback(s.notice))
	if err != nil {
		return nil, fmt.Errorf("ZooKeeper at %s: %w", c.name, err)
	}
	s.conn = conn
	go s.attend()
	if err := s.greet(ctx, c.config); err != nil {
		s.lose(ErrClosed)
		return nil, fmt.Errorf("cannot use ZooKeeper at %s: %w", c.name, zooKeeperFailure(err))
	}
	go s.confirm(c.config.SessionTimeout / 6)
	return s, nil
}

// quiet drops what the library logs: its errors say the same.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// greet waits for the session and logs in.
func (s *zooKeeperSession) greet(ctx context.Context, config ZooKeeperConfig) error {
	if err := s.connection(ctx); err != nil {
		return err
	}
	if config.AuthScheme == "" {
		return nil
	}
	_, err := await(ctx, s, func() (struct{}, error) {
		return struct{}{}, s.conn.AddAuth(config.AuthScheme, []byte(config.Auth))
	}, nil)
	if err != nil {
		return fmt.Errorf("logging in by %s: %w", config.AuthScheme, err)
	}
	return nil
}

// notice is called by the library, which waits for it, for everything that
// happens.
func (s *zooKeeperSession) notice(event zk.Event) {
	if event.Type != zk.EventSession {
		return
	}
	s.link.Lock()
	defer s.link.Unlock()
	switch event.State {
	case zk.StateHasSession:
		if !isClosed(s.connected) {
			close(s.connected)
		}
	case zk.StateExpired:
		s.lose(errors.New("ZooKeeper says that the session has expired"))
	default:
		if isClosed(s.connected) {
			s.connected = make(chan struct{})
		}
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// connection waits until there is a connection. The library would keep
// requests for one, and send them when there is, long after whoever made them
// has given up.
func (s *zooKeeperSession) connection(ctx context.Context) error {
	s.link.Lock()
	connected := s.connected
	s.link.Unlock()
	select {
	case <-connected:
		return nil
	default:
	}
	select {
	case <-connected:
		return nil
	case <-s.Alive().Done():
		return zk.ErrSessionExpired
	case <-ctx.Done():
		s.link.Lock()
		defer s.link.Unlock()
		return &notConnected{end: context.Cause(ctx), failure: s.failure}
	}
}

// notConnected: there was no connection until a context ended, so nothing was
// sent.
type notConnected struct{ end, failure error }

func (e *notConnected) Error() string {
	if e.failure == nil {
		return "no connection: " + e.end.Error()
	}
	return fmt.Sprintf("no connection: %v (%v)", e.end, e.failure)
}
func (e *notConnected) Unwrap() error { return e.end }

// failed remembers why there is no connection.
func (s *zooKeeperSession) failed(err error) {
	s.link.Lock()
	defer s.link.Unlock()
	s.failure = err
}

// attend closes the connection when the session has ended, which also tells
// the servers to give it up, if there is one.
func (s *zooKeeperSession) attend() {
	<-s.Alive().Done()
	s.conn.Close()
	close(s.closed)
}

// confirm has a majority confirm the session again and again. The library's
// pings do not: a server answers them by itself, also one that is cut off from
// the leader, which is about to expire the session; and a leader that has lost
// its majority answers a sync for some ticks, while the others elect the next.
// A write is answered once a majority has it, also one that fails, as this
// one does: there is nothing to delete. What is left is half a tick, which
// the leader may hear of a client later than its server, and it rounds up the
// timeout to the next tick.
func (s *zooKeeperSession) confirm(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		asked, err := await(s.Alive(), s, func() (time.Time, error) {
			asked := time.Now()
			return asked, s.conn.Delete("/lockcost%nothing", -1)
		}, nil)
		switch {
		case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNoAuth):
			s.confirmed(asked)
		case errors.Is(err, zk.ErrSessionExpired):
			s.lose(errors.New("ZooKeeper says that the session has expired"))
		}
		select {
		case <-s.Alive().Done():
			return
		case <-ticker.C:
		}
	}
}

// await calls f, which takes no context, and returns when ctx ends all the
// same. What f then returns later goes to late, if that is not nil: exactly
// one of the two gets it.
func await[T any](ctx context.Context, s *zooKeeperSession, f func() (T, error), late func(T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	var none T
	if err := s.connection(ctx); err != nil {
		return none, err
	}
	done := make(chan outcome)
	go func() {
		value, err := f()
		select {
		case done <- outcome{value, err}:
		case <-ctx.Done():
			if late != nil {
				late(value, err)
			}
		}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}
