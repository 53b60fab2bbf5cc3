package process

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"lockcost/env"
)

// MissingError tells that a server's program is not installed.
type MissingError struct {
	Program string // as it is looked for: redis-server, mariadbd
	Package string // the Debian package that has it
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed: apt-get install %s (or make deps)", e.Program, e.Package)
}

// programs is where the servers' programs are; "" for those not needed.
type programs struct {
	redis, mariadb string
}

// find looks for the programs that spec needs. The error is a *MissingError.
func find(spec env.Spec) (p programs, err error) {
	if p.redis, err = look("redis-server", "redis-server"); err != nil {
		return p, err
	}
	if spec.Ledger {
		p.mariadb, err = look("mariadbd", "mariadb-server-core")
	}
	return p, err
}

// serverFolders is where distributions keep servers, which are often not on
// the PATH of anybody but root.
var serverFolders = []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/opt/homebrew/bin", "/usr/local/bin"}

func look(program, pkg string) (string, error) {
	return lookIn(serverFolders, program, pkg)
}

func lookIn(folders []string, program, pkg string) (string, error) {
	candidates := []string{program}
	for _, f := range folders {
		candidates = append(candidates, filepath.Join(f, program))
	}
	for _, c := range candidates {
		if path, err := exec.LookPath(c); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", &MissingError{Program: program, Package: pkg}
}

// bindFailures is what the servers write when their port is somebody else's.
var bindFailures = []string{"Address already in use", "Failed listening on port"}

func portWasTaken(log string) bool {
	for _, f := range bindFailures {
		if strings.Contains(log, f) {
			return true
		}
	}
	return false
}
