package container

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

const (
	lockSuffix  = ".lock"
	machineFile = "machine"
	// lockAttempts bounds how often a lock file is made anew because a sweep
	// took it between our making it and locking it.
	lockAttempts = 10
)

// lock is a file that a driver holds locked for as long as it lives: the
// kernel unlocks it however the driver ends. Its stack's containers name it,
// so that it can be told whether they are somebody's.
type lock struct {
	stack   string // the stack's id
	machine string // who sees this lock: see machine
	file    *flock.Flock
}

// lockFolder is where this user's lock files are. It outlives a reboot, as
// stopped containers do.
func lockFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for lock files: %w", err)
	}
	dir := filepath.Join(cache, "lockcost", "containers")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("no place for lock files (XDG_CACHE_HOME may name another): %w", err)
	}
	return dir, nil
}

func lockPath(dir, stack string) string { return filepath.Join(dir, filepath.Base(stack)+lockSuffix) }

// newLock makes a lock file for a new stack and locks it.
func newLock() (*lock, error) {
	dir, err := lockFolder()
	if err != nil {
		return nil, err
	}
	m, err := machine(dir)
	if err != nil {
		return nil, err
	}
	for range lockAttempts {
		id := randomHex(4)
		file := flock.New(lockPath(dir, id))
		ok, err := file.TryLock()
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", file.Path(), err)
		}
		if ok && mine(file) {
			return &lock{stack: id, machine: m, file: file}, nil
		}
		_ = file.Close()
	}
	return nil, fmt.Errorf("making a lock file in %s: swept away %d times", dir, lockAttempts)
}

// mine reports whether the file that is locked is still the one in the
// folder, and not one that a sweep has removed.
func mine(f *flock.Flock) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(f.Path())
	return err == nil && os.SameFile(held, there)
}

// release removes the file and gives up the lock.
func (l *lock) release() error {
	return errors.Join(os.Remove(l.file.Path()), l.file.Close())
}

// abandoned takes over the lock file of a driver that has died. It reports
// false where the driver lives. What it returns gives the lock up again, and
// removes the file.
func abandoned(path string) (release func(), ok bool) {
	file := flock.New(path, flock.SetFlag(os.O_RDWR)) // never made by a sweep
	locked, err := file.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, true
	}
	if err != nil || !locked {
		return nil, false
	}
	return func() { _ = errors.Join(os.Remove(path), file.Close()) }, true
}

// machine returns an identity of dir, made at its first use. An engine may
// serve drivers that do not see each other's lock files, such as other users
// or drivers in containers: each leaves alone what is not of its own folder.
func machine(dir string) (string, error) {
	path := filepath.Join(dir, machineFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := linkNew(dir, path, randomHex(8)); err != nil {
			return "", err
		}
		raw, err = os.ReadFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("the identity of this machine's lock files: %w", err)
	}
	id := strings.TrimSpace(string(raw))
	if id == "" {
		return "", fmt.Errorf("%s is empty: remove it", path)
	}
	return id, nil
}

// linkNew makes a file whole or, where another was faster, not at all.
func linkNew(dir, path, text string) error {
	f, err := os.CreateTemp(dir, machineFile+"-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// randomHex returns n random bytes in hexadecimal.
func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: it ends the program instead
	return hex.EncodeToString(b)
}
