package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// acknowledgement is the command that waits for what its own connection
// wrote last, and how its reply is judged.
type acknowledgement struct {
	args    []any
	judge   func(reply any) error // nil, or ErrUnreplicated
	timeout time.Duration         // of the command
}

// command returns a new one to send.
func (a acknowledgement) command(ctx context.Context) *redis.Cmd {
	return redis.NewCmd(ctx, a.args...)
}

// verdict is the error of one that was answered with too little, or failed.
func (a acknowledgement) verdict(cmd *redis.Cmd) error {
	if err := cmd.Err(); err != nil {
		return err
	}
	return a.judge(cmd.Val())
}

// unexpected is the error of a reply that the command's documentation does
// not know.
func unexpected(command string, reply any) error {
	return fmt.Errorf("%s was answered with %v", command, reply)
}

// writing is the write that takes a lock and is then waited for.
type writing struct {
	// first is the command; it replies nil where the lock is held. again is
	// the same for a server that does not have first's script; nil without one.
	first, again func(key, owner string, ttlMS int64) []any
	// confirm is confirm, or confirmAndMint, as one command.
	confirm func(key, owner string, ttlMS int64) []any
	// partial: first may have written though it was answered with an error.
	partial bool
}

// setNX writes the key alone.
var setNX = writing{
	first: func(key, owner string, ttlMS int64) []any { return setArgs(key, owner, ttlMS) },
	confirm: func(key, owner string, ttlMS int64) []any {
		return []any{"eval", confirm.source, 1, key, owner, ttlMS}
	},
}

// acknowledged takes locks by a write that is waited for.
type acknowledged struct {
	client *Client
	writing
	ack        acknowledgement
	roundTrips int
	line       *line // the one connection of all callers; nil for one each
}

// try makes one attempt. Too small a count is undone, and ErrUnreplicated.
// Where a reply is lost, the lock being ours is not enough: it is written
// anew and waited for anew, see attempt.settle. The reply is the write's, or
// confirm's.
func (a *acknowledged) try(ctx context.Context, key string, ttl time.Duration) (owner string, reply int64, err error) {
	ttlMS, err := milliseconds(ttl)
	if err != nil {
		return "", 0, err
	}
	c := a.client
	if a.line == nil { // whose connection is none of the caller's own
		if err := c.enter(ctx); err != nil {
			return "", 0, err
		}
		defer c.leave()
	}
	owner = c.newOwner()
	granted, reply, err := a.write(ctx, key, owner, ttlMS)
	if err != nil && err != ErrHeld {
		reply, err = a.resolve(ctx, attempt{
			client: c, key: key, owner: owner,
			partial: granted || a.partial,
			confirm: func(ctx context.Context) (int64, error) { return a.confirmed(ctx, key, owner, ttlMS) },
			takes:   a.ack.timeout,
		}, err)
	}
	if err != nil {
		return "", 0, failed(c, key, err)
	}
	return owner, reply, nil
}

// resolve settles an attempt that failed with cause, on a connection of its
// own.
func (a *acknowledged) resolve(ctx context.Context, made attempt, cause error) (int64, error) {
	if a.line != nil {
		if !lost(cause) && !replied(cause) {
			return 0, cause // nothing was sent
		}
		within, cancel := a.client.later(ctx)
		defer cancel()
		if err := a.client.gate.Enter(within); err != nil {
			return 0, after(cause, err)
		}
		defer a.client.leave()
	}
	if errors.Is(cause, ErrUnreplicated) {
		return 0, a.client.undo(ctx, made.key, made.owner, cause)
	}
	return made.settle(ctx, cause)
}

// write sends the write and what waits for it. It tells whether the write
// was granted also where waiting failed.
func (a *acknowledged) write(ctx context.Context, key, owner string, ttlMS int64) (granted bool, reply int64, err error) {
	write := redis.NewCmd(ctx, a.first(key, owner, ttlMS)...)
	err = a.exchange(ctx, write)
	if a.again != nil && write.Err() != nil && redis.HasErrorPrefix(write.Err(), "NOSCRIPT") {
		write = redis.NewCmd(ctx, a.again(key, owner, ttlMS)...)
		err = a.exchange(ctx, write)
	}
	if write.Err() == redis.Nil {
		return false, 0, ErrHeld
	}
	number, _ := write.Val().(int64) // SET's reply is OK
	return write.Err() == nil, number, err
}

// exchange sends a write, and what waits for it on the same connection. It
// returns the write's error, or else the verdict.
func (a *acknowledged) exchange(ctx context.Context, write *redis.Cmd) error {
	wait := a.ack.command(ctx)
	switch {
	case a.line != nil:
		a.line.exchange(ctx, write, wait)
		return a.outcome(write, wait)
	case a.roundTrips == 2:
		return a.inTurn(ctx, write, wait)
	}
	return a.together(ctx, write, wait)
}

// together sends both on one connection, in one round trip. A plain pipeline
// does that; the library's TxPipeline would be a transaction.
func (a *acknowledged) together(ctx context.Context, write, wait *redis.Cmd) error {
	pipe := a.client.redis.Pipeline()
	if err := pipe.BatchProcess(ctx, write, wait); err != nil {
		return err
	}
	_, err := pipe.Exec(ctx) // each command has its own error
	if write.Err() == nil && write.Val() == nil {
		write.SetErr(err) // but for a connection whose greeting was answered with one
	}
	return a.outcome(write, wait)
}

func (a *acknowledged) outcome(write, wait *redis.Cmd) error {
	if err := write.Err(); err != nil {
		return err
	}
	return a.ack.verdict(wait)
}

// inTurn waits for what was granted only.
func (a *acknowledged) inTurn(ctx context.Context, write, wait *redis.Cmd) error {
	conn := a.client.redis.Conn() // one connection, until it is closed
	defer conn.Close()
	if err := conn.Process(ctx, write); err != nil {
		return err
	}
	_ = timed(ctx, func() error { return conn.Process(ctx, wait) })
	return a.ack.verdict(wait)
}

// confirmed writes the lock anew if it is ours, and waits for that write, in
// one round trip. The script goes in full, which spares a second one.
func (a *acknowledged) confirmed(ctx context.Context, key, owner string, ttlMS int64) (int64, error) {
	renew := redis.NewCmd(ctx, a.confirm(key, owner, ttlMS)...)
	err := a.together(ctx, renew, a.ack.command(ctx))
	answer, _ := renew.Val().(int64)
	if renew.Err() == nil && (answer == absent || answer == anothers) {
		return answer, nil
	}
	return answer, err
}
