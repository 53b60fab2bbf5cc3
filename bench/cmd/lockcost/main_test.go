package main

import (
	"os"
	"testing"

	"lockcost/env/reexec"
	"lockcost/env/supervisor"
)

func TestMain(m *testing.M) {
	reexec.Main(supervisor.Part())
	os.Exit(m.Run())
}
