// Package history keeps what the clients of a fault experiment did and were
// told, and checks it: which locks were granted twice, which tokens were
// given twice, who was refused although the lock was theirs.
//
// Times are nanoseconds since the beginning of the trial, on the one clock of
// the process that recorded them. Whatever a server did, it did between the
// invocation and the return of an operation; the checkers accuse only where
// no other order of events could have led to what was recorded.
package history

// Op is one client's attempt at one order: to take its lock, and what it then
// did under it.
type Op struct {
	Client string `json:"client"`
	Order  int64  `json:"order"` // the lock's key is the order's
	DueNS  int64  `json:"due_ns"`
	// Acquire is the attempt at the lock. Its result is Granted, Held,
	// Unreplicated, or the kind of its error.
	Acquire Step `json:"acquire"`
	// TTLNS is how long the lock service promises to keep the lock, from when
	// it was written; 0 where it promises nothing, such as a lock that goes
	// with a session which began before: then nobody is accused of having
	// broken it.
	TTLNS int64  `json:"ttl_ns"`
	Token uint64 `json:"token,omitempty"` // 0 where the lock mints none
	// NoticedNS is when the holder was told that its lock is lost, before it
	// released it: it takes no further step of the job. 0 where it was not.
	NoticedNS int64 `json:"noticed_ns,omitempty"`

	// The steps after a grant, nil where the operation did not come to them.
	Read    *Step `json:"read,omitempty"`    // Unpaid, Paid, Stale, Lost, or an error's kind
	Charge  *Step `json:"charge,omitempty"`  // Charged, Duplicate, Stale, Lost, or an error's kind
	Release *Step `json:"release,omitempty"` // Released, Lost, or an error's kind
}

// Step is one stage of an operation.
type Step struct {
	InvokedNS  int64  `json:"invoked_ns"`
	ReturnedNS int64  `json:"returned_ns"`
	Result     string `json:"result"`
}

// Results of steps; any other is the kind of an error.
const (
	Granted      = "granted"
	Held         = "held"
	Unreplicated = "unreplicated"

	Unpaid = "unpaid"
	Paid   = "paid"
	Stale  = "stale"

	Charged   = "charged"
	Duplicate = "duplicate"

	Released = "released"
	// Lost is what a holder learns who releases a lock that is no longer its
	// own, and of a read or charge that it was not made, or broken off and not
	// done, since the holder knew of it by then.
	Lost = "lost"
)
