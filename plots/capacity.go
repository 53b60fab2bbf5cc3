package plots

import (
	"fmt"
	"os"
	"slices"

	"lockcost/results"
)

// sweep is a record of capacity and sensitivity, to be drawn.
type sweep struct {
	record *results.Capacity
	looks  map[string]look // by the label of a path with its distance
}

// capacityFigures lists what is drawn of a sweep, in the order in which it is
// read. A figure without data says why, and is not drawn; one may have several
// pages, where one could not be read.
var capacityFigures = []struct {
	name string
	page func(sweep) (pages []page, missing string)
}{
	{"knee", kneePages},
	{"rtt", rttPages},
	{"sensitivity", sensitivityPages},
	{"resources", sweepResourcesPages},
}

// DrawCapacity draws the figures of the sweep in folder dir into folder out,
// which is made if it does not exist: knee, rtt, sensitivity and resources,
// each where the record has what it shows; the notes of the others name those
// that are left out. The error names the file that could not be read or
// written.
func DrawCapacity(dir, out string) ([]Figure, error) {
	record, err := results.LoadCapacity(dir)
	if err != nil {
		return nil, fmt.Errorf("figures of %s: %w", dir, err)
	}
	return newSweep(record).draw(out)
}

// newSweep gives the record's paths their looks.
func newSweep(record *results.Capacity) sweep {
	s := sweep{record: record, looks: map[string]look{}}
	seen, spare := map[string]int{}, 0
	for _, p := range record.Points {
		if _, had := s.looks[p.Label()]; had {
			continue
		}
		s.looks[p.Label()] = lookOf(p.Path.Path, seen[p.Path.Path], spare)
		if _, known := knownLooks[p.Path.Path]; !known {
			spare++
		}
		seen[p.Path.Path]++
	}
	return s
}

// draw draws a record's figures into a folder.
func (s sweep) draw(out string) ([]Figure, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for figures: %w", err)
	}
	var drawn []Figure
	names, pages := s.pages()
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
// others. Where nothing has, there is one page that says so.
func (s sweep) pages() (names []string, pages []page) {
	var left []string
	for _, figure := range capacityFigures {
		own, missing := figure.page(s)
		if missing != "" {
			left = append(left, fmt.Sprintf("There is no figure %s: %s.", figure.name, missing))
			continue
		}
		for i, p := range own {
			names, pages = append(names, pageName(figure.name, i)), append(pages, p)
		}
	}
	if len(pages) == 0 {
		names = []string{capacityFigures[0].name}
		pages = []page{{title: "Capacity: nothing was measured", subtitle: s.caption("", "nothing measured"), height: 60, body: putNothing}}
	}
	for i := range pages {
		pages[i].alarm = joined(separator, s.alarm(), pages[i].alarm)
		pages[i].notes = slices.Concat(pages[i].notes, left, present(s.record.Environment.Notes))
	}
	return names, pages
}
