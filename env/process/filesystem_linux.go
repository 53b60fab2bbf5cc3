package process

import "golang.org/x/sys/unix"

// inMemory reports whether dir is on a file system without a disk.
func inMemory(dir string) bool {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return false
	}
	return s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC
}
