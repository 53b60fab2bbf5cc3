package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// bootstrap makes MariaDB's system tables in v's empty folder, as
// mariadb-install-db does but for the texts of HELP and the views of sys,
// which take it most of its two seconds and which nobody here reads. It
// needs nothing but the server, where mariadb-install-db also needs programs
// of the client's package. No account is left that has no password.
func (v *ledger) bootstrap(ctx context.Context) error {
	texts, err := systemTables(ctx, v.program)
	if err != nil {
		return err
	}
	script := strings.Join(append(append(
		[]string{"CREATE DATABASE mysql;", "USE mysql;", "SET @auth_root_socket=NULL;"}, texts...),
		"DELETE FROM global_priv WHERE User <> 'mariadb.sys';", "DELETE FROM proxies_priv;", ""), "\n")
	setup := &server{name: "ledger set-up", kind: v.kind, port: v.port, dir: v.dir, program: v.program, as: v.as}
	setup.input = filepath.Join(v.dir, "bootstrap.sql")
	if err := v.write(setup.input, script); err != nil {
		return err
	}
	args := append(v.args[:len(v.args):len(v.args)], "--bootstrap", "--log-warnings=0",
		"--enforce-storage-engine=", "--max-allowed-packet=8M")
	if err := v.runner.start(setup, args); err != nil {
		return err
	}
	select {
	case <-setup.Ended():
	case <-ctx.Done():
		return fmt.Errorf("making its system tables: %w", context.Cause(ctx))
	}
	if setup.how() != nil {
		return setup.Failure()
	}
	return os.Remove(setup.input)
}

// systemTables returns the SQL that makes the system tables of the server
// program, in the order it is to be run in.
func systemTables(ctx context.Context, program string) ([]string, error) {
	dir, err := shareFolder(ctx, program)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, f := range []string{"system_tables", "performance_tables", "system_tables_data"} {
		text, err := os.ReadFile(filepath.Join(dir, "mariadb_"+f+".sql")) // since MariaDB 11
		if os.IsNotExist(err) {
			text, err = os.ReadFile(filepath.Join(dir, "mysql_"+f+".sql"))
		}
		if err != nil {
			return nil, fmt.Errorf("MariaDB's system tables: %w", err)
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// shareFolder asks the server where its files are: beside its character
// sets, which is the one of those folders that it tells by a whole path.
func shareFolder(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "--no-defaults", "--verbose", "--help").Output()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("asking %s for its folders: %w", program, err)
	}
	for line := range strings.Lines(string(out)) {
		if key, value, _ := strings.Cut(line, " "); key == "character-sets-dir" {
			return filepath.Dir(filepath.Clean(strings.TrimSpace(value))), nil
		}
	}
	return "", fmt.Errorf("%s does not tell its character-sets-dir", program)
}
