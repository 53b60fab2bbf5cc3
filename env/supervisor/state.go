package supervisor

import (
	"maps"
	"slices"
	"strings"
	"time"

	"lockcost/env"
	"lockcost/env/placement"
)

// stateSchema tells a state from other files of that name.
const stateSchema = "lockcost/env/v1"

// State is what a supervisor tells of itself and its stack.
type State struct {
	Schema string    `json:"schema"` // stateSchema
	PID    int       `json:"supervisor_pid"`
	Since  time.Time `json:"since"`
	Ready  bool      `json:"ready"` // false while the stack is being started
	// Containers tells that the servers run in containers.
	Containers bool `json:"containers"`
	// What follows is known once it is ready.
	Provider   string   `json:"provider"`
	Servers    []Server `json:"servers"`
	MasterName string   `json:"master_name"` // as the Sentinels call it
	Ledger     string   `json:"ledger"`      // data source name, with its password; "" for none
	// Via is the addresses to dial in place of those that Sentinels announce.
	Via  map[string]string `json:"via,omitempty"`
	CPUs []int             `json:"cpus"` // of the servers; empty where they are not pinned
	// ReplicaRTT is what was added to the round trips from the primary to
	// its replicas.
	ReplicaRTT time.Duration `json:"replica_rtt_ns"`
	// Folder holds the servers' folders, and Log what a detached supervisor
	// had to say.
	Folder string `json:"folder"`
	Log    string `json:"log"`
}

// Server is one server of the stack.
type Server struct {
	Name      string   `json:"name"` // primary, replica-1, sentinel-1, ledger, independent-1, etcd-1, zookeeper-1
	Kind      env.Kind `json:"kind"`
	Address   string   `json:"address"`             // host:port
	PID       int      `json:"pid"`                 // 0 where it is no process of this machine
	Container string   `json:"container,omitempty"` // id of its container
}

// independent tells whether it is a Redis that knows of no other.
func (v Server) independent() bool { return strings.HasPrefix(v.Name, "independent-") }

// describe takes over what a stack that is ready tells.
func (s *State) describe(stack *env.Stack) {
	s.Ready, s.Since = true, time.Now().UTC().Truncate(time.Second)
	s.Provider, s.MasterName, s.Ledger, s.CPUs = stack.Provider, stack.Redis.MasterName, stack.Ledger, stack.Pinned
	s.Via = stack.Redis.Via
	for _, n := range stack.Nodes {
		s.Servers = append(s.Servers, Server{Name: n.Name, Kind: n.Kind, Address: n.Addr, PID: n.PID, Container: n.Container})
	}
}

// Export is one environment variable.
type Export struct {
	Name  string
	Value string // "" where the stack has no such thing
}

// exports is what the benchmarks read to find the stack: primary and replicas
// as told, the rest as it was started.
func (s State) exports(primary string, replicas []string) []Export {
	of := func(is func(Server) bool) string {
		var at []string
		for _, v := range s.Servers {
			if is(v) {
				at = append(at, v.Address)
			}
		}
		return strings.Join(at, ",")
	}
	ofKind := func(kind env.Kind) string { return of(func(v Server) bool { return v.Kind == kind }) }
	return []Export{
		{"LOCKCOST_REDIS", primary},
		{"LOCKCOST_REPLICAS", strings.Join(replicas, ",")},
		{"LOCKCOST_SENTINEL", ofKind(env.KindSentinel)},
		{"LOCKCOST_MASTER_NAME", s.MasterName},
		{"LOCKCOST_VIA", s.via()},
		{"LOCKCOST_LEDGER", s.Ledger},
		{"LOCKCOST_REDLOCK", of(Server.independent)},
		{"LOCKCOST_ETCD", ofKind(env.KindEtcd)},
		{"LOCKCOST_ZOOKEEPER", ofKind(env.KindZooKeeper)},
		{"LOCKCOST_SERVER_CPUS", placement.Format(s.CPUs)},
	}
}

// via is Via as a list of ANNOUNCED=DIAL.
func (s State) via() string {
	var pairs []string
	for _, announced := range slices.Sorted(maps.Keys(s.Via)) {
		pairs = append(pairs, announced+"="+s.Via[announced])
	}
	return strings.Join(pairs, ",")
}

// shell is the line that sets the variable, or unsets one of a stack that was
// there before.
func (e Export) shell() string {
	if e.Value == "" {
		return "unset " + e.Name
	}
	return "export " + e.Name + "=" + quote(e.Value)
}

// quote writes s as a shell reads it.
func quote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:/_=-"
	if strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
