package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/workloads/pool"
)

// longestBatch bounds how many callers' commands are sent together.
const longestBatch = 128

// line is one connection that all callers of a locker share, as clients have
// it that multiplex (Lettuce, StackExchange.Redis): what is asked for while
// earlier commands are under way goes together in the next batch, in the
// order of the calls. WAIT blocks its connection, so a caller waits for every
// WAIT before its own.
//
// The library's own AutoPipeline is no such thing for WAIT: it diverts
// commands that block to another connection, where WAIT tells nothing.
//
// What a caller waits in the line is part of its attempt, and in no trace.
//
// A goroutine of its own carries the commands, so that a caller whose context
// ends leaves without breaking the connection for the others. It holds one of
// the client's connections while there is something to carry, and ends then.
type line struct {
	client *Client
	batch  int // at most so many callers' commands

	mu      sync.Mutex
	waiting []*parcel
	carried bool // a goroutine is at it
}

// parcel is one caller's two commands.
type parcel struct{ write, wait *told }

// told is a command that tells when it has its reply, or its error: before
// the batch that it is in has all of them.
type told struct {
	*redis.Cmd
	done    chan struct{}
	settled bool
}

func newTold(cmd *redis.Cmd) *told { return &told{Cmd: cmd, done: make(chan struct{})} }

// SetErr is what the library calls once it has read a reply. It calls it
// again on all of a batch that fails later, also on those with a reply.
func (t *told) SetErr(err error) {
	if t.settled {
		return
	}
	t.settled = true
	t.Cmd.SetErr(err)
	close(t.done)
}

// unanswered gives a command that has no reply the error of its batch. Where
// a connection's greeting is answered with an error, the library leaves the
// commands as they are.
func (t *told) unanswered(err error) {
	if !t.settled {
		t.SetErr(cmp.Or(err, io.ErrUnexpectedEOF))
	}
}

// newLine returns a line whose batches are so short that their read timeout,
// the client's, lasts even if every one of their WAITs does.
func newLine(client *Client, waitTimeout time.Duration) *line {
	fit := int((client.readTimeout - replyMargin) / waitTimeout)
	return &line{client: client, batch: max(1, min(fit, longestBatch))}
}

// exchange sends both commands and waits for their replies, which it puts
// into them. Where ctx ends before, the write has leave's error.
func (l *line) exchange(ctx context.Context, write, wait *redis.Cmd) {
	// The caller's own commands are not what is sent: it may leave, and the
	// reply then comes to nobody.
	p := &parcel{
		write: newTold(redis.NewCmd(ctx, write.Args()...)),
		wait:  newTold(redis.NewCmd(ctx, wait.Args()...)),
	}
	l.put(p)
	select {
	case <-p.wait.done:
	case <-ctx.Done():
		write.SetErr(l.leave(ctx, p))
		return
	}
	copyReply(write, p.write.Cmd)
	copyReply(wait, p.wait.Cmd)
}

func copyReply(to, from *redis.Cmd) {
	to.SetVal(from.Val())
	to.SetErr(from.Err())
}

// leave is the error of a caller whose context has ended: a pool.ErrTimeout
// if nothing was sent, else that of a lost reply. Then the reply is waited
// for a while longer, at most the ResolveTimeout: what stands in the line is
// executed when it is its turn, and could not be undone before.
func (l *line) leave(ctx context.Context, p *parcel) error {
	cause := context.Cause(ctx)
	if l.takeBack(p) {
		return fmt.Errorf("%w (the shared one was busy): %w", pool.ErrTimeout, cause)
	}
	within, cancel := l.client.later(ctx)
	defer cancel()
	select {
	case <-p.wait.done:
		return cause
	case <-within.Done():
		return after(cause, errors.New("the shared connection did not come to it, so a lock that it writes stays until its TTL"))
	}
}

// put adds p to the line, and sees that somebody carries it.
func (l *line) put(p *parcel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, p)
	if !l.carried {
		l.carried = true
		go l.carry()
	}
}

// takeBack takes p out of the line, if it has not been sent.
func (l *line) takeBack(p *parcel) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, p)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// carry sends what is in the line, batch by batch, until there is nothing.
func (l *line) carry() {
	// It only fails where the context ends, and this one does not: those who
	// hold the connections are bounded, and callers take back what waits.
	_ = l.client.gate.Enter(context.Background())
	defer l.client.leave()
	conn := l.client.redis.Conn()
	for batch := l.next(); batch != nil; batch = l.next() {
		if err := send(conn, batch); err != nil {
			conn.Close() // which makes the library drop the broken connection
			conn = l.client.redis.Conn()
		}
	}
	conn.Close()
}

// next takes a batch from the line; nil if there is none, and then put has to
// see to the next.
func (l *line) next() []*parcel {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), l.batch)
	if n == 0 {
		l.carried = false
		return nil
	}
	batch := slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	return batch
}

// send sends a batch and reads its replies. Its error is one of the
// connection; those of the commands are in them.
func send(conn *redis.Conn, batch []*parcel) error {
	ctx := context.Background() // no caller's: the client's timeouts bound it
	pipe := conn.Pipeline()
	for _, p := range batch {
		// Queueing does not fail.
		_ = pipe.BatchProcess(ctx, p.write, p.wait)
	}
	_, err := pipe.Exec(ctx)
	for _, p := range batch { // nobody is left without an answer
		p.write.unanswered(err)
		p.wait.unanswered(err)
	}
	if err := batch[len(batch)-1].wait.Err(); err != nil && !replied(err) {
		return err
	}
	return nil
}
