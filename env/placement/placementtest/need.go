// Package placementtest says what CPUs a test needs. Where they are lacking
// the test is passed over, and fails where CI is set.
package placementtest

import (
	"errors"
	"os"
	"testing"

	"lockcost/env/placement"
)

// OwnCPU needs a CPU that this process, which was placed, has to itself.
func OwnCPU(t testing.TB) {
	t.Helper()
	if p := placement.Current(); !p.Pinned {
		lack(t, p.Note)
	}
}

// TwoCPUs needs two CPUs to choose from, and returns all there are.
func TwoCPUs(t testing.TB) []int {
	t.Helper()
	cpus, err := placement.Allowed()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		lack(t, err.Error())
	case err != nil:
		t.Fatal(err)
	case len(cpus) < 2:
		lack(t, "this test needs two CPUs")
	}
	return cpus
}

func lack(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}
