//go:build unix && !linux

package process

import "syscall"

// diesWithParent is whether attributes alone keep a server from outliving
// us. This system has no signal for a parent's death.
const diesWithParent = false

// attributes keeps Ctrl-C, which is for the driver alone to handle, from a
// server (Setpgid).
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as}
}
