//go:build unix && !linux

package process

// inMemory reports whether dir is on a file system without a disk. This
// system's temporary folder is on one.
func inMemory(string) bool { return false }
