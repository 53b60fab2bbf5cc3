package link

import (
	"fmt"
	"time"
)

// State is what one link of a Process does to what passes. The zero State
// passes all on at once, or after the delay that SetDelay has set for all.
type State struct {
	// Delay is how long each chunk is held back, in both directions, besides
	// SetDelay's. Chunks on their way take on another at once.
	Delay time.Duration
	// HoldRequests and HoldReplies are black holes, to the target and from
	// it. What is sent into one stays where it is, on its way or in the
	// buffers of the sockets; a sender can fill those and then waits. When
	// the hole is closed it is passed on, also where its sender is gone by
	// then, and only after it the end of the connection, which until then
	// the other side does not see. Where both sides are gone there is nobody
	// to pass it to, and the connection is forgotten.
	//
	// New connections are accepted. With HoldRequests the target is connected
	// to when the hole is closed, if the client is still there.
	HoldRequests, HoldReplies bool
	// Cut resets every connection (RST), on both sides and with what is on
	// its way, and those that are made meanwhile. It goes before all else.
	Cut bool
	// BytesPerS is the most that passes in each direction of a connection,
	// in pieces of 10 ms; 0 for no bound.
	BytesPerS int64
}

// pieceTime is how much of what a bound lets pass goes at once.
const pieceTime = 10 * time.Millisecond

// check tells what no link can be.
func (s State) check() error {
	if s.Delay < 0 || s.BytesPerS < 0 {
		return fmt.Errorf("a link with a delay of %v and %d bytes a second: neither can be below 0", s.Delay, s.BytesPerS)
	}
	return nil
}

// holds tells whether nothing passes in a direction.
func (s State) holds(d direction) bool {
	if d == request {
		return s.HoldRequests
	}
	return s.HoldReplies
}

// piece is how many of n bytes may pass at once.
func (s State) piece(n int) int {
	if s.BytesPerS == 0 {
		return n
	}
	most := s.BytesPerS / int64(time.Second/pieceTime)
	return int(min(int64(n), max(most, 1)))
}

// takes is how long n bytes take.
func (s State) takes(n int) time.Duration {
	if s.BytesPerS == 0 {
		return 0
	}
	return time.Duration(float64(n) / float64(s.BytesPerS) * float64(time.Second))
}
