package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Error numbers of MySQL and MariaDB servers, as in their error references.
const (
	erRecordChanged    = 1020 // MariaDB, with innodb_snapshot_isolation
	erTooManyConns     = 1040
	erNoDatabaseRight  = 1044
	erAccessDenied     = 1045
	erUnknownDatabase  = 1049
	erTableExists      = 1050
	erServerShutdown   = 1053
	erDuplicateEntry   = 1062
	erNoTableRight     = 1142
	erNoSuchTable      = 1146
	erTooManyUserConns = 1203
	erLockWaitTimeout  = 1205
	erDeadlock         = 1213
	erUserLimit        = 1226
	erReadOnly         = 1290
	erConnKilled       = 1927 // MariaDB
	erSessionKilled    = 3169 // MySQL
)

// number is the server's error number, 0 for an error that did not come from
// the server.
func number(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}

// isDeadlock tells whether the server rolled the transaction back because of
// what others did at the same time, so that trying again is right.
func isDeadlock(err error) bool {
	n := number(err)
	return n == erDeadlock || n == erRecordChanged
}

// isLost tells whether the connection died, so that a statement under way
// may have been executed or not.
func isLost(err error) bool {
	switch number(err) {
	case 0:
	case erServerShutdown, erConnKilled, erSessionKilled:
		return true
	default:
		return false
	}
	if _, ok := errors.AsType[net.Error](err); ok && !errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	return errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// errNoneFree marks an error of waiting for a place among the connections.
var errNoneFree = errors.New("no ledger connection free")

// Kind sorts an error of this package for counting: a few lower-case words
// joined by hyphens, stable from run to run. It is "" for nil.
func Kind(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrStale):
		return "ledger-stale"
	case errors.Is(err, ErrUnresolved):
		return "ledger-unresolved"
	case errors.Is(err, ErrUnknownOrder):
		return "ledger-unknown-order"
	case errors.Is(err, ErrNoToken):
		return "ledger-no-token"
	case errors.Is(err, context.Canceled):
		return "ledger-canceled"
	case errors.Is(err, errNoneFree):
		return "ledger-pool-timeout"
	case errors.Is(err, context.DeadlineExceeded):
		return "ledger-timeout"
	}
	return serverKind(err)
}

func serverKind(err error) string {
	switch number(err) {
	case erDeadlock, erRecordChanged:
		return "ledger-deadlock"
	case erLockWaitTimeout:
		return "ledger-lock-timeout"
	case erAccessDenied, erNoDatabaseRight, erNoTableRight:
		return "ledger-denied"
	case erTooManyConns, erTooManyUserConns, erUserLimit:
		return "ledger-too-many-connections"
	case erNoSuchTable, erUnknownDatabase:
		return "ledger-missing-table"
	case erReadOnly:
		return "ledger-read-only"
	}
	if isLost(err) {
		return "ledger-connection"
	}
	return "ledger-error"
}

// explain says in one line what stands in the way of a session with the
// ledger at cfg's address, and what to do about it.
func explain(cfg *mysql.Config, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ledger at %s: %s: %w", cfg.Addr, obstacle(cfg, err), err)
}

func obstacle(cfg *mysql.Config, err error) string {
	switch number(err) {
	case erAccessDenied:
		return fmt.Sprintf("access denied to user %q: wrong password, or no such user from this host", cfg.User)
	case erNoDatabaseRight:
		return fmt.Sprintf("user %q has no right on database %q, or there is none of that name: create it, and grant CREATE, DROP, SELECT, INSERT and UPDATE on it", cfg.User, cfg.DBName)
	case erNoTableRight:
		return fmt.Sprintf("user %q lacks the right %s on database %q", cfg.User, missingRight(err), cfg.DBName)
	case erUnknownDatabase:
		return fmt.Sprintf("there is no database %q: create it, or name another in the data source name", cfg.DBName)
	case erNoSuchTable:
		return "a table is missing: create the run's tables first"
	case erTableExists:
		return "a table of this prefix exists already: drop it, or use another prefix"
	case erTooManyConns, erTooManyUserConns, erUserLimit:
		return "it admits no further connection: raise max_connections (or max_user_connections), or use fewer workers"
	case erReadOnly:
		return "it is read-only: name its primary"
	case 0:
		return unreachable(err)
	}
	return "it refused"
}

// missingRight takes the right from "CREATE command denied to user …".
func missingRight(err error) string {
	e, _ := errors.AsType[*mysql.MySQLError](err)
	right, _, ok := strings.Cut(e.Message, " command denied")
	if !ok {
		return "that this takes"
	}
	return right
}

func unreachable(err error) string {
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return "unreachable: is the server running there?"
	}
	if errors.Is(err, mysql.ErrMalformPkt) || errors.Is(err, mysql.ErrPktSync) || errors.Is(err, mysql.ErrOldProtocol) {
		return "no MySQL server answers there"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	if isLost(err) {
		return "the connection was lost"
	}
	return "no session"
}
