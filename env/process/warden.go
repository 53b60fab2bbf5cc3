package process

import (
	"fmt"
	"io"
	"os/exec"
	"strconv"
)

// warden kills a server when its driver is gone, on systems that have no
// signal for that: a shell which waits for the end of a pipe, whose other
// end the driver holds and the system closes however the driver ends.
type warden struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// guard starts a warden for the process group that pid leads.
func guard(pid int) (*warden, error) {
	cmd := exec.Command("/bin/sh", "-c", `read -r nothing; kill -9 "$1"`, "sh", strconv.Itoa(-pid))
	cmd.SysProcAttr = attributes(nil)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("guarding process %d: %w", pid, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("guarding process %d: %w", pid, err)
	}
	return &warden{cmd: cmd, pipe: pipe}, nil
}

// dismiss ends the warden and spares the server. A nil warden is none.
func (w *warden) dismiss() {
	if w == nil {
		return
	}
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait() // closes the pipe, now that nobody watches it
}
