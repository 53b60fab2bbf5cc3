package usage_test

import (
	"os"
	"testing"

	"lockcost/env/link"
	"lockcost/env/reexec"
)

// The links of a stack's network run in a process of their own.
func TestMain(m *testing.M) {
	reexec.Main(link.Part())
	os.Exit(m.Run())
}
