// Package processtest starts stacks of real servers for tests.
package processtest

import (
	"errors"
	"os"
	"testing"

	"lockcost/env"
	"lockcost/env/process"
)

// Start starts what spec asks for, and ends it when the test and its
// subtests are done. Where a server's program is not installed the test is
// skipped, and says which; where CI is set that is a failure.
func Start(t testing.TB, spec env.Spec) *env.Stack {
	t.Helper()
	s, err := process.Provider{}.Start(t.Context(), spec)
	if missing := (*process.MissingError)(nil); errors.As(err, &missing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
