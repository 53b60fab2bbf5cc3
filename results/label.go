package results

import (
	"slices"
	"strings"
)

// Label names the path with its options, sorted, and with its distance where
// there is one: setnx-wait:round-trips=2@1ms.
func (p Path) Label() string {
	return p.optioned() + p.Distance().String()
}

// FileName is the name of the path's interval log. Distances share it.
func (p Path) FileName() string { return logName(p.optioned()) }

// optioned is the path's name with its options, without the distance.
func (p Path) optioned() string {
	parts := []string{p.Path}
	keys := make([]string, 0, len(p.Options))
	for k := range p.Options {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		parts = append(parts, k+"="+p.Options[k])
	}
	return strings.Join(parts, ":")
}

// logName turns a label, with or without its distance, into the name of the
// interval log: colons become plus signs, and whatever a file system or a
// shell may trip over becomes an underscore.
func logName(label string) string {
	label, _ = splitDistance(label)
	safe := func(r rune) rune {
		switch {
		case r == ':':
			return '+'
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		case strings.ContainsRune("-_.=+,", r):
			return r
		}
		return '_'
	}
	return strings.TrimLeft(strings.Map(safe, label), ".-") + logExtension
}
