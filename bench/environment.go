package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"lockcost/env"
	"lockcost/env/placement"
	"lockcost/env/timer"
	"lockcost/results"
)

// Describe records where a run takes place: the machine, the servers and
// their settings, and what limits the numbers.
func Describe(ctx context.Context, stack *env.Stack) (results.Environment, error) {
	e := results.Environment{
		CPUs: onlineCPUs(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Go: runtime.Version(), Lockcost: Revision(),
	}
	describeMachine(&e)
	placed := placement.Current()
	e.Placement = results.Placement{
		Pinned: placed.Pinned, Preferred: placed.Preferred,
		DriverCPUs: placed.Driver, ServerCPUs: stack.Pinned, Note: placed.Note,
	}
	servers, err := env.Inspect(ctx, stack)
	if err != nil {
		return e, fmt.Errorf("asking the servers for their versions and settings: %w", err)
	}
	for _, s := range servers {
		e.Servers = append(e.Servers, results.Server{
			Name: s.Name, Kind: s.Kind, Version: s.Version, Address: s.Address, Settings: s.Settings,
		})
	}
	e.Topology = topology(servers)
	e.Notes = notes(stack, placed)
	return e, nil
}

// Revision is the commit that this program was built from, where the build
// knew it.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, modified := info.Main.Version, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+modified"
		}
	}
	return revision + modified
}

// topology is the stack in one line, for a figure's subtitle.
func topology(servers []env.Server) string {
	count := map[string]int{}
	var order []string
	for _, s := range servers {
		role, _, _ := strings.Cut(s.Name, "-")
		version, _, _ := strings.Cut(s.Version, " ") // MariaDB's goes on with its origin
		switch role {
		case "primary", "ledger":
			role = s.Kind + " " + version + " " + role
		case "independent":
			role = "independent " + s.Kind + " " + version
		case "etcd", "zookeeper":
			role = s.Kind + " " + version
		}
		if count[role] == 0 {
			order = append(order, role)
		}
		count[role]++
	}
	parts := make([]string, len(order))
	for i, role := range order {
		parts[i] = role
		switch n := count[role]; {
		case role == "replica" || role == "sentinel":
			parts[i] = fmt.Sprintf("%d %s", n, role)
			if n > 1 {
				parts[i] += "s"
			}
		case n > 1: // of one version
			parts[i] = fmt.Sprintf("%d × %s", n, role)
		}
	}
	return strings.Join(parts, ", ")
}

func notes(stack *env.Stack, placed placement.Placement) []string {
	notes := slices.Clone(stack.Notes)
	if !stack.Ours {
		notes = append(notes, "The servers were not started by lockcost: what else they were doing is not known.")
	}
	if stack.Redis.TLS != nil {
		notes = append(notes, "Redis was reached over TLS: its cost is in every figure. What the driver adds to a round trip was not measured, as raw system calls do not speak TLS.")
	}
	if placed.Pinned && stack.Unplaced() {
		notes = append(notes, "Placement: servers run on this machine, where nothing keeps them off the driver's CPUs, so the driver sleeps between operations and is late by a wake-up; confine them (taskset, cpuset), or let lockcost start them.")
	}
	if placed.Note != "" {
		notes = append(notes, "Placement: "+placed.Note+".")
	}
	if !timer.Fine {
		notes = append(notes, "This system has no timer finer than a millisecond for the driver: expect lag, and invalid runs.")
	}
	return notes
}
