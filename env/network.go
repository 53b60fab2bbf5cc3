package env

import (
	"context"
	"time"
)

// Network is links between the nodes of a stack that can be broken: from each
// replica to the primary, from the Sentinels to the primary, from its peers to
// each member of etcd, and from each of two clients to every server but the
// Sentinels and the ledger. ZooKeeper's servers reach each other without a
// link: they tell each other where they are themselves. Links lead to where
// the nodes were when the stack was started: once a Sentinel has told a replica
// of another primary, that replica goes there without a link. An old primary
// that comes back is made a replica through the Sentinels' link, and known by
// it.
type Network interface {
	// Set puts one way into a state, at once, for the connections that are
	// open and for those to come. Bytes that are held back when a state
	// begins which does not hold them are passed on, unless it is cut. An
	// error names the way, and is of one that the stack has not, a state that
	// cannot be, or links that have ended.
	Set(ctx context.Context, w Way, s WayState) error
	// Mend puts every way back to the zero state.
	Mend(ctx context.Context) error
	// Redis is how a client reaches the servers by links of its own: the
	// stack's Redis with another Via, which has every address that a server
	// is known by or announced at. The Sentinels are reached without a link,
	// and so is all by a client that is none of Clients.
	Redis(client string) Redis
	// Address is where a client reaches a node by a link of its own: one of
	// the Clients, and a node of etcd, of ZooKeeper, or a Redis server; "" for
	// any other.
	Address(client, node string) string
	// Check tells whether every replica still reaches the primary by its
	// link, in whatever state that is. Its error names the one that goes
	// around, or is no replica any more: Sentinel sends a replica by the
	// address that it knows itself, failover-timeout after it has seen
	// another (+fix-slave-config).
	Check(ctx context.Context) error
}

// Way is a link: who connects, and to which node.
type Way struct {
	From string // replica-1 and so on, Sentinels, Peers, or one of the Clients
	To   string // primary; for Peers a member of etcd; for a client any node with a link
}

// Peers are as From of a Way all other members of the cluster that To is one
// of. A member answers its peers also on connections that it has opened
// itself: what is held up on its own way is what comes in, and what is sent on
// the connections that came in.
const Peers = "peers"

// Sentinels are as From of a Way all Sentinels together.
const Sentinels = "sentinels"

// Clients are the clients that have links of their own.
var Clients = [2]string{"first", "second"}

// WayState is what a link does to what passes. The zero state passes all on
// at once.
type WayState struct {
	// Delay is how long each chunk is held back, in both directions.
	Delay time.Duration
	// HoldRequests and HoldReplies are black holes: nothing passes from who
	// connects, or to it. Connections stay open, also when their other end is
	// gone, and new ones seem to be made. What was sent meanwhile is passed on
	// when the hole is closed, as TCP would by sending it again, and so would
	// the system of a sender that is gone by then; only after it the other
	// side sees the end. Where the other side is gone it is lost.
	HoldRequests, HoldReplies bool
	// Cut resets every connection (RST), with what is on its way, and those
	// that are made meanwhile.
	Cut bool
	// BytesPerS is the most that passes in each direction of a connection; 0
	// for no bound.
	BytesPerS int64
}
