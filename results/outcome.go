package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Count is the number of runs, of all paths.
func (r *Record) Count() (n int) {
	for _, p := range r.Paths {
		n += len(p.Runs)
	}
	return n
}

// Doubtful counts the runs that are saturated or invalid.
func (r *Record) Doubtful() int {
	n := 0
	for _, p := range r.Paths {
		for _, run := range p.Runs {
			if run.Verdict != Valid {
				n++
			}
		}
	}
	return n
}

// Discard removes a folder in which nothing was measured, unless something
// else is in it.
func (f *Folder) Discard() error {
	for _, name := range []string{recordName, benchName} {
		if err := os.Remove(filepath.Join(f.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return describe("remove", f.dir, err)
		}
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil || len(entries) > 0 {
		return err
	}
	return os.Remove(f.dir)
}
