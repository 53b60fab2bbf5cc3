package workloads

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockcost/env"
	"lockcost/workloads/ledger"
	"lockcost/workloads/lock"
)

// Pools are as large as the workers are many, up to these bounds: a session
// that opened thousands of connections would measure those. Who waits for a
// connection is recorded, and a verdict names it.
const (
	redisPool       = 256
	independentPool = 128 // of each server
	ledgerPool      = 128
	maxPool         = 4096
)

// Session is a path that is open on a stack, with connections of its own,
// all of them established, and a session with etcd or ZooKeeper where its
// locks are theirs.
type Session struct {
	Locker lock.Locker
	Guard  ledger.Guard // nil where there is no ledger
	// PoolSize and LedgerPoolSize are the numbers of connections, 0 where
	// there are none.
	PoolSize       int
	LedgerPoolSize int

	clients
	watchdog *lock.Watchdog // nil where nothing is renewed
}

// Open opens the path on the stack: connections are established, scripts
// loaded and sessions begun, so that none of it falls into a measurement.
func (p Path) Open(ctx context.Context, stack *env.Stack, s Settings) (*Session, error) {
	session := &Session{}
	if err := p.open(ctx, stack, s, session); err != nil {
		return nil, errors.Join(fmt.Errorf("path %s: %w", p.Label(), err), session.Close())
	}
	return session, nil
}

// open fills in the session, which is closed by the caller if it fails.
func (p Path) open(ctx context.Context, stack *env.Stack, s Settings, session *Session) (err error) {
	if err := p.connect(ctx, stack, s, session); err != nil {
		return err
	}
	if s.Ledger {
		session.LedgerPoolSize = min(s.Workers, ledgerPool)
		if session.db, err = ledger.Open(ctx, stack.Ledger, s.Tables, session.LedgerPoolSize); err != nil {
			return err
		}
		session.db.SetRows(s.TxRows)
		if err := session.db.Fill(ctx); err != nil {
			return err
		}
		session.Guard = p.guardOf(session.db)
	}
	if session.Locker, err = p.locker(parts{p, s, session.clients}); err != nil {
		return err
	}
	session.watchdog, _ = session.Locker.(*lock.Watchdog)
	if s.AcquireTimeout > 0 {
		session.Locker = lock.Persist(session.Locker, s.AcquireTimeout)
	}
	return nil
}

// connect connects to the path's services.
func (p Path) connect(ctx context.Context, stack *env.Stack, s Settings, session *Session) (err error) {
	for _, service := range p.Services() {
		switch service {
		case Redis:
			session.redis, err = filled(ctx, p.config(stack.Redis, s))
			if err == nil {
				session.PoolSize = session.redis.PoolSize()
			}
		case Independents:
			err = p.connectIndependents(ctx, stack, s, session)
		case Etcd:
			session.etcd, err = lock.OpenEtcd(ctx, etcdConfig(stack, s))
		case ZooKeeper:
			session.zookeeper, err = lock.OpenZooKeeper(ctx, zooKeeperConfig(stack, s))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// filled opens a client of one Redis, with its scripts and all connections.
func filled(ctx context.Context, config lock.Config) (*lock.Client, error) {
	client, err := lock.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	if err = client.LoadScripts(ctx); err == nil {
		err = client.Fill(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

func (p Path) connectIndependents(ctx context.Context, stack *env.Stack, s Settings, session *Session) error {
	if len(stack.Independents) == 0 {
		return errors.New("the stack has no independent Redis servers: give --redlock-at host:port,…")
	}
	for _, addr := range stack.Independents {
		r := stack.Redis
		r.Primary, r.Sentinels, r.MasterName = addr, nil, ""
		config := p.config(r, s)
		if p.value("pool") == "" {
			config.PoolSize = min(s.Workers, independentPool)
		}
		config.Primary = dialled(stack, addr)
		client, err := filled(ctx, config)
		if err != nil {
			return err
		}
		session.independents = append(session.independents, client)
		session.PoolSize += client.PoolSize()
	}
	return nil
}

// dialled is where an address of the stack is dialled.
func dialled(stack *env.Stack, addr string) string {
	if via, ok := stack.Redis.Via[addr]; ok {
		return via
	}
	return addr
}

func allDialled(stack *env.Stack, addrs []string) []string {
	all := make([]string, len(addrs))
	for i, addr := range addrs {
		all[i] = dialled(stack, addr)
	}
	return all
}

func etcdConfig(stack *env.Stack, s Settings) lock.EtcdConfig {
	e := stack.Etcd
	return lock.EtcdConfig{
		Endpoints: allDialled(stack, e.Endpoints), Username: e.Username, Password: e.Password, TLS: e.TLS,
		Prefix: s.Prefix, TTL: s.TTL,
	}
}

func zooKeeperConfig(stack *env.Stack, s Settings) lock.ZooKeeperConfig {
	z := stack.ZooKeeper
	return lock.ZooKeeperConfig{
		Servers: allDialled(stack, z.Servers), AuthScheme: z.AuthScheme, Auth: z.Auth,
		Root: "/" + strings.TrimSuffix(s.Prefix, ":"), SessionTimeout: s.TTL,
	}
}

func (p Path) guardOf(db *ledger.DB) ledger.Guard {
	if guard := p.guarding(); guard != nil {
		return guard(db)
	}
	return db.Plain()
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

// Opening is how long it takes to open what the path needs before its first
// lock, the ledger aside: one connection to each server, with its scripts, and
// a session where the service has them. It is closed again.
func (p Path) Opening(ctx context.Context, stack *env.Stack, s Settings) (time.Duration, error) {
	s.Workers, s.Ledger = 1, false
	one := p
	one.chosen = p.Options()
	delete(one.chosen, poolOption.name)
	session := &Session{}
	began := time.Now()
	err := one.connect(ctx, stack, s, session)
	took := time.Since(began)
	return took, errors.Join(err, session.Close())
}

// PoolWaits is how long operations have stood in line for a connection of the
// lock clients and of the ledger so far, added up.
func (s *Session) PoolWaits() (lock, ledger time.Duration) {
	if s.redis != nil {
		lock = s.redis.PoolWait()
	}
	for _, c := range s.independents {
		lock += c.PoolWait()
	}
	if s.db != nil {
		ledger = s.db.PoolWait()
	}
	return lock, ledger
}

// LockInUse is how many connections of the lock clients are in use; of etcd
// and ZooKeeper, whose sessions all operations share, it is not known, and 0.
func (s *Session) LockInUse() (n int) {
	if s.redis != nil {
		n = s.redis.InUse()
	}
	for _, c := range s.independents {
		n += c.InUse()
	}
	return n
}

// LedgerInUse is how many connections to the ledger are in use.
func (s *Session) LedgerInUse() int {
	if s.db == nil {
		return 0
	}
	return s.db.InUse()
}

// Renewals are those of locks that a watchdog has held so far; ok is false
// where there is none.
func (s *Session) Renewals() (r lock.Renewals, ok bool) {
	if s.watchdog == nil {
		return r, false
	}
	return s.watchdog.Renewals(), true
}

// Close ends the session and its connections.
func (s *Session) Close() error {
	var errs []error
	if s.watchdog != nil {
		errs = append(errs, s.watchdog.Close())
	}
	if s.redis != nil {
		errs = append(errs, s.redis.Close())
	}
	for _, c := range s.independents {
		errs = append(errs, c.Close())
	}
	if s.etcd != nil {
		errs = append(errs, s.etcd.Close())
	}
	if s.zookeeper != nil {
		errs = append(errs, s.zookeeper.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	return errors.Join(errs...)
}
