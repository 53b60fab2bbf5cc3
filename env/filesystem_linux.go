package env

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// filesystems are the names of those that databases are met on.
var filesystems = map[int64]string{
	unix.EXT4_SUPER_MAGIC:      "ext4",
	unix.XFS_SUPER_MAGIC:       "xfs",
	unix.BTRFS_SUPER_MAGIC:     "btrfs",
	unix.F2FS_SUPER_MAGIC:      "f2fs",
	unix.TMPFS_MAGIC:           "tmpfs",
	unix.RAMFS_MAGIC:           "ramfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	unix.NFS_SUPER_MAGIC:       "nfs",
	unix.FUSE_SUPER_MAGIC:      "fuse",
	0x2fc12fc1:                 "zfs",
}

// Filesystem names the file system that path is on, which decides what a
// durable write costs: on tmpfs and ramfs, nothing. One whose name is not
// known is given by its number in statfs(2), "" where path cannot be asked.
func Filesystem(path string) string {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return ""
	}
	kind := int64(s.Type) & 0xffffffff
	if name, ok := filesystems[kind]; ok {
		return name
	}
	return fmt.Sprintf("0x%x", kind)
}
