package plots

import (
	"fmt"
	"os"
	"slices"

	"lockcost/results"
)

// faults is a record of fault experiments, to be drawn.
type faults struct{ record *results.Failover }

// failoverFigures lists what is drawn of fault experiments, in the order in
// which it is read. A figure without data says why, and is not drawn; one may
// have several pages, where one could not be read.
var failoverFigures = []struct {
	name string
	page func(faults) (pages []page, missing string)
}{
	{"safety", safetyPage},
	{"timeline", timelinePage},
	{"failover-time", failoverTimePage},
	{"window", windowPage},
}

// DrawFailover draws the figures of the fault experiments in folder dir into
// folder out, which is made if it does not exist: safety always, and timeline,
// failover-time and window where the record has what they show; the notes of
// the others name those that are left out. The error names the file that
// could not be read or written.
func DrawFailover(dir, out string) ([]Figure, error) {
	record, err := results.LoadFailover(dir)
	if err != nil {
		return nil, fmt.Errorf("figures of %s: %w", dir, err)
	}
	record.Summarize() // a run that was killed has no summary
	return faults{record}.draw(out)
}

// draw draws a record's figures into a folder.
func (f faults) draw(out string) ([]Figure, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for figures: %w", err)
	}
	var drawn []Figure
	names, pages := f.pages()
	for i, p := range pages {
		files, err := save(p, out, names[i])
		if err != nil {
			return drawn, err
		}
		drawn = append(drawn, Figure{Name: names[i], Title: p.title, Files: files, Notes: p.notes})
	}
	return drawn, nil
}

// pages makes the pages that have something to show. Their notes name the
// others.
func (f faults) pages() (names []string, pages []page) {
	var left []string
	for _, figure := range failoverFigures {
		own, missing := figure.page(f)
		if missing != "" {
			left = append(left, fmt.Sprintf("There is no figure %s: %s.", figure.name, missing))
			continue
		}
		for i, p := range own {
			names, pages = append(names, pageName(figure.name, i)), append(pages, p)
		}
	}
	for i := range pages {
		pages[i].alarm = f.alarm()
		pages[i].notes = slices.Concat(pages[i].notes, left, present(f.record.Environment.Notes))
	}
	return names, pages
}
