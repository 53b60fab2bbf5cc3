package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"lockcost/env"

	"github.com/gofrs/flock"
)

const (
	folderPrefix = "lockcost-stack-"
	lockFile     = "lock"
	// youngest is how old a folder without a lock file must be before it is
	// taken for abandoned: its driver may be about to make one.
	youngest = time.Minute
	// folderAttempts bounds how often a folder is made anew because a sweep
	// took it between our making it and locking it.
	folderAttempts = 10
)

// folder is a stack's private folder. Its lock file is locked for as long as
// the driver lives; the kernel unlocks it however the driver ends.
type folder struct {
	path string
	lock *flock.Flock
}

// root returns the folder that stacks' folders are made in.
func (p Provider) root() (string, error) {
	if p.Dir != "" {
		return filepath.Abs(p.Dir)
	}
	return filepath.Abs(OnDisk())
}

// OnDisk is the system's temporary folder, unless that is in memory, where a
// durable commit costs nothing, and nobody has chosen it: then /var/tmp.
func OnDisk() string {
	tmp := os.TempDir()
	if fs := env.Filesystem(tmp); os.Getenv("TMPDIR") == "" && (fs == "tmpfs" || fs == "ramfs") {
		const lasting = "/var/tmp"
		if i, err := os.Stat(lasting); err == nil && i.IsDir() {
			return lasting
		}
	}
	return tmp
}

// newFolder makes a folder in dir and locks it.
func newFolder(dir string) (*folder, error) {
	for range folderAttempts {
		f, err := tryFolder(dir)
		if err != nil {
			return nil, fmt.Errorf("making a folder for the stack: %w", err)
		}
		if f != nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("making a folder for the stack in %s: swept away %d times", dir, folderAttempts)
}

// tryFolder returns nil, and no error, where a sweep was faster.
func tryFolder(dir string) (*folder, error) {
	path, err := os.MkdirTemp(dir, folderPrefix)
	if err != nil {
		return nil, err
	}
	// A server which runs as another user must be able to pass through.
	if err := os.Chmod(path, 0o711); err != nil {
		return nil, err
	}
	f := &folder{path: path, lock: flock.New(filepath.Join(path, lockFile))}
	ok, err := f.lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) || (err == nil && (!ok || !f.mine())) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return f, nil
}

// mine reports whether the file that is locked is still the one in the
// folder, and not one that a sweep has removed.
func (f *folder) mine() bool {
	held, err := f.lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(f.lock.Path())
	return err == nil && os.SameFile(held, there)
}

// sub makes a folder in the folder, owned by as where that is not nil.
func (f *folder) sub(name string, as *syscall.Credential) (string, error) {
	path := filepath.Join(f.path, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", err
	}
	if as != nil {
		if err := os.Chown(path, int(as.Uid), int(as.Gid)); err != nil {
			return "", err
		}
	}
	return path, nil
}

// passable checks that every user can pass through path and the folders
// above it.
func passable(path string) error {
	for dir := path; ; dir = filepath.Dir(dir) {
		i, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if i.Mode()&0o001 == 0 {
			return fmt.Errorf("%s is closed to other users: set TMPDIR to a folder that is not in it", dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// remove removes the folder and only then gives up the lock.
func (f *folder) remove() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

// sweep removes the folders in dir whose drivers have died. What cannot be
// removed is left: it is in nobody's way.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() && strings.HasPrefix(e.Name(), folderPrefix) && ours(path) {
			sweepOne(path)
		}
	}
}

func sweepOne(path string) {
	file := filepath.Join(path, lockFile)
	if _, err := os.Lstat(file); err != nil {
		if i, err := os.Stat(path); err == nil && time.Since(i.ModTime()) > youngest {
			_ = os.RemoveAll(path)
		}
		return
	}
	lock := flock.New(file, flock.SetFlag(os.O_RDWR)) // never made by a sweep
	if ok, err := lock.TryLock(); err != nil || !ok {
		return
	}
	_ = os.RemoveAll(path)
	_ = lock.Close()
}

// ours reports whether path belongs to this process's user. A stranger's
// folder of that name is not ours to look into.
func ours(path string) bool {
	i, err := os.Lstat(path)
	if err != nil {
		return false
	}
	st, ok := i.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
