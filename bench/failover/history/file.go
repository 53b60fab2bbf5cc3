package history

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Schema is the schema of a history's file.
const Schema = "lockcost/history/v1"

// Extension is how the name of a history's file ends.
const Extension = ".jsonl.gz"

// Header is the first line of a history: which trial it is of.
type Header struct {
	Schema    string    `json:"schema"` // Write sets it
	Scenario  string    `json:"scenario"`
	Variant   string    `json:"variant,omitempty"`
	Path      string    `json:"path"`
	Trial     int       `json:"trial"`      // its index
	StartedAt time.Time `json:"started_at"` // from when the times count
	FaultNS   int64     `json:"fault_ns"`   // when the fault was injected; -1 if none was
	TTLNS     int64     `json:"ttl_ns"`
}

// Write puts a trial's history into the file at path: a line of JSON for the
// header and one for each operation, in the order in which the acquisitions
// returned, the whole compressed by gzip. The file is there whole, with all
// its lines, or, after an error, as it was before, and the error names it.
func Write(path string, h Header, ops []Op) error {
	if err := replace(path, func(w io.Writer) error { return encode(w, h, ops) }); err != nil {
		return fmt.Errorf("cannot write the history %s: %w", path, err)
	}
	return nil
}

// replace puts what write writes in the place of the file at one stroke.
func replace(path string, write func(io.Writer) error) error {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	temp, err := os.CreateTemp(dir, name+"-*.tmp")
	if err != nil {
		return err
	}
	err = write(temp)
	if err == nil {
		err = errors.Join(temp.Chmod(0o644), temp.Sync())
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}

func encode(w io.Writer, h Header, ops []Op) error {
	h.Schema = Schema
	compressed := gzip.NewWriter(w)
	lines := json.NewEncoder(compressed)
	if err := lines.Encode(h); err != nil {
		return err
	}
	for _, o := range sortedByReturn(ops) {
		if err := o.check(); err != nil {
			return err
		}
		if err := lines.Encode(o); err != nil {
			return err
		}
	}
	return compressed.Close()
}

// check tells an operation from what only looks like one.
func (o *Op) check() error {
	if o.Client == "" {
		return fmt.Errorf("an operation on order %d names no client", o.Order)
	}
	return nil
}
