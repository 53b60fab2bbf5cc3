package plots

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockcost/results"
)

// caption returns the paragraphs below a figure's title: what was done, how
// often, and on what.
func (f faults) caption(trials string, own ...string) []string {
	return append([]string{joined(separator, trials, f.load()), f.place()}, present(own)...)
}

// load says what the clients were asked to do.
func (f faults) load() string {
	plan := f.record.Plan
	var facts []string
	if plan.RatePerS > 0 {
		facts = append(facts, plainNumber(plan.RatePerS)+" acquisitions/s where timed")
	}
	for _, limit := range []struct {
		what string
		ns   int64
	}{{"locks expire after", plan.TTLNS}, {"operations given up on after", plan.OpTimeoutNS}} {
		if limit.ns > 0 {
			facts = append(facts, limit.what+" "+durationTick(float64(limit.ns)))
		}
	}
	if plan.WaitReplicas > 0 {
		facts = append(facts, fmt.Sprintf("WAIT for %s, at most %s",
			counted(plan.WaitReplicas, "replica"), durationTick(float64(plan.WaitTimeoutNS))))
	}
	return strings.Join(facts, separator)
}

// place says on what the trials were run, and what that is not.
func (f faults) place() string {
	env, plan := f.record.Environment, f.record.Plan
	facts := present([]string{env.Topology})
	if plan.Env == "container" {
		facts = append(facts, "servers in containers")
	}
	facts = append(facts, "driver and servers on one machine, no production layout")
	if env.CPUs > 0 {
		facts = append(facts, counted(env.CPUs, "CPU"))
	}
	facts = append(facts, pinning(env))
	if plan.Quick {
		facts = append(facts, "a quick run, to see that it works")
	}
	return strings.Join(facts, separator)
}

// alarm says in a few words that a record is not whole.
func (f faults) alarm() string {
	if f.record.Interrupted {
		return "INTERRUPTED: this run was stopped before its end"
	}
	return ""
}

// trialsOf says how many trials stand behind each of the scenarios, and how
// many of all of them show nothing.
func trialsOf(all []results.Scenario, each string) string {
	if len(all) == 0 {
		return "no trials"
	}
	least, most, void := all[0].Trials, all[0].Trials, 0
	for _, s := range all {
		least, most, void = min(least, s.Trials), max(most, s.Trials), void+s.Void
	}
	text := counted(most, "trial") + " " + each
	if least != most {
		text = fmt.Sprintf("%d to %s %s", least, counted(most, "trial"), each)
	}
	if void > 0 {
		text += fmt.Sprintf(", %d void in all", void)
	}
	return text
}

// valid counts the trials of a scenario that show something.
func valid(s results.Scenario) int { return s.Trials - s.Void }

// columnOf is the path of a scenario with its options.
func columnOf(s results.Scenario) string {
	return joined(" ", s.Path, optionsOf(results.Path{Options: s.Options}))
}

// settingsOf are what a scenario was run with, always in the same order, so
// that those of two scenarios can be compared one by one.
func settingsOf(s results.Scenario) []string {
	settings := []string{
		counted(s.Replicas, "replica"),
		"down-after " + durationTick(float64(s.DownAfterNS)),
		"replica at " + distanceTick(s.ReplicaRTT),
		plainNumber(s.RatePerS) + "/s",
		"held for " + durationTick(float64(s.HoldNS)),
		"second client after " + durationTick(float64(s.SecondNS)),
	}
	if s.DownAfterNS == 0 { // no Sentinel watches these servers
		settings[0], settings[1], settings[2] = "", "", ""
	}
	return settings
}

// distanceTick prints a round trip, none of it with the unit of the others.
func distanceTick(ns int64) string {
	if ns == 0 {
		return "0 ms"
	}
	return durationTick(float64(ns))
}

// apartIn returns the positions of the settings that differ among scenarios
// of the same name, variant and path: what tells these from each other.
func apartIn(all []results.Scenario) []int {
	var differ []int
	for i, a := range all {
		for _, b := range all[i+1:] {
			if columnOf(a) != columnOf(b) || a.Label() != b.Label() {
				continue
			}
			ours, theirs := settingsOf(a), settingsOf(b)
			for at := range ours {
				if ours[at] != theirs[at] && !slices.Contains(differ, at) {
					differ = append(differ, at)
				}
			}
		}
	}
	slices.Sort(differ)
	return differ
}

// settingsAt joins the settings at the given positions.
func settingsAt(s results.Scenario, positions []int) string {
	all := settingsOf(s)
	var texts []string
	for _, at := range positions {
		texts = append(texts, all[at])
	}
	return joined(", ", texts...)
}

// mostOf lists the most frequent texts with their counts.
func mostOf(counts map[string]int, most int) string {
	texts := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, t := range texts[:min(most, len(texts))] {
		parts = append(parts, fmt.Sprintf("%s (%d)", t, counts[t]))
	}
	if len(texts) > most {
		parts = append(parts, "and others")
	}
	return strings.Join(parts, "; ")
}
