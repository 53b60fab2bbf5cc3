package process

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"lockcost/env"

	"github.com/go-sql-driver/mysql"
)

const (
	database = "lockcost" // and the name of its user
	// maxConnections is enough for the most workers a run has at 1000/s;
	// the default 151 is not.
	maxConnections = 2000
	ledgerTimeout  = 3 * time.Second // of a dial, and of a reply, while it is not ready
)

// startLedger makes an empty data folder and starts MariaDB on it.
func (b *builder) startLedger(ctx context.Context) error {
	if !b.spec.Ledger {
		return nil
	}
	v, err := b.newLedger()
	if err != nil {
		return err
	}
	if err := b.bootstrap(ctx, v); err != nil {
		return err
	}
	password := randomHex(16)
	init, err := v.write("init.sql", welcome(password))
	if err != nil {
		return err
	}
	dsn := ledgerConfig(v.addr(), password)
	v.answers = func(ctx context.Context) error { return ping(ctx, dsn) }
	lasting := v.args
	v.args = append(lasting[:len(lasting):len(lasting)], "--init-file="+init)
	if err := b.launch(ctx, v); err != nil {
		return err
	}
	v.args = lasting // a restart finds the user there
	b.ledger, b.ledgerDSN = v, dsn.FormatDSN()
	return os.Remove(init)
}

// newLedger describes the server. Its durability is left as it is: only
// where it listens, where it writes and how many it admits are set.
func (b *builder) newLedger() (*server, error) {
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	if as != nil {
		if err := passable(b.folder.path); err != nil {
			return nil, fmt.Errorf("mariadbd runs as nobody: %w", err)
		}
	}
	v, err := b.newServer("ledger", env.KindLedger, as)
	if err != nil {
		return nil, err
	}
	v.program = b.programs.mariadb
	v.args = []string{
		"--no-defaults",
		"--datadir=" + v.dir,
		"--tmpdir=" + v.dir,
		"--bind-address=127.0.0.1",
		"--port=" + strconv.Itoa(v.port),
		"--socket=mariadbd.sock", // in its folder: a whole path may be too long for a socket
		"--pid-file=mariadbd.pid",
		"--skip-name-resolve",
		"--max-connections=" + strconv.Itoa(maxConnections),
	}
	return v, nil
}

// welcome makes the database and its user, who comes over TCP and may do
// anything: the server is the driver's own, and faults are injected by SQL
// too. Each statement is on one line, as an init file must be.
func welcome(password string) string {
	return fmt.Sprintf(`CREATE DATABASE %[1]s;
CREATE USER '%[1]s'@'127.0.0.1' IDENTIFIED BY '%[2]s';
GRANT ALL ON *.* TO '%[1]s'@'127.0.0.1' WITH GRANT OPTION;
`, database, password)
}

func ledgerConfig(addr, password string) *mysql.Config {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.DBName = "tcp", addr, database
	c.User, c.Passwd = database, password
	return c
}

// ping checks that the ledger lets its user in and answers.
func ping(ctx context.Context, dsn *mysql.Config) error {
	c := dsn.Clone()
	c.Timeout, c.ReadTimeout, c.WriteTimeout = ledgerTimeout, ledgerTimeout, ledgerTimeout
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	return db.PingContext(ctx)
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

// write makes a file in the server's folder which the server can read and
// other users cannot, and returns its path.
func (v *server) write(name, text string) (string, error) {
	path := filepath.Join(v.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("%s: %w", v.name, err)
	}
	if v.as != nil {
		if err := os.Chown(path, int(v.as.Uid), int(v.as.Gid)); err != nil {
			return "", fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return path, nil
}

// randomHex returns n random bytes in hexadecimal.
func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: it ends the program instead
	return hex.EncodeToString(b)
}
