// Package plots draws a run's figures from its folder alone: no server is
// needed, and the same folder always gives the same bytes.
//
// A study is the record together with the runs that may be drawn; each figure
// turns it into a page, which is words around a body; a page is rendered as
// PNG and as SVG. What is left out of a figure, and why, is said on the
// figure, and returned as notes.
//
// Percentiles are read from merged histograms and never averaged, and are
// drawn as dots with intervals. Only means, which add up, are stacked.
package plots

import (
	"fmt"
	"os"
	"slices"

	"lockcost/results"
)

// Figure is one drawn figure.
type Figure struct {
	// Name is cost, percentiles, stages, timeseries or resources; of fault
	// experiments safety, timeline, failover-time or window; of a sweep knee,
	// rtt, sensitivity or resources. Further pages of a figure have a number
	// behind it: percentiles-2.
	Name  string   `json:"name"`
	Title string   `json:"title"` // as it is written on the figure
	Files []string `json:"files"` // one PNG and one SVG
	Notes []string `json:"notes"` // what it does not show, and why; also written on it
}

// pageName names the pages of a figure: percentiles, percentiles-2.
func pageName(figure string, page int) string {
	if page == 0 {
		return figure
	}
	return fmt.Sprintf("%s-%d", figure, page+1)
}

// figure is one that can be drawn of a run. It may have several pages, where
// one could not be read.
type figure struct {
	name string
	page func(*study) ([]page, error)
}

// figures lists what is drawn of every run, in the order in which it is read.
var figures = []figure{
	{"cost", costPage},
	{"percentiles", percentilesPage},
	{"stages", stagesPage},
	{"timeseries", timeseriesPage},
}

// figures lists what is drawn of this run: resources too, where its runs say what
// was used.
func (s *study) figures() []figure {
	if !s.hasResources() {
		return figures
	}
	return append(slices.Clone(figures), figure{"resources", resourcesPage})
}

// Draw draws the figures of the run in folder dir into folder out, which is
// made if it does not exist. The error names the file that could not be read
// or written.
func Draw(dir, out string) ([]Figure, error) {
	s, err := load(dir)
	if err != nil {
		return nil, fmt.Errorf("figures of %s: %w", dir, err)
	}
	return s.draw(out)
}

// load makes a study of a run's folder.
func load(dir string) (*study, error) {
	record, err := results.Load(dir)
	if err != nil {
		return nil, err
	}
	record.Summarize() // a run that was killed has none
	return newStudy(record, func(p results.Path) ([]results.Interval, error) { return p.Intervals(dir) })
}

// draw draws a study's figures into a folder.
func (s *study) draw(out string) ([]Figure, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for figures: %w", err)
	}
	var drawn []Figure
	for _, f := range s.figures() {
		pages, err := f.page(s)
		if err != nil {
			return drawn, fmt.Errorf("figure %s: %w", f.name, err)
		}
		for i, p := range pages {
			files, err := save(p, out, pageName(f.name, i))
			if err != nil {
				return drawn, err
			}
			drawn = append(drawn, Figure{Name: pageName(f.name, i), Title: p.title, Files: files, Notes: p.notes})
		}
	}
	return drawn, nil
}
