package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The content of a folder of fault experiments.
const (
	failoverName = "failover.json"
	historyDir   = "histories"
)

// FailoverFolder is where fault experiments are written.
type FailoverFolder struct{ dir string }

// CreateFailover makes the folder, those above it, and the one for the
// histories in it. It refuses a folder that holds fault experiments, and one
// that cannot be written, before anything is done to a server.
func CreateFailover(dir string) (*FailoverFolder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, describe("make the folder", dir, err)
	}
	if err := holdsNothing(dir, failoverName); err != nil {
		return nil, err
	}
	if err := claim(dir, failoverName, "fault experiments"); err != nil {
		return nil, err
	}
	f := &FailoverFolder{dir: dir}
	if err := f.makeHistories(); err != nil {
		os.Remove(filepath.Join(dir, failoverName))
		return nil, err
	}
	return f, nil
}

// makeHistories makes the histories' folder, and refuses one with files of
// other experiments.
func (f *FailoverFolder) makeHistories() error {
	dir := filepath.Join(f.dir, historyDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return describe("make the folder", dir, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return describe("read the folder", dir, err)
	}
	if len(files) > 0 {
		return fmt.Errorf("%s already holds fault experiments (%s): name another folder",
			f.dir, filepath.Join(historyDir, files[0].Name()))
	}
	return nil
}

// Dir is the folder's path.
func (f *FailoverFolder) Dir() string { return f.dir }

// HistoryPath is the file for the history of one trial of the scenario: the
// folder's path with the scenario's HistoryName. Its folder exists.
func (f *FailoverFolder) HistoryPath(s Scenario, trial int) string {
	return filepath.Join(f.dir, filepath.FromSlash(s.HistoryName(trial)))
}

// Save writes failover.json. Whoever reads it, or comes after a crash, finds
// either the former file or the new one, whole. It does not Summarize.
func (f *FailoverFolder) Save(r *Failover) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record of fault experiments: %w", err)
	}
	return replace(f.dir, failoverName, append(text, '\n'))
}

// Discard removes a folder in which no trial was made, unless something
// else, such as a history, is in it.
func (f *FailoverFolder) Discard() error {
	if err := removeIfThere(filepath.Join(f.dir, failoverName)); err != nil {
		return err
	}
	for _, dir := range []string{filepath.Join(f.dir, historyDir), f.dir} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return describe("read the folder", dir, err)
		}
		if len(entries) > 0 {
			return nil
		}
		if err := removeIfThere(dir); err != nil {
			return err
		}
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return describe("remove", path, err)
	}
	return nil
}

// LoadFailover reads the record in a folder of fault experiments. Its error
// says what dir is instead of one, and what to do about it.
func LoadFailover(dir string) (*Failover, error) {
	var r Failover
	if err := load(filepath.Join(dir, failoverName), "failover", FailoverSchema, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// IsFailover tells whether dir holds fault experiments, be they whole or not.
func IsFailover(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, failoverName))
	return err == nil && info.Mode().IsRegular()
}
