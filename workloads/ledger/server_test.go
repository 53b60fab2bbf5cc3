package ledger

import (
	"context"
	"fmt"
	"os"
	"testing"

	"lockcost/env"
	"lockcost/env/process/processtest"
)

// shared is the server of all this package's tests, which keep apart by the
// prefixes of their tables; "" before the first of them.
var shared string

// atEnd is what ends it.
var atEnd []func()

func TestMain(m *testing.M) {
	code := m.Run()
	for _, f := range atEnd {
		f()
	}
	os.Exit(code)
}

// startLedger returns the data source name of a real server: the one that
// LOCKCOST_LEDGER names, whose user may need all rights, or a fresh one.
func startLedger(t *testing.T) string {
	t.Helper()
	if dsn := os.Getenv("LOCKCOST_LEDGER"); dsn != "" {
		return dsn
	}
	if shared == "" {
		shared = processtest.Start(lasting{t}, env.Spec{Ledger: true}).Ledger
	}
	return shared
}

// lasting is a test whose server outlives it.
type lasting struct{ testing.TB }

func (lasting) Context() context.Context { return context.Background() }
func (lasting) Cleanup(f func())         { atEnd = append(atEnd, f) }
func (lasting) Error(args ...any)        { fmt.Fprintln(os.Stderr, args...) }
