// Package placement decides which CPUs the driver has and which the servers
// have, and moves the driver to its own.
//
// Where threads land decides the floor of what can be measured: a PING takes
// a fifth of the time when the scheduler happens to put the server on the
// driver's CPU, and it changes its mind from minute to minute. So the two
// are kept on disjoint sets, wherever there are two CPUs or more.
package placement

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	// Switch is the environment variable that turns placement off when it
	// is set to "off".
	Switch = "LOCKCOST_PIN"
	// marker carries the split across the re-execution: the driver's CPUs,
	// a slash, the servers'. By its presence the second run knows that it is
	// the second.
	marker = "LOCKCOST_PLACED"
)

// Placement is where the driver and the servers are to run.
type Placement struct {
	Pinned bool // the driver is confined to Driver, which no server shares
	// Preferred: the driver's threads go before every ordinary thread on its
	// CPUs (nice -20). The servers never do.
	Preferred bool
	Driver    []int  // CPUs of the driver, ascending
	Servers   []int  // CPUs for the servers, ascending; the driver's own where not pinned
	Note      string // what is not pinned, and why; "" where everything is
}

// Pin is the CPUs to start servers on: Servers where the driver is pinned,
// else none.
func (p Placement) Pin() []int {
	if !p.Pinned {
		return nil
	}
	return p.Servers
}

// Policy is how a thread stands to others on its CPUs.
type Policy int

// The policies (sched(7)).
const (
	Ordinary  Policy = iota // SCHED_OTHER
	Preferred               // SCHED_OTHER at the highest priority, nice -20; needs root or CAP_SYS_NICE
	Realtime                // SCHED_RR: before all of those, but not for long; needs the same
)

// Thread is ThreadAs at ordinary priority.
func Thread(cpus []int) error { return ThreadAs(cpus, Ordinary) }

// Environ is this process's environment without what Enter added, for
// processes that are placed otherwise.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, marker+"=") })
}

// Split shares cpus out: a quarter of them to the driver, at least one, and
// the rest to the servers. A single CPU, or none, is shared by both.
func Split(cpus []int) (driver, servers []int) {
	cpus = slices.Sorted(slices.Values(cpus))
	if len(cpus) < 2 {
		return cpus, slices.Clone(cpus)
	}
	n := max(1, len(cpus)/4)
	return cpus[:n:n], cpus[n:]
}

// Enter confines this process to the driver's CPUs by executing it again,
// with the same arguments, from a thread that is confined already: every
// thread that the runtime then makes inherits that, and GOMAXPROCS follows.
// Where it may, it gives the driver priority on them.
//
// It is called first thing in main or TestMain, before files are opened or
// goroutines started. It returns nil in the process that has been placed,
// and where there is nothing to do: one CPU, LOCKCOST_PIN=off, a system
// without affinity. An error means that the process goes on unplaced.
func Enter() error {
	if off() || os.Getenv(marker) != "" {
		return nil
	}
	cpus, err := Allowed()
	if err != nil || len(cpus) < 2 {
		return nil // Current says why
	}
	driver, servers := Split(cpus)
	if err := enter(driver, marker+"="+Format(driver)+"/"+Format(servers)); err != nil {
		return fmt.Errorf("confining the driver to CPU %s: %w", Format(driver), err)
	}
	return nil
}

// Current tells where this process is, and where its servers should be.
func Current() Placement {
	cpus, err := Allowed()
	if err != nil {
		return Placement{Note: fmt.Sprintf("driver and servers are not pinned: %v", err)}
	}
	p := Placement{Driver: cpus, Servers: slices.Clone(cpus)}
	driver, servers, marked := parseMarker(os.Getenv(marker))
	switch {
	case off():
		p.Note = "driver and servers are not pinned: " + Switch + "=off"
	case marked && slices.Equal(driver, cpus):
		p = Placement{Pinned: true, Driver: driver, Servers: servers, Preferred: preferred()}
		if !p.Preferred {
			p.Note = "the driver has no priority on its CPUs, which needs root or CAP_SYS_NICE: the kernel's own work may delay it for milliseconds"
		}
		return p
	case marked:
		p.Note = fmt.Sprintf("driver and servers are not pinned: the driver was placed on CPU %s and is now on %s",
			Format(driver), Format(cpus))
	case len(cpus) < 2:
		p.Note = "driver and servers are not pinned: they share the only CPU"
	default:
		p.Note = "driver and servers are not pinned: the process was not placed when it started"
	}
	return p
}

func off() bool { return os.Getenv(Switch) == "off" }

// Format writes CPU numbers as taskset reads them: 0,2,3. None is "".
func Format(cpus []int) string {
	var s []string
	for _, c := range cpus {
		s = append(s, strconv.Itoa(c))
	}
	return strings.Join(s, ",")
}

// Parse reads what Format writes.
func Parse(s string) ([]int, error) {
	var cpus []int
	if s == "" {
		return nil, nil
	}
	for f := range strings.SplitSeq(s, ",") {
		c, err := strconv.Atoi(f)
		if err != nil {
			return nil, err
		}
		cpus = append(cpus, c)
	}
	return cpus, nil
}

func parseMarker(s string) (driver, servers []int, ok bool) {
	d, r, found := strings.Cut(s, "/")
	if !found {
		return nil, nil, false
	}
	driver, err := Parse(d)
	if err != nil {
		return nil, nil, false
	}
	servers, err = Parse(r)
	return driver, servers, err == nil
}
