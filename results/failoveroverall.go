package results

import (
	"fmt"
	"slices"
	"strings"
)

// passed is what a path let through in a scenario at least once.
type passed struct{ in, of []string } // labels of scenarios

// overall is, for each path, what it let through at least once and where.
func (t *failoverTable) overall() {
	groups, passes := t.passes()
	var paths []string
	for _, g := range groups {
		paths = append(paths, g.Items...)
	}
	if len(paths) == 0 {
		return
	}
	var events []Event
	for _, event := range Events {
		if slices.ContainsFunc(paths, func(path string) bool { return len(passes[path][event].of) > 0 }) {
			events = append(events, event)
		}
	}
	if len(events) == 0 {
		return
	}
	t.title("Over all scenarios: those in which the path let it through at least once, of those that count it")
	names := []string{"path"}
	for _, event := range events {
		names = append(names, event.words())
	}
	rows := headed(names...)
	for _, g := range groups {
		if g.Kind != "" {
			rows = append(rows, append([]string{"-- " + g.Kind.Title()}, make([]string, len(events))...))
		}
		for _, path := range g.Items {
			row := []string{path}
			for _, event := range events {
				row = append(row, passCell(passes[path][event]))
			}
			rows = append(rows, row)
		}
	}
	t.grid(rows)
	for _, path := range paths {
		first := "  " + path + ": "
		for _, text := range passTexts(events, passes[path]) {
			t.print(wrap(first, "      ", text))
			first = "    "
		}
	}
}

// passes are gathered from the shares: paths by kind, in the order in which
// they first stand.
func (t *failoverTable) passes() (groups []KindGroup[string], passes map[string]map[Event]passed) {
	passes = map[string]map[Event]passed{}
	var paths []string
	kinds := map[string]Kind{}
	for _, b := range t.blocks {
		for _, s := range b.paths {
			path := s.PathLabel()
			if passes[path] == nil {
				passes[path] = map[Event]passed{}
				paths = append(paths, path)
				kinds[path] = s.Kind
			}
			for event, share := range s.Shares {
				p := passes[path][event]
				p.of = append(p.of, b.label)
				if share.Trials > 0 {
					p.in = append(p.in, b.label)
				}
				passes[path][event] = p
			}
		}
	}
	return GroupByKind(paths, func(path string) Kind { return kinds[path] }), passes
}

func passCell(p passed) string {
	if len(p.of) == 0 {
		return absent
	}
	return fmt.Sprintf("%d/%d", len(p.in), len(p.of))
}

// harmful are the events whose scenarios are named: they let harm through, or
// refuse who is in the right. The others come with nearly every failover.
var harmful = []Event{DoubleGrant, DoubleCharge, LostCharge, RepeatedToken, RightfulRefused}

// passTexts name the scenarios in which the path let harm through, a text for
// each event.
func passTexts(events []Event, passes map[Event]passed) []string {
	var texts []string
	counted := false
	for _, event := range events {
		p := passes[event]
		counted = counted || len(p.of) > 0
		if len(p.in) > 0 && slices.Contains(harmful, event) {
			texts = append(texts, fmt.Sprintf("%s in %s", event.words(), strings.Join(p.in, "; ")))
		}
	}
	switch {
	case !counted:
		return []string{"no trial shows anything"}
	case len(texts) == 0:
		return []string{"no harm was seen; the bounds above say what remains possible"}
	}
	return texts
}
