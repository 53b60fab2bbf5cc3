//go:build !linux

package reexec

import (
	"os"
	"syscall"
)

func self() (string, error) { return os.Executable() }

// attributes keep a part from Ctrl-C, which is its starter's to handle. The
// end of its input ends it where the starter is gone.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}
