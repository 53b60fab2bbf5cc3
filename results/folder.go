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
	if err := holdsNothing(dir, recordName); err != nil {
		return nil, err
	}
	if err := claim(dir, recordName, "a run"); err != nil {
		return nil, err
	}
	return &Folder{dir: dir}, nil
}

// probeBytes is what must fit on the disk for a run to begin.
const probeBytes = 64 << 10

// claim makes the named record's file, empty as yet, so that of two commands
// that want the folder at once only one gets it, and sees whether the disk
// takes anything at all. What says what such a record is of.
func claim(dir, name, what string) error {
	path := filepath.Join(dir, name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already holds %s (%s): name another folder", dir, what, name)
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
	if err := replace(f.dir, recordName, append(text, '\n')); err != nil {
		return err
	}
	var bench bytes.Buffer
	if err := WriteBench(&bench, r); err != nil {
		return fmt.Errorf("write %s: %w", benchName, err)
	}
	return replace(f.dir, benchName, bench.Bytes())
}

// replace puts content in the place of the folder's named file at one stroke.
func replace(dir, name string, content []byte) error {
	path := filepath.Join(dir, name)
	temp, err := os.CreateTemp(dir, name+"-*.tmp")
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
	return describe("write", path, syncDir(dir))
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
	var r Record
	if err := load(filepath.Join(dir, recordName), "run", Schema, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// load reads a folder's record from path into record, if it has the schema.
// What says what such a record is of.
func load(path, what, schema string, record any) error {
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); err != nil {
			return describe("read the "+what, dir, err)
		}
		return fmt.Errorf("%s is not a %s's folder: it has no %s", dir, what, name)
	}
	if err != nil {
		return describe("read the "+what, path, err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("%s is incomplete or damaged: %w", path, err)
	}
	if head.Schema != schema {
		return fmt.Errorf("%s has the schema %q, and this program reads %q", path, head.Schema, schema)
	}
	if err := json.Unmarshal(text, record); err != nil {
		return fmt.Errorf("%s does not keep to its schema: %w", path, err)
	}
	return nil
}
