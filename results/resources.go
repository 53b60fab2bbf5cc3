package results

// Resources is what the driver, or one server, used in a run, for each
// operation, warm-up included: a mean. A figure is nil where it cannot be
// known, and Unknown says why.
type Resources struct {
	// CPUNS is processor time, user and system. Of the driver, what it takes
	// to poll is not counted.
	CPUNS    *float64 `json:"cpu_ns_per_op"`
	BytesIn  *float64 `json:"bytes_in_per_op"` // received from clients, as the server counts them
	BytesOut *float64 `json:"bytes_out_per_op"`
	Commands *float64 `json:"commands_per_op"` // Redis commands, SQL statements, requests
	// ReplicationBytes is what a primary or leader sent to its replicas, or
	// what a replica received.
	ReplicationBytes *float64 `json:"replication_bytes_per_op"`
	Fsyncs           *float64 `json:"fsyncs_per_op"`
	// Unknown says, by JSON key, why a figure is not there.
	Unknown map[string]string `json:"unknown,omitempty"`
}

// DriverResources is the driver's key in Run.Resources. The others are the
// names of the servers.
const DriverResources = "driver"

// Connections is how many connections of one of the client's pools were in
// use at once, sampled at random times about a millisecond apart. A pool of
// P999 connections would have kept 99.9 % of the samples from waiting.
type Connections struct {
	Pool    int     `json:"pool"` // connections that there are
	Samples int64   `json:"samples"`
	Mean    float64 `json:"in_use_mean"`
	P50     int     `json:"in_use_p50"`
	P999    *int    `json:"in_use_p99_9"` // nil with fewer samples than SamplesFor(P999)
	Max     int     `json:"in_use_max"`
}

// The pools of Run.Connections.
const (
	LockPool   = "lock"
	LedgerPool = "ledger"
)
