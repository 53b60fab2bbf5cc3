package lock

import (
	"context"
	"sync"
	"time"
)

// sweeper undoes what attempts may have written whose outcome is not known.
// What they wrote lives as long as their session does, which may be for as
// long as this process runs, so it goes on until it has succeeded or their
// session is over. One at a time, and many together: in an outage there are
// thousands of them.
type sweeper[T interface{ over() bool }] struct {
	// undo undoes some, at most batch at a time, and returns an error for
	// each: where it is not nil, that one is tried again.
	undo  func(ctx context.Context, some []T) []error
	batch int

	mu      sync.Mutex
	waiting []sweep[T]
	wake    chan struct{} // of capacity 1
	done    chan struct{}
}

type sweep[T any] struct {
	item   T
	undone chan struct{} // closed when nothing is left of it
}

// Pauses of a sweeper between two failures.
const (
	firstSweepPause   = 5 * time.Millisecond
	longestSweepPause = 250 * time.Millisecond
)

// startSweeper returns a sweeper that works until ctx ends.
func startSweeper[T interface{ over() bool }](ctx context.Context, batch int, undo func(context.Context, []T) []error) *sweeper[T] {
	s := &sweeper[T]{undo: undo, batch: batch, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run(ctx)
	return s
}

// add has item undone; the channel is closed when it is.
func (s *sweeper[T]) add(item T) <-chan struct{} {
	undone := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, sweep[T]{item, undone})
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return undone
}

func (s *sweeper[T]) run(ctx context.Context) {
	defer close(s.done)
	pause := firstSweepPause
	for {
		some := s.take()
		if len(some) == 0 {
			select {
			case <-ctx.Done():
				return
			case <-s.wake:
			}
			continue
		}
		items := make([]T, len(some))
		for i := range some {
			items[i] = some[i].item
		}
		var left []sweep[T]
		for i, err := range s.undo(ctx, items) {
			if err == nil {
				close(some[i].undone)
			} else {
				left = append(left, some[i])
			}
		}
		if len(left) < len(some) {
			pause = firstSweepPause
		}
		if s.putBack(left); len(left) == 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, longestSweepPause)
	}
}

// take removes up to a batch from those that wait. Those whose session is over
// have been undone by that.
func (s *sweeper[T]) take() []sweep[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var some []sweep[T]
	for len(s.waiting) > 0 && len(some) < s.batch {
		one := s.waiting[0]
		s.waiting = s.waiting[1:]
		if one.item.over() {
			close(one.undone)
			continue
		}
		some = append(some, one)
	}
	return some
}

// putBack has some wait behind the others, so that one that fails does not
// keep them from being undone.
func (s *sweeper[T]) putBack(some []sweep[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, some...)
}
