package results

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// fileError says on one line what was tried, on which file, and what to do
// about it. The system's error stays within reach of errors.Is.
type fileError struct {
	message string
	cause   error
}

func (e *fileError) Error() string { return e.message }
func (e *fileError) Unwrap() error { return e.cause }

// describe makes a fileError of err, and nil of nil.
func describe(doing, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fileError{fmt.Sprintf("cannot %s %s: %s", doing, path, advice(err)), err}
}

// advice says what the system's error means for whoever chose the folder.
func advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "disk full: free some space, or name a folder on another disk"
	case errors.Is(err, syscall.EDQUOT):
		return "disk quota used up: free some space, or name a folder on another disk"
	case errors.Is(err, syscall.EROFS):
		return "the file system is read-only: name another folder"
	case errors.Is(err, syscall.ENOTDIR):
		return "part of the path is a file: name another folder"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied: name a folder that you may write to"
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	}
	return err.Error()
}

// firstError is the first that is not nil: the cause, where the others are
// what followed from it.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
