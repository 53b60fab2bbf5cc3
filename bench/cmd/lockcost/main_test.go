package main

import (
	"os"
	"testing"

	"lockcost/bench"
	"lockcost/env/reexec"
	"lockcost/env/supervisor"
)

func TestMain(m *testing.M) {
	reexec.Main(append(bench.Parts(), supervisor.Part())...)
	os.Exit(m.Run())
}
