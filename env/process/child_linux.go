package process

import "syscall"

// diesWithParent is whether attributes alone keep a server from outliving us.
const diesWithParent = true

// attributes keeps a server from outliving us (Pdeathsig) and from Ctrl-C,
// which is for the driver alone to handle (Setpgid). A server which changes
// its user itself loses the first, so one that must not run as root is
// started as the other user.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: as}
}
