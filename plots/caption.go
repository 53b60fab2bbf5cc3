package plots

import (
	"fmt"
	"slices"
	"strings"

	"lockcost/results"
)

// separator stands between the facts of a subtitle.
const separator = " · "

// caption returns the paragraphs below every figure's title: what was run,
// on what, and where.
func (s *study) caption(own ...string) []string {
	return append([]string{s.load() + separator + s.samples(), s.place()}, present(own)...)
}

// load says what was asked of each path.
func (s *study) load() string {
	plan := s.record.Plan
	effect := "acquire and release only, nothing done under the lock"
	if plan.Effect == results.EffectCharge {
		effect = "under the lock an order is read and charged"
	}
	facts := []string{
		strings.TrimSpace(fmt.Sprintf("%s/s, %s arrivals", plainNumber(plan.RatePerS), plan.Arrivals)),
		fmt.Sprintf("%s of %s a path", counted(plan.Runs, "run"), durationTick(float64(plan.DurationNS))),
		effect,
	}
	if plan.Keys > 0 {
		facts = append(facts, counted(plan.Keys, "key"))
	}
	if plan.Orders > 0 {
		facts = append(facts, counted(plan.Orders, "hot order"))
	}
	if plan.AcquireTimeoutNS > 0 {
		facts = append(facts, "tried for up to "+durationTick(float64(plan.AcquireTimeoutNS)))
	}
	if plan.HoldNS > 0 {
		facts = append(facts, "held for "+durationTick(float64(plan.HoldNS))+" more")
	}
	return strings.Join(facts, separator)
}

// samples says how many granted operations stand behind a path's figures.
func (s *study) samples() string {
	if len(s.series) == 0 {
		return "no samples"
	}
	lo, hi := s.series[0].granted(), s.series[0].granted()
	for _, one := range s.series {
		lo, hi = min(lo, one.granted()), max(hi, one.granted())
	}
	if lo == hi {
		return grouped(lo) + " samples a path"
	}
	return grouped(lo) + " to " + grouped(hi) + " samples a path"
}

// place says on what the paths were run, and what that is not.
func (s *study) place() string {
	env, plan := s.record.Environment, s.record.Plan
	var facts []string
	if env.Topology != "" {
		facts = append(facts, env.Topology)
	}
	facts = append(facts, s.roundTrips())
	switch plan.Env {
	case "external":
		facts = append(facts, "servers of the user's own, not placed by lockcost")
	default:
		facts = append(facts, "driver and servers on one machine, no production layout", pinning(env))
	}
	return strings.Join(facts, separator)
}

// roundTrips says how far the replica and the client were. WAIT costs its round trip, so no
// figure of that cost means anything without it.
func (s *study) roundTrips() string {
	text := s.added("replica", func(p results.Path) int64 { return p.ReplicaRTTNS })
	if client := s.added("client", func(p results.Path) int64 { return p.ClientRTTNS }); !strings.HasPrefix(client, "no ") {
		text += separator + client
	}
	return text
}

func (s *study) added(whose string, distance func(results.Path) int64) string {
	var all []int64
	for _, p := range s.record.Paths {
		if !slices.Contains(all, distance(p)) {
			all = append(all, distance(p))
		}
	}
	slices.Sort(all)
	texts := make([]string, len(all))
	for i, ns := range all {
		texts[i] = durationTick(float64(ns))
	}
	switch {
	case len(all) == 0 || slices.Equal(all, []int64{0}):
		return "no " + whose + " round trip added"
	case len(all) == 1:
		return whose + " round trip " + texts[0]
	default:
		return whose + " round trip " + strings.Join(texts[:len(texts)-1], ", ") +
			" and " + texts[len(texts)-1] + ", as labelled"
	}
}

// pinning says which CPUs the driver and the servers had.
func pinning(env results.Environment) string {
	if !env.Placement.Pinned {
		return "not pinned to CPUs"
	}
	return fmt.Sprintf("driver on %s, servers on %s",
		cpuList(env.Placement.DriverCPUs), cpuList(env.Placement.ServerCPUs))
}

// cpuList names CPUs.
func cpuList(cpus []int) string {
	texts := make([]string, len(cpus))
	for i, n := range cpus {
		texts[i] = fmt.Sprint(n)
	}
	if len(texts) == 1 {
		return "CPU " + texts[0]
	}
	return "CPUs " + strings.Join(texts, ",")
}

// alarm says in a few words that a record is not whole, or not to be
// believed.
func (s *study) alarm() string {
	var parts []string
	if s.record.Interrupted {
		parts = append(parts, "INTERRUPTED: this run was stopped before its end")
	}
	for _, mark := range []string{markInvalid, markSaturated} {
		var names []string
		for _, one := range s.series {
			if one.mark == mark {
				names = append(names, one.title())
			}
		}
		if len(names) > 0 {
			parts = append(parts, mark+": "+strings.Join(names, "; "))
		}
	}
	return strings.Join(parts, separator)
}

// footnotes are the remarks below every figure, and this figure's own.
func (s *study) footnotes(own ...string) []string {
	return slices.Concat(s.notes, present(own), present(s.record.Environment.Notes))
}

// counted prints a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// grouped prints a count with its thousands apart.
func grouped(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
