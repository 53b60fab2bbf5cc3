// Package results holds the record of a run, and everything that can be
// computed from it: histograms, statistics, verdicts, logs and tables. It
// knows no server and no other package of the project, so that whatever it
// says can be said again, later, from a run's folder alone.
package results

import (
	"fmt"
	"time"
)

// Schema names the layout of run.json. A change that breaks a reader gets a
// new number.
const Schema = "lockcost/run/v1"

// Record is the content of run.json: one invocation of `lockcost run`.
// All times are nanoseconds, as the keys say.
type Record struct {
	Schema      string      `json:"schema"`
	StartedAt   time.Time   `json:"started_at"`
	EndedAt     time.Time   `json:"ended_at"`
	Interrupted bool        `json:"interrupted"`
	Environment Environment `json:"environment"`
	Doctor      Doctor      `json:"doctor"`
	Plan        Plan        `json:"plan"`
	Paths       []Path      `json:"paths"`
}

// Effect says what is done under the lock. Paths are compared only when
// they had the same one: a CPU that the ledger keeps busy answers faster.
type Effect string

// The effects.
const (
	EffectCharge Effect = "charge" // the protected job: read the order, charge it if unpaid
	EffectNone   Effect = "none"   // acquire and release only
)

// Plan is what was asked for, after defaults.
type Plan struct {
	Paths         []string `json:"paths"`  // as named by the user, floors first
	Effect        Effect   `json:"effect"` //
	RatePerS      float64  `json:"rate_per_s"`
	DurationNS    int64    `json:"duration_ns"`    // measured window of one run
	WarmupNS      int64    `json:"warmup_ns"`      // before the window, not in it
	Runs          int      `json:"runs"`           // of each path: one in every block
	RepeatInvalid int      `json:"repeat_invalid"` // blocks that could be added for invalid runs
	Arrivals      string   `json:"arrivals"`       // constant or poisson
	Workers       int      `json:"workers"`        // bound on operations in flight
	// Clients is the clients of a closed loop, each of which begins its next
	// operation when its last has ended; 0 for an open loop.
	Clients          int     `json:"clients,omitempty"`
	OpTimeoutNS      int64   `json:"op_timeout_ns"`
	Seed             uint64  `json:"seed"`
	TTLNS            int64   `json:"ttl_ns"`
	HoldNS           int64   `json:"hold_ns"`
	Keys             int     `json:"keys"`    // 0: a fresh key for each operation
	Zipf             float64 `json:"zipf"`    // exponent by which keys are drawn; 0: taken by turns
	TxRows           int     `json:"tx_rows"` // rows that each charge's transaction inserts besides
	Orders           int     `json:"orders"`  // hot orders that operations take by turns, each with its key; 0: a fresh one each
	AcquireTimeoutNS int64   `json:"acquire_timeout_ns"`
	WaitReplicas     int     `json:"wait_replicas"`
	WaitTimeoutNS    int64   `json:"wait_timeout_ns"`
	ReplicaRTTNS     []int64 `json:"replica_rtt_ns"` // each path that depends on it was run at each
	ClientRTTNS      []int64 `json:"client_rtt_ns"`
	RTTJitterNS      int64   `json:"rtt_jitter_ns"`
	Env              string  `json:"env"`
	Replicas         int     `json:"replicas"`
	Sentinels        int     `json:"sentinels"`
	Durability       string  `json:"durability"` // relaxed or strict; "": every server as it comes
	// NotRun are paths of --paths all that could not be run, each with why.
	NotRun []string `json:"not_run,omitempty"`
	// Blocks is the order in which the paths were run: one shuffled list of
	// path labels for each block.
	Blocks [][]string `json:"blocks"`
}

// Path is one path's runs and what they come to.
type Path struct {
	Path         string            `json:"path"`
	Options      map[string]string `json:"options"`
	ReplicaRTTNS int64             `json:"replica_rtt_ns"` // added between primary and replicas
	ClientRTTNS  int64             `json:"client_rtt_ns"`  // added between the client and Redis
	// Floor marks null and ping, which are measured beside the paths and
	// compared with none.
	Floor bool `json:"floor"`
	// Kind is how the path is made safe, if it is: figures and tables group
	// by it.
	Kind Kind `json:"kind"`
	// Durability is what its lock has survived when the acquire returns. Nil
	// where there is no lock.
	Durability *Durability `json:"durability,omitempty"`
	// SessionOpen is what it costs to open what the path needs before its
	// first lock: one connection, with a script loaded or a session begun.
	// Nil where it was not measured.
	SessionOpen *Opening `json:"session_open,omitempty"`
	// HeldLockBytes is the memory, by server name, that one lock takes while
	// it is held. Nil where it was not measured.
	HeldLockBytes map[string]float64 `json:"held_lock_bytes,omitempty"`
	Runs          []Run              `json:"runs"`
	// Summary is the level of each span and percentile over the runs.
	Summary map[SpanName]map[Percentile]Level `json:"summary"`
	// Cost is the difference from setnx with the same effect, in the same
	// blocks. It is absent for setnx itself and for the floors.
	Cost map[SpanName]map[Percentile]Cost `json:"cost,omitempty"`
}

// Kind is how a path is made safe.
type Kind string

// The kinds, in the order in which they are shown.
const (
	KindFloor      Kind = "floor"      // null, ping
	KindOneServer  Kind = "one-server" // one server's word is enough for a grant
	KindServers    Kind = "servers"    // several servers have the lock when it is granted
	KindDownstream Kind = "downstream" // the ledger refuses what a lost lock lets through
)

// Kinds lists them in that order.
var Kinds = []Kind{KindFloor, KindOneServer, KindServers, KindDownstream}

// Title names a kind for people.
func (k Kind) Title() string {
	switch k {
	case KindFloor:
		return "floor"
	case KindOneServer:
		return "one server's word"
	case KindServers:
		return "granted by several servers"
	case KindDownstream:
		return "checked by the ledger"
	}
	return string(k)
}

// Durability is where a lock, and its token if there is one, is when the
// acquire returns: as the servers are set, not as they usually are.
type Durability struct {
	Memory int `json:"memory_nodes"` // servers that have it at least in memory
	Disk   int `json:"disk_nodes"`   // of these, those that have synced it to a disk
	Nodes  int `json:"nodes"`        // servers of the service, that could have it
	// Ledger is how the ledger commits what the path reads and writes there:
	// synced, or not; "" without a ledger.
	Ledger string `json:"ledger,omitempty"`
}

// Text is the durability in a few words: memory of 2 of 2, disk of 2 of 3.
func (d *Durability) Text() string {
	switch {
	case d == nil:
		return "no lock"
	case d.Disk == 0:
		return fmt.Sprintf("memory of %d/%d", d.Memory, d.Nodes)
	case d.Disk == d.Memory:
		return fmt.Sprintf("disk of %d/%d", d.Disk, d.Nodes)
	}
	return fmt.Sprintf("disk of %d, memory of %d/%d", d.Disk, d.Memory, d.Nodes)
}

// Opening is how long it took to open sessions, one after the other.
type Opening struct {
	Count int   `json:"count"`
	MinNS int64 `json:"min_ns"`
	P50NS int64 `json:"p50_ns"`
	MaxNS int64 `json:"max_ns"`
}

// Verdict says whether a run's numbers may be believed.
type Verdict string

// The verdicts, see Judge.
const (
	Valid     Verdict = "valid"
	Saturated Verdict = "saturated" // the system did not keep up
	Invalid   Verdict = "invalid"   // the instrument was at fault
)

// Run is one path driven once for the planned duration, on fresh keys and
// fresh connections.
//
//	Offered   = Completed + Expired
//	Completed = Granted + Held + Unreplicated + the sum of Errors
type Run struct {
	Index        int               `json:"index"` // block, from 0
	StartedAt    time.Time         `json:"started_at"`
	Interrupted  bool              `json:"interrupted"`
	Verdict      Verdict           `json:"verdict"`
	Reasons      []string          `json:"reasons"`
	Warnings     []string          `json:"warnings,omitempty"` // drift, unpinned placement: noted, never a verdict
	Offered      int64             `json:"offered"`
	Completed    int64             `json:"completed"`
	Expired      int64             `json:"expired"` // not started within the operation timeout
	Granted      int64             `json:"granted"`
	Held         int64             `json:"held"`
	Unreplicated int64             `json:"unreplicated"`
	Errors       map[string]int64  `json:"errors"`
	AchievedPerS float64           `json:"achieved_per_s"` // completed inside the window, whenever due, over its length
	Spans        map[SpanName]Span `json:"spans"`
	Instrument   Instrument        `json:"instrument"`
	// The round trips really seen, where a link was in use. LinkFault says
	// that something went around its link; such a run is invalid.
	ReplicaTrip *Trip  `json:"replica_trip,omitempty"`
	ClientTrip  *Trip  `json:"client_trip,omitempty"`
	LinkFault   string `json:"link_fault,omitempty"`
	// Resources is what was used, by server name, and by the driver.
	Resources map[string]Resources `json:"resources,omitempty"`
	// Connections is how many were in use, by pool: LockPool, LedgerPool.
	Connections map[string]Connections `json:"connections,omitempty"`
	// UpperNS is, where it was computed, the upper end of the two-sided 95 %
	// interval of a percentile from the run's own samples
	// (Histogram.UpperBound), by span.
	UpperNS  map[SpanName]map[Percentile]int64 `json:"upper_ns,omitempty"`
	Renewals *Renewals                         `json:"renewals,omitempty"` // of a watchdog; warm-up included
}

// Renewals are those of the locks that were held in a run.
type Renewals struct {
	Count  int64 `json:"count"`
	Lost   int64 `json:"lost"`    // found that the lock was no longer ours
	Failed int64 `json:"failed"`  // got no answer
	MeanNS int64 `json:"mean_ns"` // round trip
}

// SpanName names a measured stretch of an operation.
type SpanName string

// The spans. Acquire and total are responses: from the operation's start, or
// from its due time if it had to queue for a worker.
const (
	SpanAcquire        SpanName = "acquire"
	SpanAcquireService SpanName = "acquire_service" // from start
	SpanWait           SpanName = "wait"            // of acquire_service: WAIT alone, where it is a round trip of its own
	SpanEffect         SpanName = "effect"
	SpanRelease        SpanName = "release"
	SpanTotal          SpanName = "total"
	SpanLag            SpanName = "lag"       // of every operation: the instrument's delay
	SpanQueueing       SpanName = "queueing"  // of slots claimed late: the system's delay
	SpanPoolWait       SpanName = "pool_wait" // of every operation: waiting for a client connection
	SpanRefused        SpanName = "refused"   // response of held and unreplicated ones
	SpanFailed         SpanName = "failed"    // response of errors
)

// SpanNames lists the spans in the order in which they are shown.
var SpanNames = []SpanName{
	SpanAcquire, SpanAcquireService, SpanWait, SpanEffect, SpanRelease, SpanTotal,
	SpanLag, SpanQueueing, SpanPoolWait, SpanRefused, SpanFailed,
}

// Span is the distribution of one span in one run, in nanoseconds. Minimum
// and maximum are exact. A percentile with too few samples behind it is nil
// (see SamplesFor). A span without samples is absent from its map.
type Span struct {
	Count  int64  `json:"count"`
	MinNS  int64  `json:"min_ns"`
	MeanNS int64  `json:"mean_ns"`
	P50NS  *int64 `json:"p50_ns"`
	P90NS  *int64 `json:"p90_ns"`
	P99NS  *int64 `json:"p99_ns"`
	P999NS *int64 `json:"p99_9_ns"`
	MaxNS  int64  `json:"max_ns"`
}

// Percentile names a percentile of a span, as the keys of Summary and Cost.
type Percentile string

// The percentiles that are reported.
const (
	P50  Percentile = "p50"
	P90  Percentile = "p90"
	P99  Percentile = "p99"
	P999 Percentile = "p99_9"
)

// Percentiles lists them from the middle to the tail.
var Percentiles = []Percentile{P50, P90, P99, P999}

// Level is the median over runs with its exact order-statistic interval.
// LowNS and HighNS are nil, and Confidence 0, where there are too few runs
// for an interval at 95 %.
type Level struct {
	N          int     `json:"n"` // runs it rests on
	MedianNS   int64   `json:"median_ns"`
	LowNS      *int64  `json:"low_ns"`
	HighNS     *int64  `json:"high_ns"`
	Confidence float64 `json:"confidence"` // 0 to 1
	// LowerBound: operations were given up on or never started, so the
	// slowest are not in it.
	LowerBound bool `json:"lower_bound,omitempty"`
}

// Cost is a path's percentile against setnx's, block by block: the median of
// the ratios and of the differences, with the same kind of interval as
// Level, and the Mann–Whitney p-value after Holm's correction over the paths
// of one span and percentile.
type Cost struct {
	N           int      `json:"n"` // blocks it rests on
	Ratio       float64  `json:"ratio"`
	RatioLow    *float64 `json:"ratio_low"`
	RatioHigh   *float64 `json:"ratio_high"`
	DeltaNS     int64    `json:"delta_ns"`
	DeltaLowNS  *int64   `json:"delta_low_ns"`
	DeltaHighNS *int64   `json:"delta_high_ns"`
	Confidence  float64  `json:"confidence"`
	PValue      *float64 `json:"p_value"` // nil where there are too few runs for a test
	// Bound says what it is a bound of where the slowest operations are
	// missing from one side.
	Bound Bound `json:"bound,omitempty"`
}

// Bound says on which side of a number the truth lies.
type Bound string

// The bounds. Where both sides of a cost lack their slowest operations,
// nothing is known of it.
const (
	BoundLower   Bound = "lower"
	BoundUpper   Bound = "upper"
	BoundUnknown Bound = "unknown"
)

// Instrument is what the driver observed of itself during one run.
type Instrument struct {
	Workers          int     `json:"workers"`             // bound on operations in flight
	WorkersStarted   int     `json:"workers_started"`     // workers are started as they are needed
	WorkersBusyMax   int     `json:"workers_busy_max"`    // most operations ever in flight
	Queued           int64   `json:"queued"`              // slots that waited because all workers were busy
	LateByDriver     int64   `json:"late_by_driver"`      // slots claimed late for any other reason
	InFlightAtStart  int64   `json:"in_flight_at_start"`  // operations under way when the window began
	InFlightAtEnd    int64   `json:"in_flight_at_end"`    // and when it ended, slots that were due included
	LateAtEnd        int64   `json:"late_at_end"`         // of these, slots that nothing but the driver kept from starting
	PoolSize         int     `json:"pool_size"`           // connections of the lock client
	LedgerPoolSize   int     `json:"ledger_pool_size"`    // connections to the ledger
	PoolWaitNS       int64   `json:"pool_wait_ns"`        // all operations' waits for the lock client's connections
	LedgerPoolWaitNS int64   `json:"ledger_pool_wait_ns"` // and for the ledger's
	Pauses           int64   `json:"pauses"`              // times that the driver stood still
	PauseMaxNS       int64   `json:"pause_max_ns"`
	Polled           bool    `json:"polled"`         // the driver never slept: it polled its network and its clock
	CPUBusyRatio     float64 `json:"cpu_busy_ratio"` // of the driver's CPUs, 0 to 1; what it took to poll not counted
	CPUNS            int64   `json:"cpu_ns"`         // the same as a time, over the window
	GapCV            float64 `json:"gap_cv"`         // coefficient of variation of the gaps between starts; 0 for even, 1 for Poisson
	Overflow         int64   `json:"overflow"`       // samples above the histograms' range
	SchedP99NS       int64   `json:"sched_latency_p99_ns"`
	GCCycles         int64   `json:"gc_cycles"`
	GCPauseMaxNS     int64   `json:"gc_pause_max_ns"`
	GCPauseTotalNS   int64   `json:"gc_pause_total_ns"`
}

// Environment is where the run took place.
type Environment struct {
	CPU         string    `json:"cpu"`
	CPUs        int       `json:"cpus"`
	MemoryBytes int64     `json:"memory_bytes"`
	OS          string    `json:"os"`
	Arch        string    `json:"arch"`
	Kernel      string    `json:"kernel"`
	Virtual     string    `json:"virtualization"` // "" where none was recognized
	ClockSource string    `json:"clock_source"`
	Go          string    `json:"go"`
	Lockcost    string    `json:"lockcost"` // revision of this program
	Placement   Placement `json:"placement"`
	Topology    string    `json:"topology"` // one line, for a figure's subtitle
	Servers     []Server  `json:"servers"`
	Notes       []string  `json:"notes,omitempty"` // limits to state beside the numbers
}

// Placement says which CPUs the driver and the servers had.
type Placement struct {
	Pinned     bool   `json:"pinned"`
	Preferred  bool   `json:"preferred"` // the driver goes before ordinary threads on its CPUs (nice -20)
	DriverCPUs []int  `json:"driver_cpus"`
	ServerCPUs []int  `json:"server_cpus"`
	Note       string `json:"note,omitempty"` // what is not pinned, and why
}

// Server is one server of the stack, with the settings that matter to what
// its answers promise.
type Server struct {
	Name     string            `json:"name"` // primary, replica-1, sentinel-1, ledger
	Kind     string            `json:"kind"` // redis, sentinel, mariadb, mysql
	Version  string            `json:"version"`
	Address  string            `json:"address"` // never with a password
	Settings map[string]string `json:"settings"`
}
