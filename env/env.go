// Package env describes a running stack of real servers: a Spec goes in, a
// Stack comes out. Its sub-packages are the ways to get one. It knows
// processes, ports, readiness and faults, and nothing of locks or latency.
package env

import (
	"cmp"
	"context"
	"crypto/tls"
	"time"
)

// Spec is what a stack must have. The zero value asks for a primary alone.
type Spec struct {
	NoRedis   bool // no primary, and so neither replicas nor Sentinels
	Replicas  int  // replicas of the primary
	Sentinels int  // Sentinels that watch it; 0 for none
	Ledger    bool // a MySQL-family server
	// Independents is Redis servers that know nothing of each other, nor of
	// the primary.
	Independents int
	Etcd         int // members of an etcd cluster
	ZooKeeper    int // servers of a ZooKeeper ensemble
	// Durability is what the servers must have on a disk before they answer.
	Durability Durability
	// LeastSession is the shortest session, or lease, that etcd and ZooKeeper
	// are to admit, at least 400 ms: their ticks and timeouts follow from it.
	// 0 leaves them at their defaults, with which etcd makes of anything less
	// than 2 s just that, and ZooKeeper 4 s.
	LeastSession time.Duration
	// DownAfter is how long a Sentinel waits before it holds a silent
	// primary to be down. 0 means 5 s.
	DownAfter time.Duration
	// FailoverTimeout is Sentinel's failover-timeout: a second failover may
	// start after twice that, and a replica whose master's port is not the
	// one that Sentinel knows is put right after it. 0 means 60 s; with Links
	// 24 h and with a Network 10 min, because what Sentinel would put right is
	// the link: it would send the replica around it (+fix-slave-config).
	FailoverTimeout time.Duration
	// Links lets replicas and clients be put at a distance: Stack.Distance.
	Links bool
	// Network puts links between the nodes that can be broken: Stack.Network.
	// They are not to be asked for together with Links.
	Network bool
	// Pin is the CPUs of every server. Empty leaves them unpinned.
	Pin []int
}

// Merge returns the smallest Spec that satisfies both.
func (s Spec) Merge(o Spec) Spec {
	s.NoRedis = s.NoRedis && o.NoRedis
	s.Replicas = max(s.Replicas, o.Replicas)
	s.Sentinels = max(s.Sentinels, o.Sentinels)
	s.Ledger = s.Ledger || o.Ledger
	s.Independents = max(s.Independents, o.Independents)
	s.Etcd = max(s.Etcd, o.Etcd)
	s.ZooKeeper = max(s.ZooKeeper, o.ZooKeeper)
	s.Durability = cmp.Or(s.Durability, o.Durability)
	s.LeastSession = shorter(s.LeastSession, o.LeastSession)
	s.DownAfter = max(s.DownAfter, o.DownAfter)
	s.FailoverTimeout = max(s.FailoverTimeout, o.FailoverTimeout)
	s.Links = s.Links || o.Links
	s.Network = s.Network || o.Network
	if len(s.Pin) == 0 {
		s.Pin = o.Pin
	}
	return s
}

// shorter is the shorter of two spans of time, of which 0 is none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Durability is what a server must have on a disk before it answers a write.
type Durability string

// The levels. Without one, every server is left as it comes: Redis writes
// nothing, etcd, ZooKeeper and the ledger sync each commit.
const (
	// Relaxed has nobody wait for a disk: Redis without an append-only file,
	// etcd and ZooKeeper without fsync, a ledger that syncs once a second.
	Relaxed Durability = "relaxed"
	// Strict has everybody wait for it: Redis with an append-only file that is
	// synced before each reply, etcd, ZooKeeper and the ledger as they come,
	// with the ledger's binary log synced too where it has one.
	Strict Durability = "strict"
)

// Stack is a running stack. Its addresses are host:port.
type Stack struct {
	Provider string // process, container, external
	// Ours tells that the servers were started for this stack, and go with it.
	Ours   bool
	Redis  Redis
	Ledger string // data source name of the ledger, with its password; "" for none
	// Independents are Redis servers on their own, reached with the user,
	// password and TLS of Redis.
	Independents []string
	Etcd         Etcd
	ZooKeeper    ZooKeeper
	// Durability is what was asked for of servers that are ours.
	Durability Durability
	Nodes      []Node
	// Pinned is the CPUs the servers really have; empty where they are not
	// pinned or not ours to pin.
	Pinned []int
	// Faults is what can be done to the nodes; nil where the provider can do
	// nothing to them.
	Faults Faults
	// Distance puts servers at a distance from each other and from their
	// clients; nil where the provider has no links, or was asked for none.
	Distance Distance
	// Network is the links that can be broken; nil where none were asked for.
	Network Network
	// Notes are sentences about what the servers run in, for whoever reads
	// the numbers.
	Notes []string
	// Close stops every server that was started for this stack and removes
	// what it left on disk. It is safe to call more than once.
	Close func() error
}

// Redis says how to reach the replicated Redis.
type Redis struct {
	Primary    string
	Replicas   []string
	Sentinels  []string
	MasterName string // as the Sentinels call it
	Username   string
	Password   string
	DB         int
	// TLS is how every server is verified, and what we show of ourselves; nil
	// for no TLS. Without a ServerName it is the host that is dialled.
	TLS *tls.Config
	// Via is the addresses to dial in place of those announced: Distance.Via
	// at the time, or where the user says announced servers are reached. Nil
	// for none.
	Via map[string]string
	// SentinelUsername and SentinelPassword are the Sentinels' own; both ""
	// where they ask for none.
	SentinelUsername string
	SentinelPassword string
}

// Etcd says how to reach an etcd cluster.
type Etcd struct {
	Endpoints          []string // host:port of every member; none for no cluster
	Username, Password string
	TLS                *tls.Config // nil for none
	// Heartbeat and ElectionTimeout are as servers that are ours were started
	// with, which etcd does not tell; 0 where they are not known.
	Heartbeat, ElectionTimeout time.Duration
}

// ZooKeeper says how to reach a ZooKeeper ensemble.
type ZooKeeper struct {
	Servers []string // host:port of every server; none for no ensemble
	// Auth is a scheme and its credentials, as addauth has them, such as
	// digest and user:password; both "" for none.
	AuthScheme, Auth string
}

// Node is one server.
type Node struct {
	Name string // primary, replica-1, sentinel-1, ledger, independent-1, etcd-1, zookeeper-1
	Kind Kind
	Addr string
	PID  int // 0 where the server is not a process of this machine's that we started
	// Container is the id of the container it runs in; "" for none.
	Container string
}

// Kind is the kind of server a node is.
type Kind string

// The kinds.
const (
	KindRedis     Kind = "redis" // the replicated ones, and independent ones
	KindSentinel  Kind = "sentinel"
	KindLedger    Kind = "ledger"
	KindEtcd      Kind = "etcd"
	KindZooKeeper Kind = "zookeeper"
)

// Faults does things to single nodes, each known by its Name. An error names
// the node; it is an error to name one that the stack has not, and to pause
// or kill one that does not run.
type Faults interface {
	// Pause stops a node as SIGSTOP does: its connections stay open, and
	// what is sent to it waits in its socket buffers.
	Pause(node string) error
	// Resume lets a paused node go on.
	Resume(node string) error
	// Kill ends a node as a crash does, and returns when it is gone.
	Kill(node string) error
	// Restart starts a killed node again, on its old address and with what
	// its crash left on disk, and returns the node as it now is (its PID is
	// another) once it answers, and one of etcd or ZooKeeper serves again:
	// where a majority is gone they are to be restarted side by side.
	// Stack.Nodes keeps the old one.
	Restart(ctx context.Context, node string) (Node, error)
}

// Provider starts or finds a stack.
type Provider interface {
	// Start returns when the stack is ready: every replica online, the
	// Sentinels in agreement, the ledger answering, every member of etcd and
	// ZooKeeper serving under a leader. Where it fails, nothing it started is
	// left.
	Start(ctx context.Context, spec Spec) (*Stack, error)
}
