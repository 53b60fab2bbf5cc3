package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// PathLabel names the path with its options, sorted:
// setnx-wait:round-trips=2.
func (s Scenario) PathLabel() string { return Path{Path: s.Path, Options: s.Options}.optioned() }

// Label names the scenario and its variant, without the path: "partition",
// "partition, min-replicas".
func (s Scenario) Label() string {
	if s.Variant == "" {
		return s.Scenario
	}
	return s.Scenario + ", " + s.Variant
}

// Label names the scenario and its variant, with whatever else tells it from
// the record's other entries of that name: "crash-steady, down-after 500ms".
// Entries with the same label differ in their path alone, and in what follows
// from its lock service.
func (f *Failover) Label(s Scenario) string {
	parts := []string{s.Label()}
	for i, trait := range s.traits() {
		if slices.ContainsFunc(f.Scenarios, func(other Scenario) bool {
			return other.Label() == s.Label() && other.Service == s.Service && other.traits()[i] != trait
		}) {
			parts = append(parts, trait.name+" "+trait.value)
		}
	}
	return strings.Join(parts, ", ")
}

// trait is a setting in which entries of one scenario may differ.
type trait struct {
	name, value string
	set         bool // not 0
}

// traits are what a scenario is run with beside its path, always the same
// ones in the same order.
func (s Scenario) traits() []trait {
	duration := func(name string, ns int64) trait { return trait{name, time.Duration(ns).String(), ns != 0} }
	return []trait{
		{"replicas", fmt.Sprint(s.Replicas), s.Replicas != 0},
		duration("down-after", s.DownAfterNS),
		duration("replica RTT", s.ReplicaRTT),
		{"rate", fmt.Sprintf("%.6g/s", s.RatePerS), s.RatePerS != 0},
		duration("hold", s.HoldNS),
		duration("second after", s.SecondNS),
	}
}

// SameAs tells whether both are trials of the same thing: the same scenario,
// variant, path and settings. Such trials belong in one entry.
func (s Scenario) SameAs(other Scenario) bool {
	return s.Label() == other.Label() && s.Path == other.Path && maps.Equal(s.Options, other.Options) &&
		slices.Equal(s.traits(), other.traits())
}

// HistoryName is the file of one trial's history in the experiments' folder,
// with slashes, as Trial.History has it. No two entries that differ share a
// name, whatever their options are called, also where a file system does not
// tell upper case from lower.
func (s Scenario) HistoryName(trial int) string {
	parts := []string{s.Scenario}
	if s.Variant != "" {
		parts = append(parts, s.Variant)
	}
	parts = append(parts, s.PathLabel())
	for _, t := range s.traits() {
		if t.set {
			parts = append(parts, fileTrait(t))
		}
	}
	for i, part := range parts {
		parts[i] = escapeName(part)
	}
	return fmt.Sprintf("%s/%s.%d.jsonl.gz", historyDir, strings.Join(parts, "."), trial)
}

// fileTrait is a trait in a file's name: replica-rtt=1ms.
func fileTrait(t trait) string {
	name := strings.ToLower(strings.ReplaceAll(t.name, " ", "-"))
	return name + "=" + strings.NewReplacer("/s", "", "µ", "u").Replace(t.value)
}

// escapeName leaves lower-case letters, digits, '-', '=' and ',' as they
// are, turns a colon into '+', and any other byte into '_' and two
// hexadecimal digits.
func escapeName(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', strings.IndexByte("-=,", c) >= 0:
			b.WriteByte(c)
		case c == ':':
			b.WriteByte('+')
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}
