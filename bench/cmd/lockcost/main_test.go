package main

import (
	"os"
	"testing"

	"lockcost/env/link"
	"lockcost/env/reexec"
	"lockcost/env/supervisor"
)

func TestMain(m *testing.M) {
	reexec.Main(link.Part(), supervisor.Part())
	os.Exit(m.Run())
}
