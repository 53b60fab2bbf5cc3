package link_test

import (
	"os"
	"testing"

	"lockcost/env/link"
	"lockcost/env/reexec"
)

func TestMain(m *testing.M) {
	reexec.Main(link.Part())
	os.Exit(m.Run())
}
