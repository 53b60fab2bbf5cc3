package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"lockcost/env/assembly"
)

// ledger is a MariaDB. Its durability is left as it is: only where it
// listens, where it writes and how many it admits are set.
type ledger struct{ *server }

func ledgerArgs(v *server) []string {
	return []string{
		"--no-defaults",
		"--datadir=" + v.dir,
		"--tmpdir=" + v.dir,
		"--bind-address=127.0.0.1",
		"--port=" + strconv.Itoa(v.port),
		"--socket=mariadbd.sock", // in its folder: a whole path may be too long for a socket
		"--pid-file=mariadbd.pid",
		"--skip-name-resolve",
		"--max-connections=" + strconv.Itoa(assembly.MaxConnections),
	}
}

// Start makes an empty data folder and starts MariaDB on it, which runs the
// statements of text.
func (v *ledger) Start(ctx context.Context, text string) error {
	if err := v.bootstrap(ctx); err != nil {
		return err
	}
	first := filepath.Join(v.dir, "init.sql")
	if err := v.write(first, text); err != nil {
		return err
	}
	return v.runner.start(v.server, append(v.args[:len(v.args):len(v.args)], "--init-file="+first))
}

// unprivileged returns whom MariaDB, which refuses to be root, is to run as;
// nil where we are not root ourselves.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, fmt.Errorf("mariadbd does not run as root: %w", err)
	}
	uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(errUID, errGID); err != nil {
		return nil, fmt.Errorf("mariadbd does not run as root: user nobody: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// write makes a file which the server can read and other users cannot.
func (v *server) write(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	if v.as != nil {
		return os.Chown(path, int(v.as.Uid), int(v.as.Gid))
	}
	return nil
}
