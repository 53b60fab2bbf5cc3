package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockcost/workloads/pool"
)

// What confirm, and confirmAndMint, reply; above 0 the lock is ours.
const (
	absent   = 0  // nobody has the lock
	anothers = -1 // another has it
)

// confirm finds out whose a lock is and, if it is ours, gives it its full TTL
// again. Being a write, it is also what a WAIT after it waits for.
var confirm = newScript(`
local owner = redis.call('GET', KEYS[1])
if not owner then return 0 end
if owner ~= ARGV[1] then return -1 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)

// attempt is a try at a lock that ended in an error, which may hide that the
// lock was written.
type attempt struct {
	client     *Client
	key, owner string
	// partial: the server may have written the lock even though it replied
	// with an error, as a script does that fails half way.
	partial bool
	// confirm asks whose the lock is, and makes sure of it if it is ours. It
	// is called again where its own reply is lost.
	confirm func(ctx context.Context) (int64, error)
	// takes is how long confirm may take on the server.
	takes time.Duration
}

// settle finds out what became of an attempt that failed with cause.
//
//   - Nothing can have been written, as after a refusal: cause.
//   - The reply was lost: confirm is asked, for at most the ResolveTimeout.
//     Ours: its answer, the lock is granted. Absent: cause. Another's:
//     ErrHeld. No answer: cause and the reason, and a lock that was written
//     stays until its TTL, held by nobody.
//   - ctx is over, before or after asking, or confirm refused, or the server
//     failed half way: our write, if any, is undone: cause. That takes at
//     most another ResolveTimeout, whatever becomes of ctx. A caller that
//     gave up may not look at a grant.
//
// A request that is still on its way when the question is answered can
// reach the server afterwards, and writes a lock that nobody holds until its
// TTL. It costs availability, not safety: it is not granted to anyone.
func (a attempt) settle(ctx context.Context, cause error) (int64, error) {
	if lost(cause) && !over(ctx) {
		answer, err := a.ask(ctx)
		switch {
		case err == nil && answer == absent:
			return 0, cause
		case err == nil && answer == anothers:
			return 0, ErrHeld
		case err == nil && !over(ctx):
			return answer, nil
		case err != nil && lost(err) && !over(ctx):
			return 0, after(cause, fmt.Errorf("whether %s was locked could not be learned: %w", a.key, err))
		case err != nil:
			cause = after(cause, err)
		}
		return 0, a.client.undo(ctx, a.key, a.owner, cause)
	}
	if lost(cause) || a.partial && replied(cause) && refusals[replyCode(cause)] == "" {
		return 0, a.client.undo(ctx, a.key, a.owner, cause)
	}
	return 0, cause
}

func (a attempt) ask(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, a.client.resolveTimeout+a.takes)
	defer cancel()
	return insist(ctx, a.confirm)
}

// over tells whether ctx is over by the clock. A connection's deadline is
// ctx's, and can fire before ctx's own timer does.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// undo deletes our own write and returns cause, joined with the reason if
// that failed: then the key stays until its TTL, and nobody holds it.
func (c *Client) undo(ctx context.Context, key, owner string, cause error) error {
	if err := c.deleteInTime(ctx, key, owner); err != nil {
		return after(cause, fmt.Errorf("%s could not be undone and stays until its TTL: %w", key, err))
	}
	return cause
}

// deleteInTime deletes a key if it is still its owner's, and insists, within
// the ResolveTimeout.
func (c *Client) deleteInTime(ctx context.Context, key, owner string) error {
	ctx, cancel := c.later(ctx)
	defer cancel()
	_, err := insist(ctx, func(ctx context.Context) (int64, error) {
		return c.deleteIfOwner(ctx, key, owner)
	})
	return err
}

// later is a context for what is left to do after ctx: it does not end with
// ctx, but after the ResolveTimeout.
func (c *Client) later(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), c.resolveTimeout)
}

// insist asks until there is a reply or ctx is over.
func insist(ctx context.Context, ask func(context.Context) (int64, error)) (int64, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		answer, err := ask(ctx)
		if err == nil || replied(err) || errors.Is(err, redis.ErrClosed) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(pause):
		}
	}
}

// aftermath is a failure, and what then happened while it was being resolved.
type aftermath struct {
	cause, then error
}

func after(cause, then error) error { return &aftermath{cause, then} }

func (e *aftermath) Error() string   { return e.cause.Error() + "; then " + e.then.Error() }
func (e *aftermath) Unwrap() []error { return []error{e.cause, e.then} }

// replied: the server answered, with an error, or we did in its place.
func replied(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) || errors.Is(err, ErrUnreplicated)
}

// lost: there was no reply to what may have been sent, a failure of the
// network or a time that ran out.
func lost(err error) bool {
	var dial *dialError
	switch {
	case replied(err), errors.As(err, &dial):
		return false
	case errors.Is(err, pool.ErrTimeout), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrClosed):
		return false
	}
	return true
}
