package failover

import (
	"context"
	"errors"
	"sync"

	"lockcost/env"
	"lockcost/workloads/ledger"
)

// tablesPrefix is of the ledger's tables, which go with the ledger.
const tablesPrefix = "lockcost_failover_"

// ground is what all trials share: the ledger, in which each has orders of its
// own, and where servers come from.
type ground struct {
	provider env.Provider
	stack    *env.Stack
	tables   *ledger.Tables

	mu   sync.Mutex
	next int64 // order that is not yet seeded
}

// lay starts the ledger, with Redis servers beside it as spec says.
func lay(ctx context.Context, provider env.Provider, spec env.Spec) (*ground, error) {
	stack, err := provider.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	tables, err := ledger.CreateTables(ctx, stack.Ledger, tablesPrefix)
	if err != nil {
		return nil, errors.Join(err, stack.Close())
	}
	return &ground{provider: provider, stack: stack, tables: tables}, nil
}

// clear ends all servers but the ledger: every trial has its own.
func (g *ground) clear() error {
	for _, n := range g.stack.Nodes {
		if n.Kind == env.KindLedger {
			continue
		}
		if err := g.stack.Faults.Kill(n.Name); err != nil {
			return err
		}
	}
	return nil
}

// seed puts n orders into the ledger and returns the first one's number.
func (g *ground) seed(ctx context.Context, n int64) (first int64, err error) {
	g.mu.Lock()
	first = g.next
	g.next += n
	g.mu.Unlock()
	return first, g.tables.Seed(ctx, first, int(n))
}

func (g *ground) close() error { return errors.Join(g.tables.Close(), g.stack.Close()) }
