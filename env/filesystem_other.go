//go:build !linux

package env

// Filesystem names the file system that path is on; it is not asked on this
// system, and "".
func Filesystem(path string) string { return "" }
