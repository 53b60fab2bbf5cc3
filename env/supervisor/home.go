package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// Variable is the environment variable that names another folder for the
// state than the user's own.
const Variable = "LOCKCOST_STATE"

const (
	lockFile  = "lock"       // locked as long as the supervisor lives
	stateFile = "state.json" // a State
	logFile   = "supervisor-*.log"

	// enterTimeout bounds the wait for others, who stay for as long as it
	// takes to remove a killed supervisor's files.
	enterTimeout  = 30 * time.Second
	enterInterval = 5 * time.Millisecond
)

// Home is the folder in which the state of one stack stands. It is there
// only while there is a state.
//
// Whoever looks into it or changes it has entered it, by a lock on the folder
// itself, and is alone. So the lock file in it is held by a supervisor or by
// nobody, and the state is that supervisor's.
type Home struct{ path string }

// At is the home in the folder path, whose parent must exist.
func At(path string) Home { return Home{path} }

// Default is the user's home: the folder that LOCKCOST_STATE names, or
// lockcost-<uid> in the system's temporary folder. It is not in
// XDG_RUNTIME_DIR, which goes when the user logs out, as a detached
// supervisor does not.
func Default() (Home, error) {
	path := os.Getenv(Variable)
	if path == "" {
		path = filepath.Join(os.TempDir(), "lockcost-"+strconv.Itoa(os.Geteuid()))
	}
	path, err := filepath.Abs(path)
	return Home{path}, err
}

func (h Home) file(name string) string { return filepath.Join(h.path, name) }

// enter waits until nobody else is in the folder. Where there is none it is
// made, or the error is ErrNone. leave lets others in, and removes the folder
// if nothing is in it any more.
func (h Home) enter(ctx context.Context, create bool) (leave func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, enterTimeout,
		fmt.Errorf("%s has been in use for %v: see which processes have it open", h.path, enterTimeout))
	defer cancel()
	for {
		guard, err := h.tryEnter(create)
		if err != nil {
			return nil, err
		}
		if guard != nil {
			return func() {
				_ = os.Remove(h.path) // fails while there is something in it
				_ = guard.Close()
			}, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(enterInterval):
		}
	}
}

// tryEnter returns nil, and no error, where another was faster.
func (h Home) tryEnter(create bool) (*flock.Flock, error) {
	if create {
		if err := os.Mkdir(h.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("making a folder for the supervisor's state: %w; %s names another", err, Variable)
		}
	}
	switch err := h.check(); {
	case errors.Is(err, fs.ErrNotExist) && create:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNone
	case err != nil:
		return nil, err
	}
	guard := flock.New(h.path, flock.SetFlag(os.O_RDONLY))
	ok, err := guard.TryLock()
	if ok && h.isLocked(guard) {
		return guard, nil
	}
	_ = guard.Close()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the supervisor's state: %w", err)
	}
	return nil, nil
}

// isLocked reports whether the folder that is locked is still the one at its
// path, and not one that another has removed.
func (h Home) isLocked(guard *flock.Flock) bool {
	held, err := guard.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(h.path)
	return err == nil && os.SameFile(held, there)
}

// check refuses a folder into which others can write, or of which they could
// read the ledger's password.
func (h Home) check() error {
	i, err := os.Lstat(h.path)
	if err != nil {
		return err
	}
	st, ok := i.Sys().(*syscall.Stat_t)
	switch {
	case !i.IsDir():
		return fmt.Errorf("%s is no folder, and the supervisor's state is to be there: remove it, or name another in %s", h.path, Variable)
	case !ok || int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s, where the supervisor's state is to be, is another user's: name another in %s", h.path, Variable)
	case i.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s, where the supervisor's state is to be, is open to other users: name one in %s that is yours alone, such as one that is not there yet", h.path, Variable)
	}
	return nil
}

// held reports whether a supervisor lives. The folder has been entered.
func (h Home) held() (bool, error) {
	lock := flock.New(h.file(lockFile), flock.SetFlag(os.O_RDWR)) // never made by looking
	ok, err := lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("the supervisor's lock: %w", err)
	}
	return !ok, lock.Close()
}

// take takes the lock for a supervisor. The folder has been entered, and
// nobody holds it.
func (h Home) take() (*flock.Flock, error) {
	lock := flock.New(h.file(lockFile), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err == nil && !ok {
		err = errors.New("it is held")
	}
	if err != nil {
		return nil, fmt.Errorf("the supervisor's lock: %w", err)
	}
	return lock, nil
}

// newLog makes a log for a supervisor that is to be detached.
func (h Home) newLog(ctx context.Context) (*os.File, error) {
	leave, err := h.enter(ctx, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	log, err := os.CreateTemp(h.path, logFile)
	if err != nil {
		return nil, fmt.Errorf("making a log for the supervisor: %w", err)
	}
	return log, nil
}

// write replaces the state at once. Only the lock's holder writes.
func (h Home) write(s State) error {
	s.Schema = stateSchema
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	next := h.file(stateFile + ".new")
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return fmt.Errorf("the supervisor's state: %w", err)
	}
	if err := os.Rename(next, h.file(stateFile)); err != nil {
		return fmt.Errorf("the supervisor's state: %w", err)
	}
	return nil
}

// read returns the zero State where none was written.
func (h Home) read() (s State, err error) {
	text, err := os.ReadFile(h.file(stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil && s.Schema != stateSchema {
		err = errors.New("it is none")
	}
	if err != nil {
		return State{}, fmt.Errorf("the supervisor's state in %s: %w: remove it, or name another folder in %s", h.file(stateFile), err, Variable)
	}
	return s, nil
}
