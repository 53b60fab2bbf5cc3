package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// capacityName is a sweep's record, beside the interval logs. Whoever writes to
// the folder holds a lock on the folder itself.
const capacityName = "capacity.json"

// CapacityFolder is where a sweep is written. It must be closed.
type CapacityFolder struct {
	Folder
	lock *flock.Flock
}

// CreateCapacity makes the folder, and those above it. It refuses one that
// holds anything that was measured, and one that cannot be written, before
// anything is measured.
func CreateCapacity(dir string) (*CapacityFolder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, describe("make the folder", dir, err)
	}
	if err := holdsNothing(dir, capacityName); err != nil {
		return nil, err
	}
	if err := claim(dir, capacityName, "a sweep"); err != nil {
		return nil, err
	}
	return lockCapacity(dir)
}

// lockCapacity keeps others from writing to the folder.
func lockCapacity(dir string) (*CapacityFolder, error) {
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	ours, err := lock.TryLock()
	if err != nil {
		return nil, describe("lock the folder", dir, err)
	}
	if !ours {
		return nil, fmt.Errorf("%s is being written to by another sweep: wait for it, or name another folder", dir)
	}
	return &CapacityFolder{Folder{dir}, lock}, nil
}

// OpenCapacity opens the folder of a sweep that was begun and not finished, to
// go on with it. The record is nil where nothing had been measured.
func OpenCapacity(dir string) (*CapacityFolder, *Capacity, error) {
	if _, err := os.Stat(filepath.Join(dir, capacityName)); err != nil {
		return nil, nil, describe("go on with the sweep", filepath.Join(dir, capacityName), err)
	}
	f, err := lockCapacity(dir)
	if err != nil {
		return nil, nil, err
	}
	before, err := f.before()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, before, nil
}

// before is what the folder has of an earlier start.
func (f *CapacityFolder) before() (*Capacity, error) {
	if info, err := os.Stat(filepath.Join(f.dir, capacityName)); err == nil && info.Size() == 0 {
		return nil, nil // that start ended before it kept anything
	}
	before, err := LoadCapacity(f.dir)
	switch {
	case err != nil:
		return nil, err
	case !before.Interrupted:
		return nil, fmt.Errorf("%s holds a sweep that is finished: draw it with lockcost plot, or name another folder", f.dir)
	}
	return before, nil
}

// Save writes capacity.json. Whoever reads it, or comes after a crash, finds
// either the former file or the new one, whole. It does not Conclude.
func (f *CapacityFolder) Save(c *Capacity) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record of a sweep: %w", err)
	}
	return replace(f.dir, capacityName, append(text, '\n'))
}

// Discard removes a folder in which nothing was measured, unless something
// else is in it.
func (f *CapacityFolder) Discard() error {
	if err := removeIfThere(filepath.Join(f.dir, capacityName)); err != nil {
		return err
	}
	if entries, err := os.ReadDir(f.dir); err != nil || len(entries) > 0 {
		return err
	}
	return removeIfThere(f.dir)
}

// Close lets others write to the folder.
func (f *CapacityFolder) Close() error {
	if f == nil {
		return nil
	}
	return f.lock.Unlock()
}

// LoadCapacity reads the record in a sweep's folder. Its error says what dir is
// instead of one, and what to do about it.
func LoadCapacity(dir string) (*Capacity, error) {
	var c Capacity
	if err := load(filepath.Join(dir, capacityName), "sweep", CapacitySchema, &c); err != nil {
		return nil, err
	}
	c.Conclude()
	return &c, nil
}

// IsCapacity tells whether dir holds a sweep, be it whole or not.
func IsCapacity(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, capacityName))
	return err == nil && info.Mode().IsRegular()
}

// kept are the records that a folder may hold, and what each is of.
var kept = []struct{ name, what string }{
	{recordName, "a run"}, {failoverName, "fault experiments"}, {capacityName, "a sweep"},
}

// holdsNothing refuses a folder with a record, other than the one named, which
// is for claim to refuse, and one with interval logs.
func holdsNothing(dir, but string) error {
	for _, k := range kept {
		if _, err := os.Stat(filepath.Join(dir, k.name)); err == nil && k.name != but {
			return fmt.Errorf("%s already holds %s (%s): name another folder", dir, k.what, k.name)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return describe("read the folder", dir, err)
		}
	}
	if logs, _ := filepath.Glob(filepath.Join(dir, "*"+logExtension)); len(logs) > 0 && but != failoverName {
		return fmt.Errorf("%s already holds a run (%s): name another folder", dir, filepath.Base(logs[0]))
	}
	return nil
}
