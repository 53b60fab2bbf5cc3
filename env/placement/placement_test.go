package placement

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// helper makes this test binary behave as a program that places itself.
const helper = "PLACEMENT_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helper) == "" {
		os.Exit(m.Run())
	}
	if err := Enter(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	report := output{Current(), os.Args[1:], runtime.GOMAXPROCS(0)}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		os.Exit(1)
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ cpus, driver, servers []int }{
		{nil, nil, nil},
		{[]int{3}, []int{3}, []int{3}},
		{[]int{0, 1}, []int{0}, []int{1}},
		{[]int{1, 0}, []int{0}, []int{1}},
		{[]int{2, 5, 7}, []int{2}, []int{5, 7}},
		{[]int{0, 1, 2, 3}, []int{0}, []int{1, 2, 3}},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, []int{0, 1}, []int{2, 3, 4, 5, 6, 7}},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7, 8}, []int{0, 1}, []int{2, 3, 4, 5, 6, 7, 8}},
	} {
		given := slices.Clone(c.cpus)
		driver, servers := Split(c.cpus)
		if !slices.Equal(driver, c.driver) || !slices.Equal(servers, c.servers) {
			t.Errorf("Split(%v) = %v, %v; want %v, %v", c.cpus, driver, servers, c.driver, c.servers)
		}
		if !slices.Equal(given, c.cpus) {
			t.Errorf("Split changed its argument to %v", c.cpus)
		}
	}
}

// mustAllowed is the CPUs we may run on. Only a system that has no such thing
// is passed over.
func mustAllowed(t *testing.T) []int {
	t.Helper()
	cpus, err := Allowed()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cpus
}

func TestEnterConfinesTheWholeProcess(t *testing.T) {
	cpus := mustAllowed(t)
	out, err := run(t, "one", "two words")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(out.Args, []string{"one", "two words"}) {
		t.Errorf("arguments after re-execution: %q", out.Args)
	}
	driver, servers := Split(cpus)
	if len(cpus) < 2 {
		if out.Pinned || !strings.Contains(out.Note, "only CPU") {
			t.Errorf("on one CPU: %+v", out.Placement)
		}
		return
	}
	if !out.Pinned || (out.Note == "") != out.Preferred || !slices.Equal(out.Driver, driver) || !slices.Equal(out.Servers, servers) {
		t.Errorf("placed as %+v, want driver %v and servers %v", out.Placement, driver, servers)
	}
	if out.Procs > len(driver) {
		t.Errorf("GOMAXPROCS is %d on %d CPUs", out.Procs, len(driver))
	}
}

func TestEnterSwitchedOff(t *testing.T) {
	mustAllowed(t)
	t.Setenv(Switch, "off")
	out, err := run(t)
	if err != nil {
		t.Fatal(err)
	}
	if out.Pinned || len(out.Pin()) != 0 || !strings.Contains(out.Note, Switch) {
		t.Errorf("switched off: %+v", out.Placement)
	}
}

func TestMarkerOfAnotherPlaceIsNotBelieved(t *testing.T) {
	cpus := mustAllowed(t)
	t.Setenv(marker, "9998/9999")
	p := Current()
	if p.Pinned || !slices.Equal(p.Driver, cpus) || !strings.Contains(p.Note, "9998") {
		t.Errorf("a foreign marker gave %+v", p)
	}
}

type output struct {
	Placement
	Args  []string
	Procs int
}

func run(t *testing.T, args ...string) (output, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Stderr = os.Stderr
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, marker+"=") && !strings.HasPrefix(v, "GOMAXPROCS=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, helper+"=1")
	raw, err := cmd.Output()
	if err != nil {
		return output{}, err
	}
	var out output
	return out, json.Unmarshal(raw, &out)
}
