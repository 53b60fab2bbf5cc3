package workloads

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"time"

	"lockcost/env"
	"lockcost/workloads/ledger"
	"lockcost/workloads/lock"
)

// Pools are as large as the workers are many, up to these bounds: a session
// that opened thousands of connections would measure those. Who waits for a
// connection is recorded, and a verdict names it.
const (
	redisPool  = 256
	ledgerPool = 128
	maxPool    = 4096
)

var poolOption = option{name: "pool", help: "connections of the lock client, 256 or one a worker by default"}

// Catalogue lists the paths, floors first.
func Catalogue() []Path {
	return []Path{
		{
			Name: "null", Floor: true,
			Summary: "no lock: the driver's own floor",
			locker:  func(parts) (lock.Locker, error) { return lock.Null{}, nil },
		},
		{
			Name: "ping", Floor: true,
			Summary: "one PING instead of a lock: the floor of a round trip",
			redis:   true,
			locker:  func(p parts) (lock.Locker, error) { return lock.NewPing(p.client), nil },
		},
		{
			Name:    "setnx",
			Summary: "SET NX PX, released by compare-and-delete; nothing guards the ledger",
			options: []option{
				{name: "form", values: []string{string(lock.FormCommand), string(lock.FormScript)}, help: "one command, or SETNX and PEXPIRE in a script"},
				poolOption,
			},
			redis:  true,
			locker: func(p parts) (lock.Locker, error) { return lock.NewSetNX(p.client, lock.Form(p.value("form"))) },
		},
		{
			Name:    "setnx-wait",
			Summary: "the same, granted once WAIT has counted enough replicas, else undone",
			options: []option{
				{name: "round-trips", values: []string{"1", "2"}, help: "SET and WAIT pipelined, or one after the other"},
				poolOption,
			},
			redis: true, replica: true,
			locker: newSetNXWait,
		},
		{
			Name:    "fencing",
			Summary: "lock and token in one script; the ledger refuses a holder with an old token",
			options: []option{
				{name: "token", values: []string{"redis", "ledger"}, help: "minted by the lock's script, or by the ledger's sequence"},
				poolOption,
			},
			redis: true, tokens: true,
			locker: newFencing,
			guard:  (*ledger.DB).Token,
		},
		{
			Name:    "idempotent",
			Summary: "the lock of setnx; the ledger ignores a repeat by a unique key",
			options: []option{poolOption},
			redis:   true,
			locker:  func(p parts) (lock.Locker, error) { return lock.NewSetNX(p.client, lock.FormCommand) },
			guard:   (*ledger.DB).UniqueKey,
		},
	}
}

// Floors are the paths that are measured beside all others.
func Floors() []Path {
	var floors []Path
	for _, p := range Catalogue() {
		if p.Floor {
			floors = append(floors, p)
		}
	}
	return floors
}

// parts is what a locker is made of.
type parts struct {
	Path
	Settings
	client *lock.Client
	db     *ledger.DB
}

func newSetNXWait(p parts) (lock.Locker, error) {
	trips, err := strconv.Atoi(p.value("round-trips"))
	if err != nil {
		return nil, err
	}
	return lock.NewSetNXWait(p.client, lock.WaitOptions{
		Replicas: p.WaitReplicas, Timeout: p.WaitTimeout, RoundTrips: trips,
	})
}

func newFencing(p parts) (lock.Locker, error) {
	if p.value("token") == "redis" {
		return lock.NewFencing(p.client, p.Prefix), nil
	}
	if p.db == nil {
		return nil, errors.New("token=ledger needs a ledger")
	}
	plain, err := lock.NewSetNX(p.client, lock.FormCommand)
	if err != nil {
		return nil, err
	}
	return lock.WithMinter(plain, p.db), nil
}

// open fills in the session, which is closed by the caller if it fails.
func (p Path) open(ctx context.Context, stack *env.Stack, s Settings, session *Session) (err error) {
	if p.redis {
		if session.client, err = lock.Open(ctx, p.config(stack.Redis, s)); err != nil {
			return err
		}
		session.PoolSize = session.client.PoolSize()
		if err := session.client.LoadScripts(ctx); err != nil {
			return err
		}
		if err := session.client.Fill(ctx); err != nil {
			return err
		}
	}
	if s.Ledger {
		session.LedgerPoolSize = min(s.Workers, ledgerPool)
		if session.db, err = ledger.Open(ctx, stack.Ledger, s.Tables, session.LedgerPoolSize); err != nil {
			return err
		}
		if err := session.db.Fill(ctx); err != nil {
			return err
		}
		session.Guard = p.guardOf(session.db)
	}
	session.Locker, err = p.locker(parts{p, s, session.client, session.db})
	if err == nil && s.AcquireTimeout > 0 {
		session.Locker = lock.Persist(session.Locker, s.AcquireTimeout)
	}
	return err
}

func (p Path) guardOf(db *ledger.DB) ledger.Guard {
	if p.guard == nil {
		return db.Plain()
	}
	return p.guard(db)
}

// replyMargin is how much longer than the longest wait a reply may take
// where no operation's deadline ends it before.
const replyMargin = time.Second

func (p Path) config(r env.Redis, s Settings) lock.Config {
	size := min(s.Workers, redisPool)
	if given := p.value("pool"); given != "" {
		size, _ = strconv.Atoi(given) // checked when it was set
	}
	return lock.Config{
		Primary: r.Primary, Sentinels: r.Sentinels, MasterName: r.MasterName,
		Via:      r.Via,
		Username: r.Username, Password: r.Password, DB: r.DB,
		SentinelUsername: r.SentinelUsername, SentinelPassword: r.SentinelPassword,
		PoolSize:    size,
		ReadTimeout: max(s.OpTimeout, s.WaitTimeout) + replyMargin,
		TLS:         r.TLS,
	}
}

// Check asks the servers for what the path needs beyond an answer, and says
// what is missing and what to try.
func (p Path) Check(ctx context.Context, session *Session, s Settings) error {
	if session.client == nil {
		return nil
	}
	needs := lock.Needs{Path: p.Label(), Prefix: s.Prefix, Tokens: p.tokens && p.value("token") == "redis"}
	if p.replica {
		needs.Replicas = s.WaitReplicas
	}
	return lock.Check(ctx, session.client, needs)
}

// RemoveKeys deletes those of keys that are there, and nothing else.
func RemoveKeys(ctx context.Context, stack *env.Stack, keys iter.Seq[string]) error {
	if stack.Redis.Primary == "" {
		return nil
	}
	config := Path{}.config(stack.Redis, Settings{Workers: 1})
	client, err := lock.Open(ctx, config)
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Remove(ctx, keys)
	return err
}
