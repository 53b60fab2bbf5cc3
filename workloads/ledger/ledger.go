// Package ledger is the downstream: orders and their charges in a MySQL or
// MariaDB database, and the guards that keep an order from being charged
// twice, one file each. It knows SQL and nothing of locks: a token is a
// number that somebody hands in.
//
// Every guard does the same job in transactions of the same shape, so that
// the difference between two guards is the guard:
//
//	read the order; if it is unpaid: begin, mark it paid, insert the charge, commit
//
// Tables makes, seeds, audits and drops the tables of a run. DB is one
// session's connections, and hands out the guards.
package ledger

import (
	"context"
	"errors"
)

// Outcome is what became of a charge.
type Outcome int

// The outcomes. Only Charged wrote anything.
const (
	Charged   Outcome = iota + 1
	Duplicate         // the order had been charged already
	Stale             // another holder has come since: our token or version is old
)

// String returns the outcome in lower case.
func (o Outcome) String() string {
	switch o {
	case Charged:
		return "charged"
	case Duplicate:
		return "duplicate"
	case Stale:
		return "stale"
	}
	return "no outcome"
}

// ErrStale is returned by Read when the order was read under a token at
// least as new as ours by another holder.
var ErrStale = errors.New("token is stale: another holder has read the order since")

// ErrUnknownOrder is returned when an order is not in the ledger: it was not
// seeded, or the tables are another run's.
var ErrUnknownOrder = errors.New("no such order in the ledger")

// ErrUnresolved is returned by Charge when the reply to its COMMIT was lost
// and the ledger could not be asked either: the order may have been charged
// or not. After any other error of Charge it was not.
var ErrUnresolved = errors.New("not known whether the order was charged")

// ErrNoToken is returned when a guard that fences is handed the token 0,
// which is what a locker returns that mints none.
var ErrNoToken = errors.New("the lock came without a fencing token, which this guard needs")

// Order is an order as one holder read it. It carries what the guard needs
// to recognize that holder's own retry.
type Order struct {
	ID      int64
	Paid    bool
	Version int64
	holder  uint64 // set by a guard that fences: the reading that raised the fence
	attempt uint64 // names the one charge this reading may lead to
}

// Guard reads and charges orders. It is safe for concurrent use.
type Guard interface {
	// Read returns the order. A guard that fences raises the order's fence
	// to token, and returns ErrStale unless token is strictly greater than
	// the fence. Guards that do not fence ignore token.
	Read(ctx context.Context, order int64, token uint64) (Order, error)
	// Charge pays o in one transaction. A COMMIT whose reply was lost is
	// resolved by reading back, for a little longer than ctx lasts if need
	// be, so that an error means: not charged, or (ErrUnresolved) not
	// knowable because the ledger does not answer.
	Charge(ctx context.Context, o Order, token uint64) (Outcome, error)
}
