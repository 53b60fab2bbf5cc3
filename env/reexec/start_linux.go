package reexec

import "syscall"

// self is this program's file. It can be executed even where go run, or a
// rebuild, has removed it.
func self() (string, error) { return "/proc/self/exe", nil }

// attributes keep a part from Ctrl-C, which is its starter's to handle, and
// from outliving the starter, unless that is what it is for.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
