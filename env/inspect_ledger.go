package env

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// ledgerSettings are the variables that decide what a commit costs and what
// it survives. transaction_isolation is tx_isolation in MariaDB before 11.1.
var ledgerSettings = []string{
	"innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "innodb_flush_method",
	"innodb_buffer_pool_size", "transaction_isolation", "tx_isolation", "datadir",
}

// inspectLedger describes the ledger.
func inspectLedger(ctx context.Context, dsn string, n Node) (v Server, err error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return v, errors.New("its data source name cannot be read") // the cause may quote it
	}
	c.Timeout, c.ReadTimeout, c.WriteTimeout = answerTimeout, answerTimeout, answerTimeout
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return v, errors.New("its data source name cannot be used")
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	if err := db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&v.Version); err != nil {
		return v, err
	}
	v.Kind = "MySQL"
	if strings.Contains(v.Version, "MariaDB") {
		v.Kind = "MariaDB"
	}
	if v.Settings, err = variables(ctx, db, ledgerSettings); err != nil {
		return v, err
	}
	if on := n.filesystem(v.Settings["datadir"]); on != "" {
		v.Settings["datadir_filesystem"] = on
	}
	delete(v.Settings, "datadir") // a path says nothing
	return v, nil
}

// filesystem is that of one of the node's folders, "" where that is not known.
func (n Node) filesystem(folder string) string {
	switch {
	case n.PID == 0 || folder == "": // on another machine, for all we know
		return ""
	case n.Container != "": // which sees other folders than we do
		return Filesystem(filepath.Join("/proc", strconv.Itoa(n.PID), "root", folder))
	}
	return Filesystem(folder)
}

// variables returns those of the server's global variables that it has.
func variables(ctx context.Context, db *sql.DB, names []string) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('"+
		strings.Join(names, "','")+"')")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		if slices.Contains(names, name) {
			found[name] = value
		}
	}
	return found, rows.Err()
}
