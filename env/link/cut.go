package link

import "slices"

// direction is the way a chunk travels.
type direction int

const (
	request direction = iota // from the client to the server
	reply                    // from the server to the client
)

// cut is a fault that waits for its chunk.
type cut struct {
	direction direction
	remaining int // chunks until it happens; the last of them is the lost one
	happened  chan struct{}
}

// CutReply loses the n-th reply from now, counted over all connections, and
// cuts the connection it was for, on both sides. Its command was sent and
// executed; only the answer is gone. The channel is closed once that has
// happened. n below 1 counts as 1.
//
// A reply is what one read from the server returns: with one short command
// at a time that is one reply. Replies that the server writes together, such
// as those of a pipeline, are one, and on a busy machine so are those that it
// writes shortly after each other. Where fewer replies came than n, the cut
// still waits: Mend forgets it.
func (l *Link) CutReply(n int) <-chan struct{} { return l.arm(reply, n) }

// CutRequest loses the n-th request from now, like CutReply, before it
// reaches the server: the command was never executed, and its sender cannot
// tell the difference.
func (l *Link) CutRequest(n int) <-chan struct{} { return l.arm(request, n) }

// Mend forgets the cuts that have not happened. Their channels stay open.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cuts = nil
}

func (l *Link) arm(d direction, n int) <-chan struct{} {
	c := &cut{direction: d, remaining: max(n, 1), happened: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cuts = append(l.cuts, c)
	return c.happened
}

// count counts a chunk against every waiting cut of its direction. If one is
// due it is disarmed, and the channel that tells of it is returned. Of two
// that are due at once, the later waits for the next chunk.
func (l *Link) count(d direction) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	var happened chan struct{}
	l.cuts = slices.DeleteFunc(l.cuts, func(c *cut) bool {
		if c.direction != d {
			return false
		}
		c.remaining--
		if c.remaining > 0 || happened != nil {
			return false
		}
		happened = c.happened
		return true
	})
	return happened
}
