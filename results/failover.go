package results

import "time"

// FailoverSchema is the schema of failover.json.
const FailoverSchema = "lockcost/failover/v1"

// Failover is the record of fault experiments: what each path let through in
// each scenario. What was recorded is the runs, the phases, the timelines
// and the windows' spans; all else follows from these, by Summarize.
type Failover struct {
	Schema      string       `json:"schema"`
	StartedAt   time.Time    `json:"started_at"`
	EndedAt     time.Time    `json:"ended_at"`
	Interrupted bool         `json:"interrupted"`
	Environment Environment  `json:"environment"`
	Plan        FailoverPlan `json:"plan"`
	Scenarios   []Scenario   `json:"scenarios"`
	Windows     []Window     `json:"windows,omitempty"`
}

// FailoverPlan is what was asked for.
type FailoverPlan struct {
	Trials        int     `json:"trials"`     // of each scenario and path
	RatePerS      float64 `json:"rate_per_s"` // acquisitions, in scenarios that are timed
	TTLNS         int64   `json:"ttl_ns"`     // of the locks, where a scenario has none of its own
	OpTimeoutNS   int64   `json:"op_timeout_ns"`
	WaitReplicas  int     `json:"wait_replicas"`
	WaitTimeoutNS int64   `json:"wait_timeout_ns"`
	Sentinels     int     `json:"sentinels"`
	Seed          uint64  `json:"seed"` // of the order of the trials
	Env           string  `json:"env"`  // process or container
	Quick         bool    `json:"quick"`

	Scenarios []string `json:"scenarios"` // labels, as name:variant
	Paths     []string `json:"paths"`     // labels
	// NotRun are paths of --paths all that could not be run, each with why.
	NotRun        []string `json:"not_run,omitempty"`
	DownAfterNS   []int64  `json:"down_after_ns,omitempty"`  // crash-steady was run at each; none where no Sentinel had a part
	ReplicaRTTsNS []int64  `json:"replica_rtt_ns,omitempty"` // likewise
	HoldNS        int64    `json:"hold_ns"`                  // as asked for; 0 for what follows from down-after, see Scenario.HoldNS
	SideBySide    int      `json:"side_by_side"`             // trials at once, where nothing is timed; 0 in older records
	Windows       bool     `json:"windows"`                  // the replication window was to be measured
}

// Scenario is one scenario, in one variant, for one path with one set of
// settings (SameAs): its trials added up. Sums and shares are of trials that
// are not void; a share counts only those that report the event.
type Scenario struct {
	Scenario    string            `json:"scenario"`
	Variant     string            `json:"variant,omitempty"` // what is different in it, such as min-replicas
	Summary     string            `json:"summary"`           // one line: what is done
	Path        string            `json:"path"`
	Options     map[string]string `json:"options"`
	Kind        Kind              `json:"kind,omitempty"`    // of the path, as in a run's record; "" in older ones
	Service     string            `json:"service,omitempty"` // what its locks are taken from: redis, independents, etcd, zookeeper; "" for no lock, and in older records
	Nodes       int               `json:"nodes,omitempty"`   // servers of that, Sentinels left out
	TTLNS       int64             `json:"ttl_ns"`            // of the locks, or of the sessions that hold them
	Replicas    int               `json:"replicas"`
	DownAfterNS int64             `json:"down_after_ns"`
	ReplicaRTT  int64             `json:"replica_rtt_ns"`
	RatePerS    float64           `json:"rate_per_s"`      // acquisitions asked for, by both clients together
	HoldNS      int64             `json:"hold_ns"`         // how long the first of two clients holds an order's lock
	SecondNS    int64             `json:"second_after_ns"` // how long after the first the second asks for the same order
	Timed       bool              `json:"timed"`           // ran alone: its latencies were not disturbed by other trials
	Trials      int               `json:"trials"`          // those that ended, void ones included
	Void        int               `json:"void"`            // of these, those that show nothing: they count for nothing below

	DoubleGrants    int64 `json:"double_grants"`
	DoubleCharges   int64 `json:"double_charges"`
	LostCharges     int64 `json:"lost_charges"`
	RepeatedTokens  int64 `json:"repeated_tokens"`
	RightfulRefused int64 `json:"rightful_refused"`
	OrphanedLocks   int64 `json:"orphaned_locks"`
	LostGrants      int64 `json:"lost_grants"`
	OutlivedLeases  int64 `json:"outlived_leases"`

	Granted        int64            `json:"granted"`
	Held           int64            `json:"held"`
	Unreplicated   int64            `json:"unreplicated"`
	Expired        int64            `json:"expired"`
	FalseFailovers int64            `json:"false_failovers"` // begun before anything was injected, in trials that are void for it
	Errors         map[string]int64 `json:"errors"`          // acquisitions that failed, and steps after them, by kind

	// Shares is, for each Event, in how many of the trials that report it
	// it happened at all. An event that none reports is absent.
	Shares map[Event]Share `json:"shares"`
	// Times are medians over the trials that have them.
	Times map[Moment]Level `json:"times"`
	// Phases are the response of granted acquisitions, all trials that are
	// not void merged: before the fault, from it to the first grant after it (or
	// while it lasts, for faults that stop nothing), and after that. A phase
	// without grants is absent.
	Phases   map[Phase]Span `json:"phases"`
	Timeline []Slice        `json:"timeline,omitempty"` // all trials merged, aligned at the fault; of timed scenarios
	Runs     []Trial        `json:"runs"`
}

// Event is something that must not happen, or that is to be known.
type Event string

// The events.
const (
	DoubleGrant     Event = "double_grants"    // a lock granted while another holder had it, within that one's lease
	DoubleCharge    Event = "double_charges"   // orders charged more than once, by the ledger
	LostCharge      Event = "lost_charges"     // charges reported as done that the ledger does not have
	RepeatedToken   Event = "repeated_tokens"  // fencing tokens given to more than one grant
	RightfulRefused Event = "rightful_refused" // latest holders that the ledger refused
	OrphanedLock    Event = "orphaned_locks"   // locks in the primary at the end that nobody holds
	LostGrant       Event = "lost_grants"      // locks held when another server is promoted that it does not have
	OutlivedLease   Event = "outlived_leases"  // locks granted while an earlier holder, past its lease, was still at work
)

// Events lists them in the order in which they are shown.
var Events = []Event{DoubleGrant, DoubleCharge, LostCharge, RepeatedToken, RightfulRefused, OrphanedLock, LostGrant, OutlivedLease}

// Share is a share of trials with its exact interval at 95 % (Clopper and
// Pearson, 1934).
type Share struct {
	Trials int     `json:"trials"` // in which it happened
	Of     int     `json:"of"`
	Low    float64 `json:"low_ratio"`
	High   float64 `json:"high_ratio"`
}

// Moment is a point or stretch of time in a trial. Times count from the fault
// (the crash, where there is one), except where it says otherwise.
type Moment string

// The moments, in the order in which they come.
const (
	Noticed      Moment = "noticed"     // a quorum of Sentinels holds the primary to be down (+odown)
	Elected      Moment = "elected"     // a Sentinel leads the failover (+elected-leader)
	Promoted     Moment = "promoted"    // the replica was told to be the primary, and is (+promoted-slave); another member leads, in etcd and ZooKeeper
	FirstWrite   Moment = "first_write" // the first write that a replica of before accepts; of etcd and ZooKeeper, any member under the new leader
	Announced    Moment = "announced"   // clients are told (+switch-master)
	FirstGrant   Moment = "first_grant" // of the client that was granted first
	FirstGrantA  Moment = "first_grant_first_client"
	FirstGrantB  Moment = "first_grant_second_client"
	WithoutGrant Moment = "without_grant" // the longest stretch without any grant, the fault in it or after it
	Refusal      Moment = "refusal"       // the first acquisition that was refused for want of replicas
	Rejoined     Moment = "rejoined"      // from its restart until the replica is online again, or whatever was away serves again
	OldStopped   Moment = "old_stopped"   // from when the old primary woke, until it accepts no more writes
	OrphanedFor  Moment = "orphaned_for"  // the longest that a lock is left without a holder, to its expiry
	// LockLost and LossNoticed are medians over the locks of a holder that is
	// stopped or cut off: until the lock service no longer has them, and until
	// the holder's context ended for it, be that before or after. The latter is
	// of those that were told at all, as the facts holders_told and
	// holders_not_told count them.
	LockLost    Moment = "lock_lost"
	LossNoticed Moment = "loss_noticed"
)

// Moments lists them.
var Moments = []Moment{Noticed, Elected, Promoted, FirstWrite, Announced, FirstGrant, FirstGrantA, FirstGrantB, WithoutGrant, Refusal, Rejoined, OldStopped, OrphanedFor, LockLost, LossNoticed}

// Phase is a part of a trial.
type Phase string

// The phases.
const (
	Before Phase = "before"
	During Phase = "during"
	After  Phase = "after"
)

// Phases lists them.
var Phases = []Phase{Before, During, After}

// Slice is 100 ms of the trials of a scenario, added up.
type Slice struct {
	AtNS    int64 `json:"at_ns"`  // its begin, from the fault; below 0 before it
	Trials  int   `json:"trials"` // that were under way
	Granted int64 `json:"granted"`
	Held    int64 `json:"held"`
	// Failed is unreplicated, errors and those given up on, by when they returned.
	Failed int64  `json:"failed"`
	P50NS  *int64 `json:"p50_ns"` // response of what was granted; nil with too few samples
	P99NS  *int64 `json:"p99_ns"`
}

// Trial is one trial.
type Trial struct {
	Index     int       `json:"index"`
	StartedAt time.Time `json:"started_at"`
	Void      string    `json:"void,omitempty"` // why it shows nothing
	// Reason says what the servers said where what was expected did not
	// come, such as why a Sentinel promoted nobody.
	Reason string `json:"reason,omitempty"`
	// Events is how often each happened. One that cannot happen in the
	// trial, or was not looked for, is absent, and not 0.
	Events         map[Event]int64  `json:"events"`
	Granted        int64            `json:"granted"`
	Held           int64            `json:"held"`
	Unreplicated   int64            `json:"unreplicated"`
	Expired        int64            `json:"expired"`
	FalseFailovers int64            `json:"false_failovers"`
	Errors         map[string]int64 `json:"errors"`
	Times          map[Moment]int64 `json:"times"`             // nanoseconds
	Facts          map[string]int64 `json:"facts,omitempty"`   // what only this scenario has, such as writes_before_refusal; a duration's name ends in _ns
	History        string           `json:"history,omitempty"` // its file in the experiments' folder, see HistoryName
}

// Window is how long a granted lock is not yet on the replica: from the reply
// to the key being visible there.
type Window struct {
	RatePerS   float64 `json:"rate_per_s"`     // acquisitions granted, each of an order of its own
	ReplicaRTT int64   `json:"replica_rtt_ns"` // asked for
	Path       string  `json:"path"`           // with its options, as PathLabel has it
	Visible    Span    `json:"visible"`        // those that were visible before the reply count as 0
	Early      int64   `json:"early"`          // how many those were
	Unseen     int64   `json:"unseen"`         // grants that the replica never told of, which are in no other number
	// PredictedLoss is the share of crashes in which a grant would be lost
	// that was not yet visible, 1 − exp(−rate × mean): Poisson. Measured is
	// the share of trials of the plain crash-steady (no variant) that lost one
	// with this path, round trip and rate of grants: each order is asked for
	// twice there and granted once, so Scenario.RatePerS is twice RatePerS.
	// It is nil where that was not run. Both are Summarize's.
	PredictedLoss float64 `json:"predicted_loss_ratio"`
	Measured      *Share  `json:"measured_loss,omitempty"`
}
