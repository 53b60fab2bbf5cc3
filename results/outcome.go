package results

import "os"

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

// Discard removes the folder if nothing was kept in it.
func (f *Folder) Discard() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil || len(entries) > 0 {
		return err
	}
	return os.Remove(f.dir)
}
