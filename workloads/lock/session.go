package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// session is what locks in etcd and ZooKeeper live and die with: the service
// gives up all of a client's locks once it has not heard of it for the ttl.
//
// It ends when the service says so, and by our own clock, since a service
// that cannot be reached cannot say anything: once the ttl has passed since
// the sending of the last request that was answered. The service began to
// count later than that, so ours ends first.
type session struct {
	ctx context.Context // ends with the session, with a cause that is ErrLost
	end context.CancelCauseFunc

	mu    sync.Mutex
	ttl   time.Duration
	since time.Time // the last confirmed request was sent
	timer *time.Timer
}

// newSession returns a session that was confirmed by the answer to a request
// sent at since.
func newSession(since time.Time, ttl time.Duration) *session {
	s := &session{ttl: ttl, since: since}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	s.timer = time.AfterFunc(time.Until(since.Add(ttl)), s.look)
	return s
}

// confirmed says that the service had the session when it answered a request
// sent at since.
func (s *session) confirmed(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since.After(s.since) {
		s.since = since
	}
}

// lasts says that the service gives the session a ttl other than before.
func (s *session) lasts(ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ttl = ttl
	s.timer.Reset(time.Until(s.since.Add(ttl)))
}

// look ends the session if its time is over, else it looks again then.
func (s *session) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := time.Until(s.since.Add(s.ttl)); left > 0 {
		s.timer.Reset(left)
		return
	}
	s.end(lostBecause(fmt.Errorf("nothing confirmed its session for %v, after which the service gives it up", s.ttl)))
}

// lose ends the session for a reason that the service gave.
func (s *session) lose(why error) {
	s.timer.Stop()
	s.end(lostBecause(why))
}

func lostBecause(why error) error { return fmt.Errorf("%w: %w", ErrLost, why) }

// Alive ends with the session.
func (s *session) Alive() context.Context { return s.ctx }

// over tells whether the session has ended. It looks at the clock itself: in
// a process that was stopped and goes on, the timer may not have fired yet.
func (s *session) over() bool {
	if s.ctx.Err() == nil {
		s.look()
	}
	return s.ctx.Err() != nil
}

// ended is the error of an attempt whose session ended before it was granted:
// it lost nothing, so it is no ErrLost.
func (s *session) ended() error {
	return &serviceError{kindSessionLost, fmt.Errorf("session ended during the attempt: %v", context.Cause(s.ctx))}
}

// mortal is a session of either service.
type mortal interface {
	Alive() context.Context
	over() bool
}

// keeper has one session at a time, and replaces it when it has ended, behind
// the back of those who lock: an attempt waits for it only if it comes while
// there is none.
type keeper[S mortal] struct {
	open func(context.Context) (S, error)

	mu      sync.Mutex
	current S
	failure error         // why the last opening failed
	changed chan struct{} // closed when current has been replaced
	done    chan struct{} // closed when the keeper has stopped
}

// Pauses of a keeper between two failures to open a session.
const (
	firstReopenPause   = 20 * time.Millisecond
	longestReopenPause = time.Second
)

// keep keeps first, and then what open returns, until ctx ends.
func keep[S mortal](ctx context.Context, first S, open func(context.Context) (S, error)) *keeper[S] {
	k := &keeper[S]{open: open, current: first, changed: make(chan struct{}), done: make(chan struct{})}
	go k.run(ctx)
	return k
}

func (k *keeper[S]) run(ctx context.Context) {
	defer close(k.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.current.Alive().Done(): // which only this goroutine replaces
		}
		for pause := firstReopenPause; !k.replace(ctx); pause = min(2*pause, longestReopenPause) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	}
}

// replace tells whether it could open a session.
func (k *keeper[S]) replace(ctx context.Context) bool {
	next, err := k.open(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failure = err; err != nil {
		return false
	}
	k.current = next
	close(k.changed)
	k.changed = make(chan struct{})
	return true
}

// get returns the session, and waits for one, for at most timeout, where it
// is just being replaced.
func (k *keeper[S]) get(ctx context.Context, timeout time.Duration) (S, error) {
	current, changed, _ := k.state()
	if !current.over() {
		return current, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		select {
		case <-changed:
		case <-k.done:
			return current, ErrClosed
		case <-ctx.Done():
			_, _, failure := k.state()
			return current, noSession(ctx, failure)
		}
		if current, changed, _ = k.state(); !current.over() {
			return current, nil
		}
	}
}

func (k *keeper[S]) state() (current S, changed <-chan struct{}, failure error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current, k.changed, k.failure
}

// noSession is the error of an attempt that came while there was no session,
// and did not get to see the next.
func noSession(ctx context.Context, failure error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Cause(ctx)
	}
	why := "its session ended, and no other could be opened yet"
	if failure == nil {
		return &serviceError{kindSessionLost, fmt.Errorf("%s: %w", why, ctx.Err())}
	}
	return &serviceError{kindSessionLost, fmt.Errorf("%s: %w", why, failure)}
}

// kindSessionLost is what attempts are counted as whose session was not there,
// or ended under them.
const kindSessionLost = "session-lost"

// serviceError is a failure with the kind that it is counted as.
type serviceError struct {
	kind string
	err  error
}

func (e *serviceError) Error() string { return e.err.Error() }
func (e *serviceError) Unwrap() error { return e.err }
