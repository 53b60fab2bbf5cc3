package plots

import (
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"

	"lockcost/results"
)

func TestRowsAreGroupedByKindWithSetnxFirst(t *testing.T) {
	m := everything()
	m.runs, m.seconds, m.rate = 1, 1, 10
	slices.Reverse(m.profiles)
	s := m.study(t)
	var kinds []results.Kind
	var paths []string
	for _, one := range s.costRows() {
		if len(kinds) == 0 || kinds[len(kinds)-1] != one.path.Kind {
			kinds = append(kinds, one.path.Kind)
		}
		paths = append(paths, one.path.Path)
	}
	if want := results.Kinds[1:]; !slices.Equal(kinds, want) {
		t.Errorf("kinds %v, want %v, each once", kinds, want)
	}
	if paths[0] != "setnx" || paths[1] != "watchdog" || len(paths) != 18 {
		t.Errorf("rows %v", paths)
	}
}

func TestStackHoldsRowsBelowHeadings(t *testing.T) {
	groups := []results.KindGroup[int]{
		{Kind: results.KindOneServer, Items: []int{10, 30}}, {Kind: results.KindServers, Items: []int{20}}, {Items: []int{5}},
	}
	height := func(h int) vg.Length { return vg.Length(h) }
	s := newStack(groups, height)
	for _, c := range []struct {
		stack  stack
		tops   []vg.Length
		second vg.Length // heading
		height vg.Length
	}{
		{s, []vg.Length{stackHead, stackHead + 10, 2*stackHead + 40, 2*stackHead + 60}, stackHead + 40, 2*stackHead + 65},
		{s.equal(), []vg.Length{stackHead, stackHead + 30, 2*stackHead + 60, 2*stackHead + 90}, stackHead + 60, 2*stackHead + 120},
	} {
		if !slices.Equal(c.stack.tops, c.tops) || c.stack.height != c.height || len(c.stack.headings) != 2 || c.stack.headings[1].top != c.second {
			t.Errorf("stack %+v, want rows at %v, a heading at %v and %v in all", c.stack, c.tops, c.second, c.height)
		}
	}
	for row := range s.tops {
		if got, want := s.onAxis(row), float64(s.height-s.middle(row)); got != want || got <= 0 {
			t.Errorf("row %d stands at %v, want %v", row, got, want)
		}
	}
}

func TestLinesOfOneKindLookDifferent(t *testing.T) {
	m := everything()
	m.runs, m.seconds, m.rate = 1, 1, 500
	for _, p := range m.study(t).kindPanels(results.SpanAcquire) {
		seen := map[string]string{}
		references := 0
		for _, c := range p.curves {
			if c.reference {
				references++
				continue
			}
			look := fmt.Sprintf("%v %v %T", c.look.color, c.look.dashes, c.shape)
			if other, taken := seen[look]; taken {
				t.Errorf("%s: %s and %s look the same", p.title, c.label, other)
			}
			seen[look] = c.label
			if c.label == "optimistic" {
				t.Error("a path without a lock has a line of acquire")
			}
		}
		if want := 1; p.title != results.KindOneServer.Title() && references != want {
			t.Errorf("%s has %d lines of setnx for reference, want %d", p.title, references, want)
		}
	}
}

func TestSafetyPagesHoldEveryRowOnce(t *testing.T) {
	record := everyFault(1)
	whole := newSafetyGrid(record.Scenarios)
	parts := whole.split()
	if len(parts) < 2 {
		t.Fatalf("%d pages for %d rows", len(parts), len(whole.rows))
	}
	rows := 0
	for _, part := range parts {
		rows += len(part.rows)
		height := vg.Length(0)
		for _, row := range part.rows {
			height += part.rowHeight(row)
		}
		if height > safetyTallest*1.1 || part.safetyStyle != whole.safetyStyle {
			t.Errorf("a page is %v high, in the style %+v", height, part.safetyStyle)
		}
	}
	if rows != len(whole.rows) {
		t.Errorf("%d rows on the pages, want %d", rows, len(whole.rows))
	}
	columns := faultColumns(record.Scenarios)
	want := []string{"setnx", "watchdog", "watchdog notify=yes", "setnx-wait", "setnx-wait connection=shared", "waitaof", "redlock",
		"etcd", "zookeeper", "fencing", "fencing token=etcd", "idempotent", "combined", "optimistic"}
	if !slices.Equal(columns, want) {
		t.Errorf("columns %q, want %q", columns, want)
	}
}
