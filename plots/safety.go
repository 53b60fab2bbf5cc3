package plots

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"lockcost/results"
)

// safetyRow is one scenario in one variant, and a cell for each path: nil
// where it was not run.
type safetyRow struct {
	scenario, detail string
	cells            []*results.Scenario
}

// safetyLine is one thing that a path let through in a cell: in how many
// trials of how many, and how often in all of them together.
type safetyLine struct {
	mark       safetyMark
	trials, of int
	total      string
}

// safetyPage draws what each path let through in each scenario.
func safetyPage(f faults) ([]page, string) {
	all := f.record.Scenarios
	groups := faultKinds(all)
	if len(groups) == 0 || groups[0].Kind == "" {
		return []page{f.safetyOf(newSafetyGrid(all), all)}, ""
	}
	if len(groups) < 2 || len(distinct(all, columnOf)) <= safetyMost {
		return numbered(f.safetyPages(all, "all paths", true)), ""
	}
	pages := f.safetyPages(all, "all paths", false)
	for _, g := range groups {
		pages = append(pages, f.safetyPages(g.Items, g.Kind.Title(), true)...)
	}
	return numbered(pages), ""
}

// safetyMost is how many paths have cells that say everything in words, more
// or less. More of them are shown once more, by kind.
const safetyMost = 6

// safetyPages are the pages of some of the scenarios, as many as their rows
// take. Those that are not the last word leave it to others to say what is
// done in a scenario.
func (f faults) safetyPages(all []results.Scenario, what string, last bool) []page {
	var pages []page
	for _, grid := range newSafetyGrid(all).split() {
		var shown []results.Scenario
		for _, row := range grid.rows {
			for _, cell := range row.cells {
				if cell != nil {
					shown = append(shown, *cell)
				}
			}
		}
		p := f.safetyOf(grid, shown)
		p.title = "What each path lets through: " + what
		if !last {
			p.notes = present([]string{boundNote(shown), voidNote(shown), causesNote(shown),
				"Further pages show the same by kind, with how often in all, and say what is done in each scenario."})
		}
		pages = append(pages, p)
	}
	return pages
}

// safetyOf is the page of a grid, which shows the given scenarios.
func (f faults) safetyOf(grid safetyGrid, all []results.Scenario) page {
	return page{
		title:    "What each path lets through, scenario by scenario",
		subtitle: f.caption(trialsOf(all, "of each scenario and path"), grid.readingNote()),
		notes:    slices.Concat(present([]string{boundNote(all), voidNote(all), causesNote(all)}), summaryNotes(all)),
		height:   grid.height(),
		body:     grid.draw,
	}
}

// faultKinds groups scenarios by the kinds of their paths. Older records know
// no kinds: they have one group.
func faultKinds(all []results.Scenario) []results.KindGroup[results.Scenario] {
	return results.GroupByKind(all, func(s results.Scenario) results.Kind { return s.Kind })
}

// numbered says in the titles which of how many pages each is.
func numbered(pages []page) []page {
	for i := range pages {
		if len(pages) > 1 {
			pages[i].title += fmt.Sprintf(" (%d of %d)", i+1, len(pages))
		}
	}
	return pages
}

// safetyRows sorts scenarios into rows and columns. Where a path was run in
// one variant with several settings, each has a row of its own.
func safetyRows(all []results.Scenario) (columns []string, rows []safetyRow) {
	names := distinct(all, func(s results.Scenario) string { return s.Scenario })
	columns = faultColumns(all)
	for _, name := range names {
		rows = append(rows, rowsOf(only(all, func(s results.Scenario) bool { return s.Scenario == name }), columns)...)
	}
	return columns, rows
}

// faultColumns are the paths with their options: those of a kind together,
// setnx first among them, and a path's options beside each other.
func faultColumns(all []results.Scenario) []string {
	var columns []string
	for _, g := range faultKinds(all) {
		var own []string
		for _, path := range distinct(g.Items, func(s results.Scenario) string { return s.Path }) {
			own = append(own, distinct(only(g.Items, func(s results.Scenario) bool { return s.Path == path }), columnOf)...)
		}
		if i := slices.Index(own, "setnx"); i > 0 && g.Kind != "" {
			own = slices.Insert(slices.Delete(own, i, i+1), 0, "setnx")
		}
		columns = append(columns, own...)
	}
	return columns
}

// rowsOf makes the rows of the variants of one scenario.
func rowsOf(all []results.Scenario, columns []string) []safetyRow {
	var rows []safetyRow
	for _, variant := range distinct(all, func(s results.Scenario) string { return s.Variant }) {
		same := only(all, func(s results.Scenario) bool { return s.Variant == variant })
		apart := apartIn(same)
		first := len(rows)
		for _, s := range same {
			detail := joined(", ", variant, settingsAt(s, apart))
			column := slices.Index(columns, columnOf(s))
			at := slices.IndexFunc(rows[first:], func(r safetyRow) bool { return r.detail == detail && r.cells[column] == nil })
			if at < 0 {
				at = len(rows) - first
				rows = append(rows, safetyRow{scenario: s.Scenario, detail: detail, cells: make([]*results.Scenario, len(columns))})
			}
			rows[first+at].cells[column] = &s
		}
	}
	return rows
}

// distinct returns the different values in the order of their first place.
func distinct(all []results.Scenario, of func(results.Scenario) string) []string {
	var values []string
	for _, s := range all {
		if v := of(s); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// only returns the scenarios for which it holds.
func only(all []results.Scenario, holds func(results.Scenario) bool) []results.Scenario {
	return slices.DeleteFunc(slices.Clone(all), func(s results.Scenario) bool { return !holds(s) })
}

// safetyLines lists what happened in a cell, the worst first.
func safetyLines(s results.Scenario) []safetyLine {
	var lines []safetyLine
	for _, mark := range safetyMarks {
		if share := s.Shares[mark.event]; share.Trials > 0 {
			lines = append(lines, safetyLine{
				mark: mark, trials: share.Trials, of: share.Of, total: "×" + grouped(mark.total(s)),
			})
		}
	}
	return lines
}

// quietText is what a cell says in which nothing happened.
func quietText(s results.Scenario) string {
	counted := slices.ContainsFunc(safetyMarks, func(m safetyMark) bool { return s.Shares[m.event].Of > 0 })
	switch {
	case valid(s) <= 0:
		return ""
	case !counted:
		return "not counted"
	}
	return fmt.Sprintf("0/%d", valid(s))
}

// safetyGrid is the body of the safety figure.
type safetyGrid struct {
	columns []string
	kinds   []safetyKind // of the columns; none where one heading would stand above all
	rows    []safetyRow
	width   vg.Length // of a column
	turned  bool      // the heads of the columns are written upwards
	safetyStyle
}

// safetyStyle is how much a line says in how much room.
type safetyStyle struct {
	named  bool      // cells name what happened
	totals bool      // and say how often in all
	bare   bool      // they say in how many trials, but not of how many
	size   vg.Length // of the text
	glyph  vg.Length // from the chip's edge to its text
}

// safetyStyles are tried in this order until every line fits.
var safetyStyles = []safetyStyle{
	{named: true, totals: true, size: 7.5, glyph: 11},
	{named: true, size: 7.5, glyph: 11},
	{totals: true, size: 7.5, glyph: 11},
	{size: 7.5, glyph: 11},
	{size: 6.5, glyph: 8.5},
	{bare: true, size: 6.5, glyph: 8.5},
}

// newSafetyGrid lays the cells out, with as much in words as fits.
func newSafetyGrid(all []results.Scenario) safetyGrid {
	g := safetyGrid{}
	g.columns, g.rows = safetyRows(all)
	g.kinds = safetyKinds(all)
	g.width = (pageWidth - 2*pageMargin - safetyNames) / vg.Length(max(1, len(g.columns)))
	g.width = min(g.width, safetyWidest)
	for _, g.safetyStyle = range safetyStyles {
		if g.fits() {
			break
		}
	}
	for _, name := range g.columns {
		path, _, _ := strings.Cut(name, " ")
		g.turned = g.turned || bold(textStyle(labelSize, ink)).Width(path) > g.width-safetyGap
	}
	return g
}

// safetyKind is a heading above so many columns.
type safetyKind struct {
	title   string
	columns int
}

// safetyKinds are the headings above the columns.
func safetyKinds(all []results.Scenario) []safetyKind {
	var kinds []safetyKind
	for _, g := range faultKinds(all) {
		kinds = append(kinds, safetyKind{g.Kind.Title(), len(distinct(g.Items, columnOf))})
	}
	if len(kinds) < 2 {
		return nil
	}
	return kinds
}

// fits says whether every line is as narrow as its column.
func (g safetyGrid) fits() bool {
	for _, row := range g.rows {
		for _, cell := range row.cells {
			if cell == nil {
				continue
			}
			for _, l := range safetyLines(*cell) {
				if g.lineWidth(l) > g.width-safetyGap {
					return false
				}
			}
		}
	}
	return true
}

// readingNote explains the numbers of a cell.
func (g safetyGrid) readingNote() string {
	text := "In how many trials it happened"
	if !g.bare {
		text += ", of those that count"
	}
	if g.totals {
		text += "; ×: how often in these trials together"
	}
	return text + ". 0/n: none of these happened in n trials. An empty cell was not run."
}
