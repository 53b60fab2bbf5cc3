package main

import (
	"os"
	"testing"

	"lockcost/env/reexec"
)

func TestMain(m *testing.M) {
	reexec.Main(parts()...)
	os.Exit(m.Run())
}
