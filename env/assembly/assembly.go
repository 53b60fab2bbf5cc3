// Package assembly puts a stack together from single servers, wherever those
// run: it knows how they are configured, in which order they are started,
// when they are ready and how they are put at a distance. A provider of
// stacks brings a Runner, which knows how to run one server.
//
// The servers keep their own defaults, durability above all. What is set is
// what makes them private and ready soon, and each setting says why.
package assembly

import (
	"context"
	"errors"

	"lockcost/env"
)

// ErrPortTaken is why a server ended, or could not be started, when somebody
// else has taken its port: the stack is tried again on other ports.
var ErrPortTaken = errors.New("port taken")

// Runner runs the servers of one stack.
type Runner interface {
	// Place gives a server its addresses and its folder, and starts nothing.
	// It is called for one server at a time.
	Place(ctx context.Context, name string, kind env.Kind) (Server, error)
	// Pinned is the CPUs that the servers are confined to; nil for none.
	Pinned() []int
	// Close ends every server and removes what they left. It is safe to call
	// more than once, and while a server is being started.
	Close() error
}

// Server is one server of a Runner's.
type Server interface {
	// Node describes the server as it is now. Its address is the driver's
	// way to it.
	Node() env.Node
	// Peer is the address, a number and not a name, by which the stack's
	// other servers reach it, and which they tell of it: host:port.
	Peer() string
	// Internal is the addresses, numbers too, by which other servers of its
	// kind reach it beside Peer: of etcd one, where its peers go; of ZooKeeper
	// two, of the quorum and of the election. Nil for the other kinds.
	Internal() []string
	// Directives are lines of the server's configuration that keep it to
	// itself: where it listens, its folder. For Redis and Sentinel those of
	// redis.conf (port, bind, dir), for etcd of its YAML file (data-dir,
	// listen-client-urls, listen-peer-urls), for ZooKeeper of zoo.cfg (dataDir,
	// clientPort, clientPortAddress). "" for a ledger.
	Directives() string
	// File is the path of that configuration, as a Redis's INFO tells it. No
	// other server has the same.
	File() string
	// Start starts the server with text in a file of its own, which it may
	// rewrite: its configuration, or for a ledger the first SQL, a statement
	// a line. A ZooKeeper is number N in a file myid of its dataDir, where its
	// name ends in -N. It returns when the server has been started and not
	// when it answers.
	Start(ctx context.Context, text string) error
	// Restart starts a server that has ended, with what is on its disk.
	Restart(ctx context.Context) error
	// Ended returns a channel that is closed when the server has ended, in
	// its present life.
	Ended() <-chan struct{}
	// Failure tells why a server ended that was not killed, with the last
	// lines of its log. It wraps ErrPortTaken where that is why.
	Failure() error
	// LogTail is the last lines of the server's log for an error message: it
	// begins with "; last lines of its log:\n". "" where there are none.
	LogTail() string
	// Pause, Resume and Kill are those of env.Faults. It is an error if the
	// server does not run. Kill returns when it is gone.
	Pause() error
	Resume() error
	Kill() error
}
