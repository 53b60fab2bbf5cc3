package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of a run's folder, beside the interval logs.
const (
	recordName = "run.json"
	benchName  = "bench.txt"

	logExtension = ".hlog"
)

// Folder is where one run of lockcost is written.
type Folder struct{ dir string }

// Create makes the folder, and those above it. It refuses one that holds a
// run, and one that cannot be written, before anything is measured.
func Create(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, describe("make the folder", dir, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, describe("read the folder", dir, err)
	}
	for _, file := range files {
		if file.Name() == recordName || filepath.Ext(file.Name()) == logExtension {
			return nil, fmt.Errorf("%s already holds a run (%s): name another folder", dir, file.Name())
		}
	}
	if err := claim(dir); err != nil {
		return nil, err
	}
	return &Folder{dir: dir}, nil
}

// probeBytes is what must fit on the disk for a run to begin.
const probeBytes = 64 << 10

// claim makes the record's file, empty as yet, so that of two runs that want
// the folder at once only one gets it, and sees whether the disk takes
// anything at all.
func claim(dir string) error {
	path := filepath.Join(dir, recordName)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already holds a run (%s): name another folder", dir, recordName)
	}
	if err != nil {
		return describe("write to the folder", dir, err)
	}
	_, err = file.Write(make([]byte, probeBytes))
	err = firstError(err, file.Truncate(0), file.Close())
	if err != nil {
		os.Remove(path)
		return describe("write to the folder", dir, err)
	}
	return nil
}

// Dir is the folder's path.
func (f *Folder) Dir() string { return f.dir }

// Save writes run.json, and bench.txt from it. A reader, or whoever comes
// after a crash, finds either the former file or the new one, whole. It is
// called after every run, so that a crash loses the run it fell into and no
// other.
func (f *Folder) Save(r *Record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record: %w", err)
	}
	if err := f.replace(recordName, append(text, '\n')); err != nil {
		return err
	}
	var bench bytes.Buffer
	if err := WriteBench(&bench, r); err != nil {
		return fmt.Errorf("write %s: %w", benchName, err)
	}
	return f.replace(benchName, bench.Bytes())
}

// replace puts content in the place of the named file at one stroke.
func (f *Folder) replace(name string, content []byte) error {
	path := filepath.Join(f.dir, name)
	temp, err := os.CreateTemp(f.dir, name+"-*.tmp")
	if err != nil {
		return describe("write", path, err)
	}
	_, err = io.Copy(temp, bytes.NewReader(content))
	err = firstError(err, temp.Chmod(0o644), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
		return describe("write", path, err)
	}
	return describe("write", path, syncDir(f.dir))
}

// syncDir makes a rename in the folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return firstError(d.Sync(), d.Close())
}

// Load reads the record in a run's folder. Its error says what dir is
// instead of a run's folder, and what to do about it.
func Load(dir string) (*Record, error) {
	path := filepath.Join(dir, recordName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); err != nil {
			return nil, describe("read the run", dir, err)
		}
		return nil, fmt.Errorf("%s is not a run's folder: it has no %s", dir, recordName)
	}
	if err != nil {
		return nil, describe("read the run", path, err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%s is incomplete or damaged: %w", path, err)
	}
	if head.Schema != Schema {
		return nil, fmt.Errorf("%s has the schema %q, and this program reads %q", path, head.Schema, Schema)
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s does not keep to its schema: %w", path, err)
	}
	return &r, nil
}
