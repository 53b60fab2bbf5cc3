// Package process starts a stack of real servers as child processes on
// loopback addresses: a Redis primary, its replicas, their Sentinels, a
// MariaDB for the ledger, independent Redis servers, etcd and ZooKeeper. Each
// stack has free ports and a private folder.
//
// Replicas and clients can be put at a distance (env.Distance), by links that
// are processes beside the servers, on the same CPUs.
//
// Nothing outlives the driver: Close ends the servers and removes the
// folder; where the driver is killed, its servers are killed with it, and
// the next start removes the folder.
package process

import (
	"context"
	"time"

	"lockcost/env"
	"lockcost/env/assembly"
)

// readyTimeout bounds a start, retries included.
const readyTimeout = 30 * time.Second

// Provider starts stacks as child processes. The zero value is ready.
type Provider struct {
	// Dir is where the stacks' folders are made. "" means the system's
	// temporary folder, unless that is in memory, where a durable commit
	// costs nothing; then /var/tmp.
	Dir string
	// RedisServer is the program to run in place of redis-server, as Sentinel
	// too: a path, or a name to be found. "" means what LOCKCOST_REDIS_SERVER
	// names, else the redis-server that is installed.
	RedisServer string

	port func() (int, error) // a port to try; nil means assembly.FreePort
}

var _ env.Provider = Provider{}

// Start starts what spec asks for and returns when all of it is ready. It
// takes at most 30 s, and less when ctx ends. An error tells which server
// was not ready, and ends with the last lines of that server's log.
func (p Provider) Start(ctx context.Context, spec env.Spec) (*env.Stack, error) {
	if err := assembly.Check(spec); err != nil {
		return nil, err
	}
	programs, err := find(spec, p.RedisServer)
	if err != nil {
		return nil, err
	}
	dir, err := p.root()
	if err != nil {
		return nil, err
	}
	sweep(dir)
	if p.port == nil {
		p.port = assembly.FreePort
	}
	return assembly.Start(ctx, spec, assembly.Options{
		Provider: "process", Ready: readyTimeout,
		Open: func(context.Context) (assembly.Runner, error) {
			return open(dir, spec.Pin, programs, p.port)
		},
	})
}
