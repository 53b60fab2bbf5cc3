package env

import (
	"context"
	"time"
)

// Distance puts a stack's servers at a distance: what one sends another goes
// through a link that holds it back. It is used by one at a time.
type Distance interface {
	// Set puts every replica at a round trip of replica from the primary,
	// and clients at one of client from every Redis server, etcd and
	// ZooKeeper, beyond what loopback takes. The members of etcd, and of
	// ZooKeeper, stay as near to each other as they are. A one-way delay then lies anywhere within jitter,
	// half of it on either side. A round trip of 0 goes without a link.
	//
	// A round trip that was not asked for before is calibrated, which takes
	// a second or two. Set returns when every replica is online again by its
	// way, as Check would find it. An error for a round trip shorter than
	// what the link itself takes tells that least one, and one for jitter
	// that would take a delay below 0 the most. After an error the distance
	// is not known, until Set is called again.
	//
	// Clients connect anew after it: Via says where. What they have open
	// keeps its way.
	Set(ctx context.Context, replica, client, jitter time.Duration) error
	// Via maps the addresses of servers, as a Stack has them or as they are
	// announced, to those to dial in their place: for Redis.Via, and for
	// clients of independent Redis servers, etcd and ZooKeeper to look theirs
	// up. It is nil without a client distance.
	Via() map[string]string
	// Check tells whether replication goes the way that Set made it go. Its
	// error names the replica that goes around its link, or is not online.
	// It takes a round trip to each server, by no link.
	Check(ctx context.Context) error
	// Watch measures round trips, some 40 a second by the link, until the function it
	// returns is called, which tells what they were: the zero Trip where no
	// link is in use. The measuring is done by the links' own processes.
	Watch(ctx context.Context) (stop func(ctx context.Context) (replica, client Trip, err error), err error)
}

// Trip is a round trip across a link as it was really seen, by probes that
// went through the link and around it side by side.
type Trip struct {
	Asked time.Duration // what Set was asked for; 0 where no link is in use
	// P50, P90 and P99 are the trips through the link less the median of
	// those around it. They hold the servers' own variation too, the more the
	// busier those are: what the link adds to it is in Out and Back.
	P50, P90, P99 time.Duration
	Direct        time.Duration // that median
	Overhead      time.Duration // what P50 is when the link holds nothing back
	Out, Back     Delay         // to the servers, and from them
	Probes        int64         // trips through the link
	Failed        int64         // probes that got no reply, either way
}

// Delay is how long a link held back what went through it one way: all that
// did, from when it was read to when it was passed on.
type Delay struct {
	Set      time.Duration // what it was to be, without jitter
	P50, P99 time.Duration
	Max      time.Duration
	Chunks   int64 // how many were passed on
}
