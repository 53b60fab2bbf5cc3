// Package processtest starts stacks of real servers for tests.
package processtest

import (
	"errors"
	"testing"

	"lockcost/env"
	"lockcost/env/envtest"
	"lockcost/env/process"
)

// Start starts what spec asks for, and ends it when the test and its
// subtests are done. Where a server's program is not installed the test is
// skipped, and says which; where CI is set that is a failure.
func Start(t testing.TB, spec env.Spec) *env.Stack {
	t.Helper()
	return StartWith(t, process.Provider{}, spec)
}

// StartWith is Start with a provider that is set up in another way.
func StartWith(t testing.TB, p process.Provider, spec env.Spec) *env.Stack {
	t.Helper()
	return envtest.StartWith(t, p, spec, Need)
}

// Need skips the test where err tells that a program is not installed, and
// fails it where CI is set. Any other err is the caller's.
func Need(t testing.TB, err error) {
	t.Helper()
	var missing *process.MissingError
	if !errors.As(err, &missing) {
		return
	}
	envtest.Lack(t, err)
}
