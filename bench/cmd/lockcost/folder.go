package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// newFolder makes a folder for results that has the time as its name. Another
// command that begins in the same second gets one of its own.
func newFolder() (string, error) {
	name := filepath.Join("results", time.Now().UTC().Format("20060102T150405Z"))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", fmt.Errorf("making a folder for the results: %w", err)
	}
	for n := 1; ; n++ {
		folder := name
		if n > 1 {
			folder = fmt.Sprintf("%s-%d", name, n)
		}
		err := os.Mkdir(folder, 0o755)
		if err == nil {
			return folder, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("making a folder for the results: %w", err)
		}
	}
}
