//go:build unix && !linux

package process

import "syscall"

// attributes keeps Ctrl-C, which is for the driver alone to handle, from a
// server (Setpgid). This system has no signal for a parent's death.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as}
}
