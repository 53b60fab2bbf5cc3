package lock

import (
	"context"
	"fmt"
	"time"
)

// FencingWait is Fencing whose grant waits for replicas: the script that
// takes the lock and mints its token, and WAIT, on the same connection. One
// acknowledgement is of both.
//
// A failover to a replica that had not acknowledged loses the lock, and its
// token with it, which is then given again.
type FencingWait struct {
	acknowledged
	counter string
}

var _ Locker = (*FencingWait)(nil)

// NewFencingWait returns a locker over client's connections, whose
// ReadTimeout must exceed WAIT's. Its counter is that of the Fencing with the
// same prefix.
func NewFencingWait(client *Client, prefix string, options WaitOptions) (*FencingWait, error) {
	counter := CounterKey(prefix)
	a, err := newWaiting("fencing with WAIT", client, setAndMintOf(counter), options)
	if err != nil {
		return nil, err
	}
	return &FencingWait{acknowledged: a, counter: counter}, nil
}

// TryLock makes one round trip, or two as the options say; two, or three,
// where the server does not have the script yet. Too few acknowledgements:
// one more, to delete the key again, and ErrUnreplicated. A token that was
// minted for it is a gap in the numbers.
func (l *FencingWait) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	owner, token, err := l.try(ctx, key, ttl)
	if err != nil {
		return nil, err
	}
	granted := &lease{client: l.client, key: key, owner: owner, token: uint64(token)}
	if token < 1 {
		return nil, failed(l.client, key, giveBack(ctx, granted, startsAtOne(l.counter, token)))
	}
	return granted, nil
}

// giveBack releases a lock that is not granted after all because of cause.
func giveBack(ctx context.Context, granted *lease, cause error) error {
	if err := granted.Unlock(ctx); err != nil { // which bounds itself where ctx is over
		return after(cause, err)
	}
	return cause
}

// startsAtOne is the error of a counter that somebody else has written.
func startsAtOne(counter string, token int64) error {
	return fmt.Errorf("counter %s is at %d, and tokens start at 1; delete it", counter, token)
}

// setAndMintOf writes the key and mints of counter.
func setAndMintOf(counter string) writing {
	call := func(how, script string) func(key, owner string, ttlMS int64) []any {
		return func(key, owner string, ttlMS int64) []any {
			return []any{how, script, 2, key, counter, owner, ttlMS}
		}
	}
	return writing{
		first:   call("evalsha", setAndMint.sha),
		again:   call("eval", setAndMint.source),
		confirm: call("eval", confirmAndMint.source),
		partial: true,
	}
}
